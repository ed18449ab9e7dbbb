"""The output of the commands, as plain data and as text."""
