"""Units of an NPU: compiler estimates beside measurements, counters of units."""
