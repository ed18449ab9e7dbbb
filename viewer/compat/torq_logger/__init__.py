"""The charts behind `perfetto_logger`, right and as Torq's own tool has them."""
