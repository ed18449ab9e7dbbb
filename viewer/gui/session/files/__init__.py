"""Reading and writing files off the GUI thread, and what an export covers."""
