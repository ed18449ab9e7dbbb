"""What is open and how it belongs together, without a window."""
