"""Reading files off the GUI thread, writing them, and what an export covers."""
