"""What the commands print, as plain data and as text."""
