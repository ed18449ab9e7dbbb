"""Compares the call trees of two arms: which path of calls became slower or faster."""
