"""NPU analysis: compiler estimates compared with measurements, and counters of units."""
