"""The command line: opens the window, or runs a command of `viewer.cli.commands.COMMANDS`.

Exit code 0 for success; 1 if an input could not be read or nothing could be written (one line each
on stderr; the other inputs are still processed), also if stdout is full or closed; 2 for wrong
usage. If stdout is a pipe whose reader has ended, as in `| head`, it is 1 without a line. To open a
file named like a command, write ./info.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from viewer import __version__
from viewer.cli.arguments import (
    Parser,
    add_files,
    add_theme,
    choices_of,
    complain,
    files_of,
    needing_window,
    reads_a_stream,
)
from viewer.cli.commands import COMMANDS, run
from viewer.cli.commands.completion import COMPLETING, complete
from viewer.cli.output import with_output

_BLAS_THREADS = "OPENBLAS_NUM_THREADS"


def main_of(arguments: Sequence[str] | None) -> int:
    """Run the window or a command; see `viewer.cli.main`."""
    if COMPLETING in os.environ:
        return complete(run_window)
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words[:1] or words[0] not in COMMANDS:
        return with_output(lambda: run_window(words))
    # With --compat, the output is that of ExecuTorch's Inspector, byte for byte.
    exact = words[0] == "inspect" and "--compat" in words
    return with_output(lambda: _answer(words[0], words[1:]), exact=exact)


def _import_numpy() -> None:
    """Import numpy without a thread per core for linear algebra, which takes 50 ms of CPU.

    Opscope multiplies small matrices only. Programs that a command starts keep their threads.
    """
    if _BLAS_THREADS not in os.environ:
        os.environ[_BLAS_THREADS] = "1"
        try:
            import numpy  # noqa: F401
        finally:
            del os.environ[_BLAS_THREADS]


def _answer(command: str, arguments: list[str]) -> int:
    from viewer.codecs.temporary_folder import remove_left_folders
    from viewer.formats.memory import retain_freed

    remove_left_folders()
    retain_freed()
    if command != "completion":  # which shells run at their start, and needs no arrays
        _import_numpy()
    try:
        return run(command, arguments)
    except Exception as error:
        complain(
            f"opscope {command} failed because of an error in Opscope ({error!r} at "
            f"{_place_of(error)}). Please report it"
        )
        return 1


def _place_of(error: Exception) -> str:
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{last.filename}:{last.lineno}"


class _Parser(Parser):
    """The options of the window; its help also lists the commands."""

    def format_help(self) -> str:
        return f"{super().format_help()}\n{_list_of_commands()}\n"


def _list_of_commands() -> str:
    """Return the commands with their purposes, for a terminal of 80 columns."""
    import textwrap

    width = max(map(len, COMMANDS))
    lines = ["commands, which open no window (each has --help):"]
    for name, purpose in COMMANDS.items():
        margin = " " * (width + 4)
        lines += textwrap.wrap(
            purpose, 80, initial_indent=f"  {name:<{width}}  ", subsequent_indent=margin
        )
    return "\n".join(lines)


def _is_wrong_command(word: str) -> bool:
    """Whether the first word is meant as a command: it names no file, and looks like none.

    A window that says that there is no such file would keep a script waiting.
    """
    looks_like_a_file = any(sign in word for sign in (".", "/", os.sep))
    return not looks_like_a_file and not os.path.lexists(word)


def _wrong_command(word: str) -> str:
    """Return what is wrong with a command, and the name that it is closest to."""
    from difflib import get_close_matches

    close = get_close_matches(word.lower(), COMMANDS, 1)
    hint = f"; did you mean {close[0]}?" if close else "; opscope --help lists the commands"
    return f"{word!r} is no command, and there is no such file{hint}"


def run_window(arguments: list[str]) -> int:
    """Open the window, the command of a first word that is no other command."""
    parser = _Parser(
        prog="opscope",
        description="Show on-device ML profiles on one timeline, linked to the model's source.",
    )
    add_files(parser, "*")
    add_theme(parser)
    parser.add_argument(
        "--new-window",
        action="store_true",
        help="open in a new window even if an empty one is open",
    )
    parser.add_argument(
        "--no-cache",
        action="store_true",
        help="neither keep the columns of large profiles nor open profiles from columns that were "
        "kept; in a window of its own process",
    )
    parser.add_argument("--version", action="version", version=f"opscope {__version__}")
    chosen = parser.parse_args(arguments)
    if chosen.files and _is_wrong_command(chosen.files[0]):
        complain(_wrong_command(chosen.files[0]))
        return 2
    choices = choices_of(parser, chosen)
    files, complaints = files_of(chosen, asks=True)
    for complaint in complaints:
        complain(complaint)
    with needing_window():
        from viewer.gui.app import application
    return application.run(
        files,
        choices,
        theme=chosen.theme,
        new_window=chosen.new_window,
        alone=chosen.max_memory is not None or chosen.no_cache or reads_a_stream(),
        keep_columns=not chosen.no_cache,
    )
