"""Perfetto traces: tracks, slices, counters, flows, metadata."""
