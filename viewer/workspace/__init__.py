"""The open files and how they belong together, without a window."""
