"""A read-only server of the Model Context Protocol: the open files for assistants."""
