"""A corrected replacement for Torq's perfetto_logger: the same arguments and the same tracks.

    python -m viewer.compat.perfetto_logger --compile_profile F... --runtime_profile F... --pb OUT

Compile profiles (C0 to C3) and runtime profiles (R0, R1) become one Perfetto trace with a process
and an overview for each file, and the overview is printed. `--mlir FILE` names the operators of C2
and C3 rows. `--compat` writes exactly what the original from a file's time wrote, including its
bugs (`viewer.compat.torq_logger.original`); files that no version of it reads end with exit code 2.
Without it, no row is lost, files with one base name keep a process each, and slices, units and
names are as in `viewer.compat.torq_logger.charts`.

Exit code 0 for success; 1 if a file cannot be read (one line each; the others are still converted)
or nothing can be written; 2 for wrong usage. In Python, as in the original's README:

    view = TimeChartView("trace.pb")
    csv_to_view_compile_profile("model", view, "timeline.csv", num_slices=2)
    view.render(TimeChartLog("host", "main", "prepare", 0, 1500))
    view.flush()

    convert_to_perfetto({"model": "timeline.csv"}, {"run": "runtime.csv"}, "trace.pb")
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from viewer.codecs.atomic_file import is_same_file, replacing
from viewer.codecs.reading import UnreadableFile, never_cancelled, no_progress
from viewer.compat.torq_logger import original as original_logger
from viewer.compat.torq_logger.charts import (
    COMPILE_PROCESS,
    MlirSource,
    TorqChart,
    TorqOverview,
    compile_chart,
    runtime_chart,
)
from viewer.compat.torq_logger.time_chart import (
    TYPE_SLICE_BEGIN,
    TYPE_SLICE_END,
    TimeChartLog,
    TimeChartView,
)
from viewer.formats import open_file
from viewer.formats.torq import compile_csv as torq_compile_csv
from viewer.formats.torq import runtime_csv as torq_runtime_csv
from viewer.model.building.builder import TraceBuilder
from viewer.model.times import tick_to_ns
from viewer.model.trace import Trace
from viewer.program.program import Program
from viewer.program.source_files import short_names

__all__ = [
    "TYPE_SLICE_BEGIN",
    "TYPE_SLICE_END",
    "TimeChartLog",
    "TimeChartView",
    "convert_to_perfetto",
    "csv_to_view_compile_profile",
    "csv_to_view_runtime_profile",
    "main",
]

Logs = Mapping[str, str | os.PathLike[str]] | Sequence[str | os.PathLike[str]]

_OF_ITS_TIME = "of its time"  # each file as the revision of its time
_COMPILE, _RUNTIME = torq_compile_csv.FORMAT.name, torq_runtime_csv.FORMAT.name


# -- the documented functions --------------------------------------------------------------------


def csv_to_view_compile_profile(
    view_name: str,
    view: TimeChartView,
    csv_path: str | os.PathLike[str],
    num_slices: int = 2,
    *,
    mlir_path: str | os.PathLike[str] | None = None,
) -> None:
    """Render a compile profile into a view, as process `view_name`.

    Args:
        view_name: The name of the process.
        view: Where the slices go.
        csv_path: What `torq-compile --torq-dump-profiling` wrote.
        num_slices: The number of threads for the numbered slices of a C0 profile; later generations
            state their unit.
        mlir_path: The source whose operators name the rows of C2 and C3.

    Raises:
        UnreadableFile: If the profile or the source cannot be read.
        ValueError: For `num_slices` below 1.

    Source:
        The function of the same name in Torq's perfetto_logger.py.
    """
    source = None if mlir_path is None else _source(os.fspath(mlir_path))
    trace = _read(os.fspath(csv_path), _COMPILE)
    _render(view, view_name, compile_chart(trace, view_name, num_slices, source))


def csv_to_view_runtime_profile(
    view_name: str, view: TimeChartView, csv_path: str | os.PathLike[str]
) -> None:
    """Render a runtime profile into a view, as process `view_name` with a thread per job ID.

    Args:
        view_name: The name of the process.
        view: Where the slices go.
        csv_path: What `--torq_profile` wrote.

    Raises:
        UnreadableFile: If the profile cannot be read.

    Source:
        The function of the same name in Torq's perfetto_logger.py.
    """
    trace = _read(os.fspath(csv_path), _RUNTIME)
    _render(view, view_name, runtime_chart(trace, view_name))


def convert_to_perfetto(
    compile_profile_logs: Logs,
    runtime_profile_logs: Logs,
    pb_path: str | os.PathLike[str],
    num_slices: int = 2,
) -> Path:
    """Write a trace of several profiles, each with its overview.

    Logs map names to CSV paths, or are only paths, which are then named after their files.

    Args:
        compile_profile_logs: Compile profiles.
        runtime_profile_logs: Runtime profiles.
        pb_path: The trace to write. If anything fails, an existing file stays unchanged.
        num_slices: As for `csv_to_view_compile_profile`.

    Returns:
        The path of the trace.

    Raises:
        UnreadableFile: If a profile cannot be read.
        OSError: If the trace cannot be written.
        ValueError: For `num_slices` below 1.

    Source:
        The function of the same name in Torq's perfetto_logger.py.
    """
    view = TimeChartView(pb_path)
    jobs = [*_jobs(compile_profile_logs, _COMPILE), *_jobs(runtime_profile_logs, _RUNTIME)]
    for number, (name, path, kind) in enumerate(jobs, 1):
        _convert(view, _read(path, kind), name, number, len(jobs), num_slices, None)
    view.flush()
    return Path(pb_path)


def _jobs(logs: Logs, kind: str) -> list[tuple[str, str, str]]:
    if isinstance(logs, Mapping):
        return [(name, os.fspath(path), kind) for name, path in logs.items()]
    return [(os.path.basename(path), os.fspath(path), kind) for path in logs]


def _convert(
    view: TimeChartView,
    trace: Trace,
    name: str,
    number: int,
    count: int,
    num_slices: int,
    source: MlirSource | None,
) -> TorqOverview:
    """Render one file and its overview with the names that the original of its time used."""
    alone = count == 1
    if trace.generation in ("C2", "C3"):
        process = COMPILE_PROCESS if alone else f"{number:02d} {COMPILE_PROCESS} {name}"
    elif trace.generation == "C1" and alone:
        process = name
    else:
        process = f"{number:02d} {name}"
    if trace.format == _COMPILE:
        chart = compile_chart(trace, process, num_slices, source)
    else:
        chart = runtime_chart(trace, process)
    _render(view, process, chart)
    first, rate = chart.overview.start, chart.ns_per_figure
    for thread, text, time, in_category in chart.overview.slices():
        start, end = (tick_to_ns(tick, rate) for tick in (first, first + time))
        category = "overview" if in_category else ""
        view.render(TimeChartLog(f"{process} Overview", thread, text, start, end, category))
    return chart.overview


def _render(view: TimeChartView, process: str, chart: TorqChart) -> None:
    for thread in chart.threads:
        view.add_thread_descriptor(process, thread)
    for columns in chart.columns:
        if len(columns.start):
            view.render_columns(columns)


# -- files ---------------------------------------------------------------------------------------


def _read(path: str, kind: str) -> Trace:
    """Return the trace of a profile of one kind. Raises UnreadableFile, also for other files."""
    if kind == _COMPILE and _is_empty(path):
        # C0 and C1 have no header, so the profile of a model without work is an empty file.
        return TraceBuilder(path, kind, "C0", torq_compile_csv.CLOCK).build()
    # The original writes the overview of a profile without rows.
    opened = open_file(path, no_progress, never_cancelled, may_be_empty=True)
    if not isinstance(opened, Trace) or opened.format != kind:
        raise UnreadableFile(
            path,
            f"this is no {kind} but {opened.format}",
            remedy="opscope export converts all that Opscope opens",
        )
    return opened


def _is_empty(path: str) -> bool:
    try:
        return os.path.isfile(path) and os.path.getsize(path) == 0
    except (OSError, ValueError):
        return False


def _mlir(path: str) -> Program:
    program = open_file(path, no_progress, never_cancelled)
    if not isinstance(program, Program) or not program.text_lines:
        raise UnreadableFile(path, f"this is no MLIR text but {program.format}")
    return program


def _source(path: str) -> MlirSource:
    return MlirSource(os.path.basename(path), _mlir(path).operation_places)


# -- the command line ----------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: Those after the name of the program; by default those of the process.

    Returns:
        The exit code: 0, 1 if a file cannot be read or written, or 2 for wrong usage.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    parser = _parser()
    chosen = parser.parse_args(arguments)
    if chosen.files:
        parser.error(
            f"{chosen.files[0]}: say what it is, --compile_profile or --runtime_profile; host "
            "profiles and folders of debug info are for opscope export FILES --debug-info DIR "
            "-o OUT.pftrace"
        )
    mlir = [chosen.mlir] if chosen.mlir else []
    for path in (*chosen.compile_profile, *chosen.runtime_profile, *mlir):
        if is_same_file(path, chosen.pb):
            parser.error(f"{chosen.pb}: this is one of the files to read, and would be lost")
    try:
        return (_original if chosen.compat else _right)(chosen, parser.error)
    except OSError as error:
        _complain(f"{chosen.pb}: it cannot be written ({error.strerror or error})")
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m viewer.compat.perfetto_logger",
        description="Torq profile CSVs as one Perfetto trace, with the overview of each file.",
    )
    parser.add_argument(
        "--compile_profile",
        nargs="+",
        default=[],
        metavar="CSV",
        help="what torq-compile --torq-dump-profiling wrote: C0 to C3",
    )
    parser.add_argument(
        "--runtime_profile",
        nargs="+",
        default=[],
        metavar="CSV",
        help="NSS jobs, as --torq_profile wrote them: R0, R1; for host profiles use opscope export",
    )
    # Later versions of the original took files, then a debug-info folder, without an option.
    parser.add_argument("files", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--pb", required=True, metavar="OUT", help="the trace to write")
    parser.add_argument(
        "--mlir", metavar="FILE", help="the .mlir that the locations of C2 and C3 point into"
    )
    parser.add_argument(
        "--compat",
        nargs="?",
        const=_OF_ITS_TIME,
        choices=(_OF_ITS_TIME, *original_logger.FORMS),
        metavar="REVISION",
        help="write exactly what the original wrote, faults included: C0 and R0 as f63e303, "
        "C1 as 36d5652, with R0 as 8e135dc, C2 as 183cae4; or as the given revision, such as "
        "8e135dc for C1 alone",
    )
    return parser


def _complain(text: str) -> None:
    print(f"perfetto_logger: {text}", file=sys.stderr)


def _right(chosen: argparse.Namespace, _: Callable[[str], object]) -> int:
    failed = False
    source = None
    if chosen.mlir:
        try:
            source = _source(chosen.mlir)
        except UnreadableFile as error:
            _complain(str(error))
            failed = True
    inputs = [(path, _COMPILE) for path in chosen.compile_profile]
    inputs += [(path, _RUNTIME) for path in chosen.runtime_profile]
    titles = short_names(path for path, _ in inputs)
    view = TimeChartView(chosen.pb)
    printed = []
    for number, (path, kind) in enumerate(inputs, 1):
        try:
            trace = _read(path, kind)
        except UnreadableFile as error:
            _complain(str(error))
            failed = True
            continue
        for problem in trace.problems:
            _complain(f"note: {path}: {problem.count} × {problem.kind} ({problem.first})")
        name = os.path.basename(path)
        overview = _convert(view, trace, name, number, len(inputs), 2, source)
        printed.append(overview.printed(titles[path]))
    if inputs and not printed:
        return 1
    view.flush()
    print("".join(printed), end="")
    _print_done(chosen.pb)
    return 1 if failed else 0


def _original(chosen: argparse.Namespace, wrong_usage: Callable[[str], object]) -> int:
    try:
        compiled = [_read(path, _COMPILE).generation for path in chosen.compile_profile]
        measured = [_read(path, _RUNTIME).generation for path in chosen.runtime_profile]
        form = original_logger.form_of(compiled, measured)
        if chosen.compat not in (_OF_ITS_TIME, form):
            is_readable = original_logger.can_read(chosen.compat, compiled, measured)
            form = chosen.compat if is_readable else None
        if form is None:
            kinds = ", ".join(sorted({*compiled, *measured}))
            wrong_usage(f"--compat: no original reads these files together: {kinds}")
            return 2
        lines = _mlir(chosen.mlir).text_lines if chosen.mlir else ()
        with replacing(chosen.pb) as file:
            printed = original_logger.write(
                form, chosen.compile_profile, chosen.runtime_profile, lines, file
            )
    except UnreadableFile as error:
        _complain(str(error))
        return 1
    print(printed, end="")
    if form != "183cae4":  # its function printed the overviews, but it had no working command line
        _print_done(chosen.pb)
    return 0


def _print_done(path: str) -> None:
    print(f"\n✓ Perfetto trace generated: {path}")


if __name__ == "__main__":
    sys.exit(main())
