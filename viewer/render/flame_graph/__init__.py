"""Flame graphs of call trees, as boxes and as SVG."""
