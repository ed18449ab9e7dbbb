"""The command line. `viewer.cli:main` is the entry point."""

from __future__ import annotations

from collections.abc import Sequence

from viewer.cli.commands import COMMANDS
from viewer.codecs.ending import end_at_signals

__all__ = ["COMMANDS", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `opscope`.

    Args:
        arguments: Those after the name of the program; by default those of the process, which
            signals then end in order.

    Returns:
        The exit code: 0, 1 if an input could not be read or nothing could be written, or 2 for
        wrong usage; commands may have more.
    """
    if arguments is None:
        end_at_signals()  # first: importing the rest takes a while
    from viewer.cli.command_line import main_of

    return main_of(arguments)
