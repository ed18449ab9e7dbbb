"""The command line. `viewer.cli:main` is the entry point."""

from viewer.cli.commands import COMMANDS
from viewer.cli.main import main

__all__ = ["COMMANDS", "main"]
