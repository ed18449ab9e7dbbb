"""ExecuTorch formats: ETDump, ETRecord, debug handle map and Inspector table."""
