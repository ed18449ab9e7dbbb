"""The command line: open the window, or answer and write without one.

    opscope [FILES...]                      the window
    opscope info FILES... [--json]          what the files are and how they link
    opscope export FILES... -o OUT          .pftrace .pb (.gz) for Perfetto, .csv .tsv for tables
                   [--table untimed]        of events without a time instead of slices
    opscope stats FILES... --by KEY         what took how long, by operator, line, unit, ...
    opscope estimates FILES... [--json]     Torq: estimate beside measurement, action by action
    opscope inspect --etdump_path DUMP ...  what each event took, as ExecuTorch's inspector has it
    opscope screenshot FILES... -o OUT.png  the real window as a picture, without a display

Exit code 0; 1 if an input could not be read or nothing could be written (one line each on stderr,
the other inputs are still answered); 2 for wrong usage. A file that is called like a command is
opened as ./info.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Sequence
from fractions import Fraction

from viewer import __version__
from viewer.choices import Choices, apply
from viewer.export.atomic import is_same_file
from viewer.exporting import EXPORT_SUFFIXES, TABLE_SUFFIXES, TABLES, NothingToExport, export
from viewer.formats import UnreadableFile
from viewer.formats.debug_info_folder import NoDebugInfo, files_of
from viewer.model.times import parse_range, parse_rate
from viewer.program.grouping import KEYS
from viewer.program.source_code import Substitution
from viewer.report import info, info_text, one_line
from viewer.workspace import Workspace

THEMES = ("light", "dark")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that is not UTF-8, or a name that no encoding has, must not stop the answer.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        named = given[:1] and given[0] in COMMANDS
        code = COMMANDS[given[0]](given[1:]) if named else _window(given)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader of our output went away (`opscope info ... | head`): no one is left to tell,
        # and the interpreter must not try to flush what is left when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _window(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="opscope",
        description="Show profiles of on-device ML on one timeline, traced back to their source.",
        epilog=f"Commands without a window: {', '.join(f'opscope {name}' for name in COMMANDS)}; "
        "each has --help.",
    )
    _add_files(parser, "*")
    _add_theme(parser)
    parser.add_argument("--version", action="version", version=f"opscope {__version__}")
    chosen = parser.parse_args(arguments)
    choices = _choices(parser, chosen)
    files, complaints = _files(chosen)
    for complaint in complaints:
        _complain(complaint)
    from viewer.app import run

    return run(files, choices, theme=chosen.theme)


def _info(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="opscope info", description="What files are, how they link, and what is odd in them."
    )
    _add_files(parser, "*")
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")
    chosen = parser.parse_args(arguments)
    workspace, failed = _open_all(parser, chosen)
    if chosen.json:
        print(json.dumps(info(workspace), indent=1))
    else:
        text = info_text(workspace)
        if text:
            print(text)
    _warn(workspace)
    return 1 if failed else 0


def _stats(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="opscope stats", description="What took how long in profiles, grouped by one key."
    )
    _add_files(parser, "+")
    parser.add_argument("--by", required=True, choices=KEYS, metavar="KEY", help=", ".join(KEYS))
    parser.add_argument(
        "--range", metavar="START:END",
        help="count this part, from the start of the trace (of the first of several that one clock "
        "stamped), as 1.5ms:2ms",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")
    chosen = parser.parse_args(arguments)
    try:
        span = parse_range(chosen.range) if chosen.range else None
    except ValueError as error:
        parser.error(str(error))
    workspace, failed = _open_all(parser, chosen)
    _warn(workspace)
    if not workspace.paths:
        return 1
    from viewer.stats_report import NoSuchGroups, stats, stats_text

    try:
        facts = stats(workspace, chosen.by, span)
    except NoSuchGroups as error:
        _complain(str(error))
        return 1
    print(json.dumps(facts, indent=1) if chosen.json else stats_text(facts))
    for file in facts["files"]:
        if file["missing"]:
            _complain(f"note: {file['path']}: no statistics by {chosen.by}: {file['missing']}")
    return 1 if failed else 0


def _export(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="opscope export", description="Write profiles as a Perfetto trace or as a table."
    )
    _add_files(parser, "*")
    parser.add_argument(
        "-o", "--output", required=True, metavar="OUT", help=f"one of {', '.join(EXPORT_SUFFIXES)}"
    )
    parser.add_argument(
        "--table", choices=TABLES, default=TABLES[0],
        help=f"what a table ({', '.join(TABLE_SUFFIXES)}) has a row for: slices, or the allocation "
        "and debug events, which carry no time",
    )  # fmt: skip
    chosen = parser.parse_args(arguments)
    suffixes = EXPORT_SUFFIXES if chosen.table == TABLES[0] else TABLE_SUFFIXES
    if not chosen.output.lower().endswith(suffixes):
        parser.error(f"{chosen.output}: the name must end in one of {', '.join(suffixes)}")
    if any(is_same_file(path, chosen.output) for path in chosen.files):
        parser.error(f"{chosen.output}: this is one of the files to read, and would be lost")
    workspace, failed = _open_all(parser, chosen)
    _warn(workspace)
    if not workspace.paths:
        return 1
    try:
        export(workspace, chosen.output, table=chosen.table)
    except NothingToExport as error:
        _complain(str(error))
        return 1
    except OSError as error:
        _complain(f"{chosen.output}: it cannot be written ({error.strerror or error})")
        return 1
    return 1 if failed else 0


def _estimates(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="opscope estimates",
        description="What the Torq compiler estimated beside what was measured, per action and per "
        "operator: open a runtime profile with its debug info or its compile profile.",
    )
    _add_files(parser, "*")
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")
    chosen = parser.parse_args(arguments)
    workspace, failed = _open_all(parser, chosen)
    from viewer.estimate_report import estimate_facts, estimate_text, of_workspace

    made = of_workspace(workspace)
    print(json.dumps(estimate_facts(made), indent=1) if chosen.json else estimate_text(made))
    _warn(workspace)
    return 1 if failed else 0


def _inspect(arguments: list[str]) -> int:
    from viewer.compat import inspector_cli

    return inspector_cli.run(arguments, _complain)


def _screenshot(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="opscope screenshot", description="Draw the window with some files into a PNG."
    )
    _add_files(parser, "*")
    _add_theme(parser)
    parser.add_argument("-o", "--output", required=True, metavar="OUT.png")
    parser.add_argument("--size", default="1920x1080", metavar="WIDTHxHEIGHT")
    parser.add_argument(
        "--range", metavar="START:END", help="visible range from the trace's start, as 1.5ms:2ms"
    )
    chosen = parser.parse_args(arguments)
    try:
        size = _size(chosen.size)
        visible = parse_range(chosen.range) if chosen.range else None
    except ValueError as error:
        parser.error(str(error))
    if not chosen.output.lower().endswith(".png"):
        parser.error(f"{chosen.output}: the name must end in .png")
    choices = _choices(parser, chosen)
    files, complaints = _files(chosen)
    from viewer.app import screenshot

    failures = complaints + screenshot(
        files,
        choices,
        chosen.output,
        size=size,
        visible=visible,
        theme=chosen.theme or "dark",
    )
    for failure in failures:
        _complain(failure)
    return 1 if failures else 0


COMMANDS = {
    "info": _info, "stats": _stats, "export": _export, "estimates": _estimates,
    "inspect": _inspect, "screenshot": _screenshot,
}  # fmt: skip


# -- shared by the commands ------------------------------------------------------------------------


def _add_files(parser: argparse.ArgumentParser, count: str) -> None:
    parser.add_argument("files", nargs=count, metavar="FILE", help="profiles, records, sources")
    parser.add_argument(
        "--pair", action="append", default=[], metavar="DUMP=RECORD",
        help="link a profile to this record, whatever their agreement",
    )  # fmt: skip
    parser.add_argument(
        "--method", action="append", default=[], metavar="RUNS=METHOD",
        help='of which method runs are, where the record cannot tell: "Execute 1=forward"',
    )  # fmt: skip
    parser.add_argument(
        "--identifier-column", action="append", default=[], metavar="[FILE=]NAME",
        help="the column of a profile whose values are identifiers in a record's debug handle "
        'map, of one file or of all that have it; "" for none',
    )  # fmt: skip
    parser.add_argument(
        "--debug-info", action="append", default=[], metavar="DIR",
        help="open the Torq debug info of a folder too (torq-compile --torq-debug-info=DIR)",
    )  # fmt: skip
    parser.add_argument(
        "--clock", action="append", default=[], metavar="[FILE=]RATE",
        help="how fast the clock of a profile ran that states no rate, as 100MHz or est.csv=1.2GHz",
    )  # fmt: skip
    parser.add_argument(
        "--source-path", action="append", default=[], metavar="FROM=TO",
        help="sources recorded below FROM lie below TO here: /home/user/models=/data/models",
    )  # fmt: skip


def _files(chosen: argparse.Namespace) -> tuple[list[str], list[str]]:
    """All files to open, those of debug-info folders last; and a sentence per folder without."""
    files, complaints = list(chosen.files), []
    for folder in chosen.debug_info:
        try:
            files += files_of(folder)
        except NoDebugInfo as error:
            complaints.append(str(error))
    return files, complaints


def _source_paths(parser: argparse.ArgumentParser, given: list[str]) -> tuple[Substitution, ...]:
    made = []
    for text in given:
        recorded, equals, local = text.partition("=")
        if not (equals and local):
            parser.error(f"--source-path {text}: write it as FROM=TO")
        if not os.path.exists(local):
            parser.error(f"--source-path {text}: there is no {local} here")
        try:
            made.append(Substitution(recorded, os.path.abspath(local)))
        except ValueError as error:
            parser.error(f"--source-path {text}: {error}")
    return tuple(made)


def _clocks(parser: argparse.ArgumentParser, given: list[str]) -> tuple[tuple[str, Fraction], ...]:
    """(profile or "", ns per tick) of each FILE=RATE or RATE."""
    clocks = []
    for text in given:
        path, _, rate = text.rpartition("=")
        try:
            clocks.append((path, parse_rate(rate)))
        except ValueError as error:
            parser.error(f"--clock {text}: {error}")
    return tuple(clocks)


def _add_theme(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--theme", choices=THEMES, help="colours; by default those of the system")


def _open_all(
    parser: argparse.ArgumentParser, chosen: argparse.Namespace
) -> tuple[Workspace, bool]:
    """Open every file that can be read; the others are complained about."""
    choices = _choices(parser, chosen)
    workspace = Workspace()
    files, complaints = _files(chosen)
    for complaint in complaints:
        _complain(complaint)
    failed = bool(complaints)
    if not files and not failed:
        parser.error("nothing to open: give FILES or --debug-info DIR")
    for path in files:
        try:
            workspace.open(path)
        except UnreadableFile as error:
            _complain(str(error))
            failed = True
    for substitution in choices.source_paths:  # before the other choices: companions lie there
        workspace.substitute(substitution)
    for complaint in workspace.open_companions():
        _complain(f"warning: {complaint}")
    refused = apply(choices, workspace)
    if refused and not failed:
        parser.error(refused[0])
    return workspace, failed


def _choices(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> Choices:
    methods = [text.partition("=")[::2] for text in chosen.method]
    for text, (scope, method) in zip(chosen.method, methods, strict=True):
        if not (scope and method):
            parser.error(f'--method {text}: write it as RUNS=METHOD, as in "Execute 1=forward"')
    return Choices(
        tuple(_pairs(parser, chosen.pair)),
        tuple(methods),
        tuple(_column(text, chosen.files) for text in chosen.identifier_column),
        _clocks(parser, chosen.clock),
        _source_paths(parser, chosen.source_path),
    )


def _cut(text: str) -> list[tuple[str, str]]:
    """What stands before and behind each "=" in a text: names of files and columns may hold one."""
    return [(text[:i], text[i + 1 :]) for i, char in enumerate(text) if char == "="]


def _column(text: str, files: Sequence[str]) -> tuple[str | None, str]:
    """(profile or None, column) of [FILE=]NAME; a name may hold "=", so FILE must be given too."""
    given = {os.path.abspath(path) for path in files}
    found = [halves for halves in _cut(text) if os.path.abspath(halves[0]) in given]
    return found[0] if found else (None, text)


def _pairs(parser: argparse.ArgumentParser, given: list[str]) -> list[tuple[str, str]]:
    """(profile, record) of each DUMP=RECORD; where names hold "=", both halves must be files."""
    pairs = []
    for text in given:
        halves = [both for both in _cut(text) if all(both)]
        if not halves:
            parser.error(f"--pair {text}: write it as DUMP=RECORD")
        files = [half for half in halves if all(map(os.path.exists, half))]
        pairs.append((files or halves)[0])
    return pairs


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise ValueError(f"{text!r} is not a size: write it as 1920x1080")
    size = int(width), int(height)
    if not (320 <= size[0] <= 16384 and 240 <= size[1] <= 16384):
        raise ValueError(f"the size {text} is not between 320x240 and 16384x16384")
    return size


def _warn(workspace: Workspace) -> None:
    for trace in workspace.traces:
        for warning in workspace.warnings(trace):
            _complain(f"warning: {warning}")


def _complain(message: str) -> None:
    """One line on stderr."""
    print(f"opscope: {one_line(message)}", file=sys.stderr)
