"""`opscope inspect`: the official Inspector's command line, without torch and with correct values.

The arguments and the output are those of `python -m executorch.devtools.inspector.inspector_cli`:
the table on stdout, and as tab-separated text in the file of `--tsv_path`. Added are `--json`,
`--include_delegate_debug_data` (a keyword of the official library that its command line lacks),
`--clock`, the rate of a delegate's own clock, `--reference_outputs`, with which `--compare_results`
prints the metrics that the official tool draws, and `--compat`, which prints what Inspector 1.5.1
prints, including its bugs, or reports where it would fail. The table contains no tensor values, so
`--debug_buffer_path` only has an effect on `--compare_results`. Exit code 0 for success; 1 if an
input cannot be read or nothing can be written; 2 for wrong usage.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from viewer import __version__
from viewer.analysis.links.link_table import LinkState, LinkTable
from viewer.analysis.statistics.events import event_statistics
from viewer.codecs.atomic_file import output_fault, replacing
from viewer.codecs.memory_budget import BUDGET, parse_limit
from viewer.codecs.reading import UnreadableFile
from viewer.compat.inspector import official, official_record
from viewer.compat.inspector.answers import (
    MIXED,
    NO_REFERENCE,
    PER_SECOND,
    AnswerTable,
    InspectorAnswers,
    Metrics,
    compared_results,
    is_mixed,
    metric_lines,
    metrics_as_json,
)
from viewer.compat.inspector.official_record import VERSION, InspectorError
from viewer.formats.executorch.etdump import reader as etdump
from viewer.model.text import one_line
from viewer.model.times import format_rate, parse_rate
from viewer.model.trace import Trace
from viewer.model.untimed import counts_text
from viewer.program.program import Program
from viewer.workspace.workspace import Workspace

Complain = Callable[[str], None]


def run(arguments: Sequence[str], complain: Complain) -> int:
    """Run one command, as `opscope inspect` does.

    Args:
        arguments: Those of ExecuTorch's inspector_cli, and the options of Opscope.
        complain: Takes one line for stderr.

    Returns:
        The exit code: 0, or 1 if an input cannot be read or nothing can be written. Wrong usage
        exits with 2.

    Source:
        devtools/inspector/inspector_cli.py of ExecuTorch 1.5.1, whose arguments and output these
        are.
    """
    parser = _parser()
    chosen = parser.parse_args(arguments)
    if chosen.compare_results and not chosen.reference_outputs and not chosen.compat:
        parser.error(NO_REFERENCE)
    if is_mixed(chosen.source_time_scale, chosen.target_time_scale) and not chosen.compat:
        parser.error(MIXED)
    if chosen.clock and chosen.compat:
        parser.error("--clock: Inspector knows no rate of a delegate's clock; leave out --compat")
    if chosen.max_memory:
        try:
            BUDGET.limit(parse_limit(chosen.max_memory))
        except ValueError as error:
            parser.error(f"--max-memory {error}")
    chosen.clock = [_delegate_clock(parser, text) for text in chosen.clock]
    inputs = [
        chosen.etdump_path, chosen.etrecord_path, chosen.debug_buffer_path,
        chosen.reference_outputs,
    ]  # fmt: skip
    if chosen.tsv_path and (fault := output_fault(chosen.tsv_path, filter(None, inputs))):
        parser.error(fault)
    try:
        if chosen.debug_buffer_path:
            _check_readable(chosen.debug_buffer_path)
        sheet, facts = (_official if chosen.compat else _right)(chosen, complain)
        results = _results(chosen)
    except (UnreadableFile, InspectorError) as error:
        is_theirs = isinstance(error, InspectorError) and error.text != MIXED
        complain(f"{error}{'; without --compat opscope inspect answers' * is_theirs}")
        return 1
    if chosen.json:
        stated = facts()
        if results:
            stated["compare_results"] = [metrics_as_json(result) for result in results]
        print(json.dumps(stated, indent=1))
    else:
        for line in sheet.grid():
            print(line)
    if chosen.tsv_path:
        try:
            with replacing(chosen.tsv_path) as file:
                sheet.write_tsv(file)
        except OSError as error:
            complain(f"{chosen.tsv_path}: it cannot be written ({error.strerror or error})")
            return 1
    if results and not chosen.json:
        for line in (line for result in results for line in metric_lines(result)):
            print(line)
    problem = _official_comparison(chosen) if chosen.compare_results and not results else ""
    if problem:
        complain(problem)
    return 1 if problem else 0


def _results(chosen: argparse.Namespace) -> list[Metrics]:
    """Return the metrics of the logged outputs. Raises UnreadableFile."""
    if not (chosen.compare_results and chosen.reference_outputs):
        return []
    workspace = Workspace()
    trace = workspace.open(chosen.etdump_path)
    assert isinstance(trace, Trace)  # the table was made of it
    if chosen.etrecord_path:
        workspace.open(chosen.etrecord_path)
    table = workspace.links(workspace.open_trace(trace.path))
    return compared_results(table, chosen.debug_buffer_path, chosen.reference_outputs)


def _official_comparison(chosen: argparse.Namespace) -> str:
    """Return what keeps the official tool from comparing, or what it does; "" for nothing."""
    runs, _ = official.read(chosen.etdump_path)
    if not any(run.name == "Execute" and run.has_events for run in runs):
        return ""
    record = official_record.read(chosen.etrecord_path) if chosen.etrecord_path else None
    if record is None or record.forward().references is None:
        return str(InspectorError("TypeError", "'NoneType' object is not iterable"))
    return (
        f"Inspector {VERSION} draws the metrics as images and prints none: --reference_outputs "
        "prints them"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="opscope inspect",
        description="Print the table of ExecuTorch's Inspector: the times of each event over all "
        "inferences.",
    )
    scales = tuple(PER_SECOND)
    parser.add_argument("--etdump_path", required=True, metavar="DUMP", help="ETDump file")
    parser.add_argument("--etrecord_path", metavar="RECORD", help="ETRecord file")
    parser.add_argument(
        "--source_time_scale",
        choices=scales,
        default="ns",
        help="time unit in the ETDump (default: %(default)s)",
    )
    parser.add_argument(
        "--target_time_scale",
        choices=scales,
        default="ms",
        help="time unit of the table (default: %(default)s)",
    )
    parser.add_argument("--tsv_path", metavar="OUT", help="also write the table as TSV")
    parser.add_argument(
        "--debug_buffer_path", metavar="BUFFER", help="debug buffer, for --compare_results"
    )
    parser.add_argument(
        "--compare_results",
        action="store_true",
        help="also print SNR, MSE and cosine similarity of the logged outputs",
    )
    parser.add_argument(
        "--reference_outputs",
        metavar="FILE",
        help="what --compare_results compares with: an .npz with the keys output_0, output_1, or a "
        "bundled program (.bpte)",
    )
    parser.add_argument(
        "--compat",
        action="store_true",
        help=f"print exactly what Inspector {VERSION} prints, including its bugs",
    )
    parser.add_argument(
        "--clock",
        action="append",
        default=[],
        metavar="BACKEND=RATE",
        help="clock frequency of a delegate, such as QnnBackend=800MHz",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument(
        "--include_delegate_debug_data",
        action="store_true",
        help="add the column delegate_debug_metadata if delegates logged any",
    )
    parser.add_argument(
        "--max-memory", metavar="SIZE", help="the most memory to use, such as 512M, 2G or 50%%"
    )
    return parser


def _delegate_clock(parser: argparse.ArgumentParser, text: str) -> tuple[str, Fraction]:
    """Return the clock and its ns per cycle; ":BACKEND=RATE", as for other commands, is taken."""
    name, _, rate = text.rpartition("=")
    name = name.removeprefix(":")
    if not name:
        parser.error(f"--clock {text}: write it as BACKEND=RATE, as in QnnBackend=800MHz")
    try:
        return name, parse_rate(rate)
    except ValueError as error:
        parser.error(f"--clock {text}: {error}")


def _right(
    chosen: argparse.Namespace, complain: Complain
) -> tuple[AnswerTable, Callable[[], dict[str, Any]]]:
    workspace = Workspace()
    trace = workspace.open(chosen.etdump_path)
    if not isinstance(trace, Trace) or trace.format != etdump.FORMAT.name:
        raise UnreadableFile(
            chosen.etdump_path,
            f"this is not an ETDump but {trace.format}",
            remedy="opscope export writes other profiles as tables",
        )
    problems = list(trace.problems)
    if chosen.etrecord_path:
        record = workspace.open(chosen.etrecord_path)
        if not isinstance(record, Program) or record.text_lines:
            reason = f"this is not an ETRecord but {record.format}"
            raise UnreadableFile(chosen.etrecord_path, reason)
        problems += record.problems
    for name, rate in chosen.clock:
        try:
            workspace.set_delegate_clock(trace.path, name, rate)
        except ValueError as error:
            reason = f"--clock {name}={format_rate(rate)}: {error}"
            raise UnreadableFile(chosen.etdump_path, reason) from error
    table = workspace.links(trace)
    warnings = workspace.warnings(trace)
    unlinked = _unlinked(table) if table.program is not None else {}
    for warning in warnings:
        complain(f"warning: {warning}")
    for problem in problems:
        complain(f"note: {problem.count} × {problem.kind}")
    if len(trace.untimed):
        complain(f"note: no row for what has no time: {counts_text(trace.untimed)}")
    for reason, count in unlinked.items():
        complain(f"note: {count} events not linked: {reason}")
    source, target = chosen.source_time_scale, chosen.target_time_scale
    answers = InspectorAnswers(event_statistics(table, by_series=False), source, target)

    def facts() -> dict[str, Any]:
        trace_match = table.trace_match
        return {
            **_header(chosen),
            "linked": table.program is not None,
            "agreement": None if trace_match is None else round(trace_match.match.value, 4),
            "evidence": None if trace_match is None else trace_match.match.evidence,
            "warnings": warnings,
            "problems": [{"kind": p.kind, "count": p.count, "first": p.first} for p in problems],
            "not_linked": unlinked,
            "event_blocks": answers.as_json(),
        }

    return answers.sheet(chosen.include_delegate_debug_data), facts


def _official(
    chosen: argparse.Namespace, _: Complain
) -> tuple[AnswerTable, Callable[[], dict[str, Any]]]:
    record = official_record.read(chosen.etrecord_path) if chosen.etrecord_path else None
    runs, events = official.read(chosen.etdump_path)
    official_answer = official.answer(
        runs, events, record, chosen.source_time_scale, chosen.target_time_scale
    )

    def facts() -> dict[str, Any]:
        return {**_header(chosen), "compat": VERSION, "rows": official_answer.as_json()}

    return official_answer.sheet(chosen.include_delegate_debug_data), facts


def _header(chosen: argparse.Namespace) -> dict[str, Any]:
    return {
        "opscope": __version__,
        "etdump_path": chosen.etdump_path,
        "etrecord_path": chosen.etrecord_path,
        "source_time_scale": chosen.source_time_scale,
        "target_time_scale": chosen.target_time_scale,
    }


def _unlinked(table: LinkTable) -> dict[str, int]:
    """Count the events that an ETRecord should know but that are not linked, by reason."""
    count = np.bincount(table.trace.slices.key, minlength=len(table.links)).tolist()
    counts: dict[str, int] = {}
    for link, events in zip(table.links, count, strict=True):
        if link.reason.state is LinkState.UNLINKED:
            counts[link.reason.text] = counts.get(link.reason.text, 0) + events
    return counts


def _check_readable(path: str) -> None:
    try:
        with open(path, "rb"):
            pass
    except (OSError, ValueError) as error:
        raise UnreadableFile(path, getattr(error, "strerror", None) or str(error)) from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, as `python -m viewer.compat.inspector_cli` does.

    Args:
        arguments: Those after the name of the program; by default those of the process.

    Returns:
        The exit code: 0, 1 if a file cannot be read or written, or 2 for wrong usage.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    return run(
        sys.argv[1:] if arguments is None else arguments,
        lambda message: print(f"opscope: {one_line(message)}", file=sys.stderr),
    )


if __name__ == "__main__":
    sys.exit(main())
