"""The command line: opens the window, or runs a command without one.

    opscope [FILES...]                      the window
    opscope info FILES... [--json]          describe files and how they link
    opscope export FILES... -o OUT          .pftrace .pb (.gz) for Perfetto, .csv .tsv for tables
                   [--table untimed]        events without a time instead of slices
                   [--table handle_map]     identifiers in debug handle maps
                   [--range 1.5ms:2ms]      only slices in a range
                   [--raw]                  unchanged texts, including formulas
    opscope stats FILES... --by KEY         time by operator, line, unit, ...
    opscope calls FILES... [--folded]       time of every call path, top-down or bottom-up
                   [--svg OUT.svg]          the same as a flame graph
    opscope estimates FILES... [--json]     Torq: estimates and measurements, action by action
    opscope delegation FILES... [--json]    time in delegates, what is not delegated, links
    opscope findings FILES... [--json]      performance findings, ranked by possible gain
    opscope inspect --etdump_path DUMP ...  time per event, as in ExecuTorch's Inspector
    opscope screenshot FILES... -o OUT.png  the real window as an image, without a display

Exit code 0 for success; 1 if an input could not be read or nothing could be written (one line each
on stderr; the other inputs are still processed); 2 for wrong usage. To open a file named like a
command, write ./info.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from typing import TextIO

from viewer import __version__
from viewer.cli.arguments import add_files, add_theme, choices_of, complain, files_of
from viewer.cli.commands import COMMANDS, run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        # A terminal without UTF-8, or an undecodable file name, must not stop the output.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        named = given[:1] and given[0] in COMMANDS
        code = _answer(given[0], given[1:]) if named else _window(given)
        if sys.stdout is not None:  # None in a Windows program without a console
            sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader of our output is gone (`opscope info ... | head`).
        _discard(sys.stdout)
        return 1
    except OSError as error:
        if error.filename is None:  # printing failed: the disk is full, for example
            _discard(sys.stdout)
        reason = error.strerror or str(error)
        what = f"the output cannot be written ({reason})"
        try:
            complain(what if error.filename is None else f"{error.filename}: {reason}")
        except OSError:
            _discard(sys.stderr)
        return 1


def _discard(stream: TextIO) -> None:
    """Redirect a stream, so that the interpreter does not fail to flush it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _answer(command: str, arguments: list[str]) -> int:
    from viewer.cli.output import visible_output
    from viewer.formats.memory import retain_freed

    retain_freed()
    # With --compat, the output is that of ExecuTorch's Inspector, byte for byte.
    exact = command == "inspect" and "--compat" in arguments
    with visible_output(exact=exact):
        return run(command, arguments)


def _window(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="opscope",
        description="Show on-device ML profiles on one timeline, linked to the model's source.",
        epilog=f"Commands without a window: {', '.join(f'opscope {name}' for name in COMMANDS)}; "
        "each has --help.",
    )
    add_files(parser, "*")
    add_theme(parser)
    parser.add_argument(
        "--new-window",
        action="store_true",
        help="open in a new window even if an empty one is open",
    )
    parser.add_argument("--version", action="version", version=f"opscope {__version__}")
    chosen = parser.parse_args(arguments)
    choices = choices_of(parser, chosen)
    files, complaints = files_of(chosen)
    for complaint in complaints:
        complain(complaint)
    from viewer.gui.app import application

    return application.run(files, choices, theme=chosen.theme, new_window=chosen.new_window)
