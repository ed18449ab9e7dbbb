"""The command line. `viewer.cli:main` is the entry point."""

from viewer.cli.main import COMMANDS, main

__all__ = ["COMMANDS", "main"]
