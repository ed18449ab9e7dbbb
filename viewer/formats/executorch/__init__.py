"""ExecuTorch: ETDump, ETRecord, debug handle map, Inspector table."""
