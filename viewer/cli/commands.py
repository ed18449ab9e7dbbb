"""The commands that answer or write without a window: info, stats, export and the like.

Each takes the arguments behind its name and returns the exit code; `viewer.cli.main` says what they
are.
"""

from __future__ import annotations

import argparse
import json
import os
import sys

from viewer.analysis.statistics.grouping import KEYS
from viewer.cli.arguments import add_files, add_theme, choices_of, complain, files_of
from viewer.codecs.atomic_file import is_same_file
from viewer.codecs.reading import UnreadableFile
from viewer.model.times import parse_range
from viewer.reports.info import info, info_text
from viewer.view.session_file import with_inputs
from viewer.workspace.exports import (
    EXPORT_SUFFIXES,
    TABLE_SUFFIXES,
    TABLES,
    NothingToExport,
    export,
)
from viewer.workspace.link_choices import NO_CHOICES, apply
from viewer.workspace.workspace import Workspace


def _info(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="opscope info", description="What files are, how they link, and what is odd in them."
    )
    add_files(parser, "*")
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
    add_files(parser, "+")
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
    from viewer.reports.stats import NoSuchGroups, stats, stats_text

    try:
        facts = stats(workspace, chosen.by, span)
    except NoSuchGroups as error:
        complain(str(error))
        return 1
    print(json.dumps(facts, indent=1) if chosen.json else stats_text(facts))
    for file in facts["files"]:
        if file["missing"]:
            complain(f"note: {file['path']}: no statistics by {chosen.by}: {file['missing']}")
    return 1 if failed else 0


def _export(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="opscope export",
        description="Write profiles as a Perfetto trace, with operators, flows, counters and the "
        "hashes of its inputs, or as a table.",
    )
    add_files(parser, "*")
    parser.add_argument(
        "-o", "--output", required=True, metavar="OUT",
        help=f"one of {', '.join(EXPORT_SUFFIXES)}; with --jobs a folder",
    )  # fmt: skip
    parser.add_argument(
        "--jobs", type=int, metavar="N",
        help="write every profile of the folder FILE into the folder OUT, N at a time",
    )  # fmt: skip
    parser.add_argument(
        "--to", choices=EXPORT_SUFFIXES, metavar="SUFFIX",
        help=f"with --jobs: what to write, {', '.join(EXPORT_SUFFIXES)}; by default .pftrace, of "
        "tables .csv",
    )  # fmt: skip
    parser.add_argument(
        "--table", choices=TABLES, default=TABLES[0],
        help=f"what a table ({', '.join(TABLE_SUFFIXES)}) has a row for: slices, the allocation "
        "and debug events, which carry no time, the identifiers of debug handle maps, or groups of "
        "slices",
    )  # fmt: skip
    parser.add_argument(
        "--by", choices=KEYS, metavar="KEY",
        help=f"what statistics are by: {', '.join(KEYS)}; operator where there are any, else name",
    )  # fmt: skip
    parser.add_argument(
        "--range", metavar="START:END",
        help="slices of this part alone, from the start of the trace, as 1.5ms:2ms; one that "
        "reaches over an edge is written whole",
    )  # fmt: skip
    chosen = parser.parse_args(arguments)
    if chosen.range and chosen.table != TABLES[0]:
        parser.error("--range is of slices: of a Perfetto trace, or --table slices")
    try:
        span = parse_range(chosen.range) if chosen.range else None
    except ValueError as error:
        parser.error(str(error))
    if chosen.by and chosen.table != "statistics":
        parser.error("--by is of --table statistics")
    if chosen.jobs is not None:
        return _export_folder(parser, chosen)
    if chosen.to:
        parser.error("--to is of --jobs: the name of OUT says what to write")
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
        export(workspace, chosen.output, table=chosen.table, by=chosen.by, ns_range=span)
    except NothingToExport as error:
        complain(str(error))
        return 1
    except OSError as error:
        complain(f"{chosen.output}: it cannot be written ({error.strerror or error})")
        return 1
    return 1 if failed else 0


