"""`opscope export`: writes profiles as a Perfetto trace or a table, one file or a whole folder."""

from __future__ import annotations

import argparse
import os

from viewer.analysis.statistics.group_keys import KEYS, key_named
from viewer.cli.arguments import (
    STANDARD,
    Parser,
    add_files,
    check_output,
    choices_of,
    complain,
    written,
)
from viewer.cli.commands.open_inputs import open_all, warn
from viewer.cli.output import ProgressLine, output_path
from viewer.cli.session_files import alignment_of, ran_queries
from viewer.codecs.atomic_file import is_same_file
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.model.times import counted, parse_range
from viewer.workspace.exports import (
    EXPORT_SUFFIXES,
    PERFETTO_SUFFIXES,
    TABLE_SUFFIXES,
    TABLES,
    prepare,
)

_TEXT_SUFFIXES = (".csv", ".tsv")
_ONLY_TEXT = "--raw applies only to .csv and .tsv: no other format changes texts"


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = Parser(
        prog="opscope export",
        description="Export profiles as a Perfetto trace with operators, flows, counters and "
        "hashes of the inputs, or as a table.",
    )
    add_files(parser, "*")
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="OUT",
        help=f"one of {', '.join(EXPORT_SUFFIXES)}; - is the standard output; with --jobs a folder",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="export all profiles in the folder FILE to the folder OUT, N at a time",
    )
    parser.add_argument(
        "--to",
        choices=EXPORT_SUFFIXES,
        metavar="SUFFIX",
        help=f"with --jobs or -o -: output format, one of {', '.join(EXPORT_SUFFIXES)} (default: "
        ".pftrace, or .csv for tables)",
    )
    parser.add_argument(
        "--table",
        choices=TABLES,
        default=TABLES[0],
        help=f"rows of a table ({', '.join(TABLE_SUFFIXES)}): slices; operators; statistics, which "
        "are groups of slices; untimed, which are allocation and debug events without a time; "
        "handle_map, which are the identifiers in debug handle maps",
    )
    parser.add_argument(
        "--by",
        type=key_named,
        choices=KEYS,
        metavar="KEY",
        help=f"key of statistics: {', '.join(KEYS)} (default: operator if there are any, else "
        "name)",
    )
    parser.add_argument(
        "--range",
        metavar="START:END",
        help="export only the slices in this range, counted from the start of the trace, such as "
        "1.5ms:2ms; slices that cross the range boundary are exported in full",
    )
    parser.add_argument(
        "--names",
        choices=("operators", "file"),
        default="operators",
        help="slice names in a Perfetto trace: of linked operators, with the file's name as the "
        "argument `event` (default); or of the file, with operators as the argument `label`",
    )
    parser.add_argument(
        "--raw",
        action="store_true",
        help="write texts to .csv and .tsv unchanged; by default, a text that a spreadsheet would "
        "read as a formula gets a leading apostrophe, and control characters are escaped",
    )
    chosen = parser.parse_args(arguments)
    if chosen.range and chosen.table != TABLES[0]:
        parser.error("--range applies only to Perfetto traces and --table slices")
    try:
        span = parse_range(chosen.range) if chosen.range else None
    except ValueError as error:
        parser.error(str(error))
    if chosen.by and chosen.table != "statistics":
        parser.error("--by applies only to --table statistics")
    if chosen.jobs is not None:
        return _export_folder(parser, chosen)
    suffixes = EXPORT_SUFFIXES if chosen.table == TABLES[0] else TABLE_SUFFIXES
    if chosen.output == STANDARD:
        suffix = chosen.to or (PERFETTO_SUFFIXES if suffixes is EXPORT_SUFFIXES else suffixes)[0]
        with output_path(STANDARD, suffix) as chosen.output:
            return _export(parser, chosen, suffixes, span)
    if chosen.to:
        parser.error("--to requires --jobs or -o -: the extension of OUT selects the format")
    return _export(parser, chosen, suffixes, span)


