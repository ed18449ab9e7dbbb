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
    opscope compare A... --with B...        what changed between two arms, and what is proven
    opscope report FILES... -o OUT.html     one HTML file to send; with --markdown, for tickets
    opscope inspect --etdump_path DUMP ...  time per event, as in ExecuTorch's Inspector
    opscope screenshot FILES... -o OUT.png  the real window as an image, without a display
    opscope fleet build SOURCE... -o LAKE   many profiles as tables; query, compare, report ...
    opscope mcp FILES...                    the files for an assistant (Model Context Protocol)

Exit code 0 for success; 1 if an input could not be read or nothing could be written (one line each
on stderr; the other inputs are still processed), also if stdout is full or closed; 2 for wrong
usage. If stdout is a pipe whose reader has ended, as in `| head`, it is 1 without a line. To open a
file named like a command, write ./info.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from viewer import __version__
from viewer.cli.arguments import add_files, add_theme, choices_of, complain, files_of
from viewer.cli.commands import COMMANDS, run
from viewer.cli.output import with_output


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given[:1] or given[0] not in COMMANDS:
        return with_output(lambda: _window(given))
    # With --compat, the output is that of ExecuTorch's Inspector, byte for byte.
    exact = given[0] == "inspect" and "--compat" in given
    return with_output(lambda: _answer(given[0], given[1:]), exact=exact)


def _answer(command: str, arguments: list[str]) -> int:
    from viewer.formats.memory import retain_freed

    retain_freed()
    try:
        return run(command, arguments)
    except Exception as error:
        complain(
            f"opscope {command} failed because of an error in Opscope ({error!r} at "
            f"{_place_of(error)}). Please report it"
        )
        return 1


def _place_of(error: Exception) -> str:
    """The file and the line that raised an error."""
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{last.filename}:{last.lineno}"


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

    return application.run(
        files,
        choices,
        theme=chosen.theme,
        new_window=chosen.new_window,
        alone=chosen.max_memory is not None,
    )