def _export_folder(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> int:
    if chosen.jobs < 1:
        parser.error(f"--jobs {chosen.jobs}: at least one is needed")
    if len(chosen.files) != 1 or not os.path.isdir(chosen.files[0]):
        parser.error("--jobs needs one folder with profiles")
    if choices_of(parser, chosen) or chosen.debug_info or chosen.range:
        parser.error("what is said of single files is not for all of a folder")
    suffix = chosen.to or (".pftrace" if chosen.table == TABLES[0] else ".csv")
    if chosen.table != TABLES[0] and not suffix.endswith(TABLE_SUFFIXES):
        parser.error(f"--to {suffix}: a table is one of {', '.join(TABLE_SUFFIXES)}")
    if os.path.exists(chosen.output) and not os.path.isdir(chosen.output):
        parser.error(f"{chosen.output}: with --jobs this is a folder")
    if is_same_file(chosen.files[0], chosen.output):
        parser.error(f"{chosen.output}: this is the folder to read")
    from viewer.cli import batch_export

    found = batch_export.plan(chosen.files[0], chosen.output, suffix)
    for complaint in found.unreadable:
        complain(complaint)
    shows = sys.stderr.isatty()
    ended = 0

    def told(outcome: batch_export.Outcome) -> None:
        nonlocal ended
        ended += 1
        if shows:
            print(f"\r{ended} of {len(found.tasks)}", end="", file=sys.stderr, flush=True)

    outcomes = batch_export.run(found.tasks, chosen.jobs, chosen.table, chosen.by, told)
    if shows and ended:
        print(file=sys.stderr)
    for outcome in outcomes:
        for warning in outcome.warnings:
            complain(f"warning: {warning}")
    failures = [outcome.failure for outcome in outcomes if outcome.failure]
    for failure in failures:
        complain(failure)
    wrote = len(outcomes) - len(failures)
    failed = len(failures) + len(found.unreadable)
    parts = [f"wrote {wrote} of {wrote + failed} profiles to {chosen.output}"]
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{found.others} files of other kinds left out"] if found.others else []
    print(", ".join(parts))
    return 1 if failed or not wrote else 0


def _estimates(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="opscope estimates",
        description="What the Torq compiler estimated beside what was measured, per action and per "
        "operator: open a runtime profile with its debug info or its compile profile.",
    )
    add_files(parser, "*")
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")
    chosen = parser.parse_args(arguments)
    workspace, failed = _open_all(parser, chosen)
    from viewer.reports.estimates import estimate_facts, estimate_text, of_workspace

    made = of_workspace(workspace)
    print(json.dumps(estimate_facts(made), indent=1) if chosen.json else estimate_text(made))
    _warn(workspace)
    return 1 if failed else 0


def _delegation(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="opscope delegation",
        description="What was handed to delegates and what it took, what stayed outside, how much "
        "is linked and why the rest is not, and debug handle maps beside what was logged.",
    )
    add_files(parser, "*")
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")
    chosen = parser.parse_args(arguments)
    workspace, failed = _open_all(parser, chosen)
    from viewer.reports.delegation import delegation_facts, delegation_text

    facts = delegation_facts(workspace)
    print(json.dumps(facts, indent=1) if chosen.json else delegation_text(facts))
    _warn(workspace)
    return 1 if failed else 0


def _findings(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="opscope findings",
        description="What profiles prove, in a short ranked list: what is dearest, copies, gaps, "
        "slow inferences, estimates that are off and more, each with its numbers and its rule.",
    )
    add_files(parser, "+")
    parser.add_argument(
        "--run", type=int, metavar="N", help="of the inferences of this number alone, from 1 on"
    )
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")
    chosen = parser.parse_args(arguments)
    workspace, failed = _open_all(parser, chosen)
    _warn(workspace)
    if not workspace.paths:
        return 1
    from viewer.reports.findings import NoSuchRun, findings_facts, findings_text

    try:
        facts = findings_facts(workspace, chosen.run)
    except NoSuchRun as error:
        complain(str(error))
        return 1 if failed else 2
    print(json.dumps(facts, indent=1) if chosen.json else findings_text(facts))
    told = {file["path"] for file in facts["files"]}
    for trace in workspace.traces:
        if trace.path not in told:
            complain(f"note: {trace.path}: it has no run {chosen.run}")
    return 1 if failed else 0


def _inspect(arguments: list[str]) -> int:
    from viewer.compat import inspector_cli

    return inspector_cli.run(arguments, complain)


def _screenshot(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="opscope screenshot",
        description="Draw the window with some files into a PNG, or its timeline alone, to print, "
        "into an SVG or PDF.",
    )
    add_files(parser, "*")
    add_theme(parser)
    parser.add_argument("-o", "--output", required=True, metavar="OUT")
    parser.add_argument("--size", default="1920x1080", metavar="WIDTHxHEIGHT")
    parser.add_argument(
        "--range", metavar="START:END", help="visible range from the trace's start, as 1.5ms:2ms"
    )
    parser.add_argument(
        "--select-most-expensive", action="store_true",
        help="select the most expensive operator and print its name",
    )  # fmt: skip
    # What the option was called before.
    parser.add_argument(
        "--select-dearest", dest="select_most_expensive", action="store_true",
        help=argparse.SUPPRESS,
    )  # fmt: skip
    chosen = parser.parse_args(arguments)
    try:
        size = _size(chosen.size)
        visible = parse_range(chosen.range) if chosen.range else None
    except ValueError as error:
        parser.error(str(error))
    if not chosen.output.lower().endswith((".png", ".svg", ".pdf")):
        parser.error(f"{chosen.output}: the name must end in .png, .svg or .pdf")
    choices = choices_of(parser, chosen)
    files, complaints = files_of(chosen)
    from viewer.gui.app.application import screenshot

    failures = complaints + screenshot(
        files,
        choices,
        chosen.output,
        size=size,
        visible=visible,
        theme=chosen.theme or ("dark" if chosen.output.lower().endswith(".png") else "light"),
        report_most_expensive=_print_most_expensive if chosen.select_most_expensive else None,
    )
    for failure in failures:
        complain(failure)
    return 1 if failures else 0


def _print_most_expensive(what: str) -> None:
    print(f"Selected in the picture, since it took most: {what}")


ANSWERS = {
    "info": _info, "stats": _stats, "export": _export, "estimates": _estimates,
    "delegation": _delegation, "findings": _findings,
    "inspect": _inspect, "screenshot": _screenshot,
}  # fmt: skip


# -- shared by the commands ------------------------------------------------------------------------


def _open_all(
    parser: argparse.ArgumentParser, chosen: argparse.Namespace
) -> tuple[Workspace, bool]:
    """Open every file that can be read; the others are complained about."""
    choices = choices_of(parser, chosen) or NO_CHOICES
    workspace = Workspace()
    given, complaints = files_of(chosen)
    files, of_sessions, not_found = with_inputs(given)
    complaints += not_found
    for complaint in complaints:
        complain(complaint)
    failed = bool(complaints)
    if not files and not failed:
        parser.error("nothing to open: give FILES or --debug-info DIR")
    for path in files:
        try:
            workspace.open(path)
        except UnreadableFile as error:
            complain(str(error))
            failed = True
    # Before the other choices, since companions lie there.
    for substitution in (s for one in (*of_sessions, choices) for s in one.source_paths):
        workspace.substitute(substitution)
    for complaint in workspace.open_companions():
        complain(f"warning: {complaint}")
    for one in of_sessions:
        for complaint in apply(one, workspace):
            complain(f"warning: {complaint}")
    # What is said on this command line goes before what a session file says.
    refused = apply(choices, workspace)
    if refused and not failed:
        parser.error(refused[0])
    return workspace, failed


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
            complain(f"warning: {warning}")
