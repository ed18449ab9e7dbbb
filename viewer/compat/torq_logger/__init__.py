"""The charts behind `perfetto_logger`: corrected, and as Torq's own tool writes them."""
