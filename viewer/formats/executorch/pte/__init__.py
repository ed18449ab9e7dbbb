"""ExecuTorch program files; `reader.py` defines the format, the other modules are its steps."""
