"""Source files on this machine for recorded paths."""