def _export(
    parser: argparse.ArgumentParser,
    chosen: argparse.Namespace,
    suffixes: tuple[str, ...],
    span: tuple[int, int] | None,
) -> int:
    if not chosen.output.lower().endswith(suffixes):
        parser.error(f"{chosen.output}: the name must end in one of {', '.join(suffixes)}")
    if chosen.raw and not chosen.output.lower().endswith(_TEXT_SUFFIXES):
        parser.error(_ONLY_TEXT)
    if chosen.names != "operators" and not chosen.output.lower().endswith(PERFETTO_SUFFIXES):
        parser.error("--names applies only to Perfetto traces: tables have both names")
    check_output(parser, chosen.output, chosen.files)
    workspace, failed = open_all(parser, chosen)
    warn(workspace)
    if not workspace.paths:
        return 1
    is_trace = chosen.output.lower().endswith(PERFETTO_SUFFIXES)
    sessions = chosen.files if is_trace else []
    shifts, complaints = alignment_of(sessions, workspace)
    queries, has_all = ran_queries(sessions, workspace, charts=False)
    failed = failed or not has_all
    for complaint in complaints:
        complain(f"warning: {complaint}")

    def write() -> int:
        job = prepare(
            workspace,
            chosen.output,
            table=chosen.table,
            by=chosen.by,
            ns_range=span,
            raw=chosen.raw,
            shifts=shifts,
            own_names=chosen.names == "file",
            derived=[tracks for _, tracks in queries if tracks is not None],
        )
        return job(no_progress, never_cancelled)

    return 1 if not written(chosen.output, write) or failed else 0


def _export_folder(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> int:
    if chosen.jobs < 1:
        parser.error(f"--jobs {chosen.jobs}: it must be at least 1")
    if len(chosen.files) != 1 or not os.path.isdir(chosen.files[0]):
        parser.error("--jobs requires one folder with profiles")
    if (
        choices_of(parser, chosen)
        or chosen.debug_info
        or chosen.range
        or chosen.names != "operators"
    ):
        parser.error("options for single files cannot be used with --jobs")
    suffix = chosen.to or (".pftrace" if chosen.table == TABLES[0] else ".csv")
    if chosen.table != TABLES[0] and not suffix.endswith(TABLE_SUFFIXES):
        parser.error(f"--to {suffix}: tables are written as one of {', '.join(TABLE_SUFFIXES)}")
    if chosen.raw and not suffix.endswith(_TEXT_SUFFIXES):
        parser.error(_ONLY_TEXT)
    if os.path.exists(chosen.output) and not os.path.isdir(chosen.output):
        parser.error(f"{chosen.output}: with --jobs, this must be a folder")
    check_output(parser, chosen.output, ())
    if is_same_file(chosen.files[0], chosen.output):
        parser.error(f"{chosen.output}: this is the input folder")
    from viewer.cli import batch_export

    plan = batch_export.plan(chosen.files[0], chosen.output, suffix)
    for complaint in plan.unreadable:
        complain(complaint)
    line, ended = ProgressLine(), 0

    def told(outcome: batch_export.Outcome) -> None:
        nonlocal ended
        ended += 1
        line.show(f"{ended} of {len(plan.tasks)}")

    outcomes = batch_export.run(
        plan.tasks, chosen.jobs, chosen.table, chosen.by, told, raw=chosen.raw
    )
    line.end(f"{ended} of {len(plan.tasks)}")
    for outcome in outcomes:
        for warning in outcome.warnings:
            complain(f"warning: {warning}")
    failures = [outcome.failure for outcome in outcomes if outcome.failure]
    for failure in failures:
        complain(failure)
    written = len(outcomes) - len(failures)
    failed = len(failures) + len(plan.unreadable)
    parts = [f"wrote {written} of {written + failed} profiles to {chosen.output}"]
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{counted(plan.others, 'other file')} skipped"] if plan.others else []
    print(", ".join(parts))
    return 1 if failed or not written else 0
