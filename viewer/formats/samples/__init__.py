"""Reads sampled profiles: stacks that a profiler saw, each with a weight."""
