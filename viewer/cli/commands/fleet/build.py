"""`opscope fleet build`: reads profiles into a lake, on this machine or on a Dask cluster."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import TYPE_CHECKING

from viewer.cli.arguments import Parser, complain
from viewer.cli.commands.fleet.lake import code_of_losses
from viewer.cli.output import ProgressLine
from viewer.codecs.ending import raised_at_signals
from viewer.codecs.memory_budget import parse_limit
from viewer.fleet.engine import Engine, EngineLost, InProcess, LocalProcesses
from viewer.fleet.manifest_lines import DONE, FAILED, KEPT, PARTITIONS, REFUSED, UnitOutcome
from viewer.fleet.schemas import ALWAYS, DEFAULT_TABLES, TABLES
from viewer.fleet.sources import NoSource, PathPattern, WrongDimensions, read_labels
from viewer.model.text import bytes_text
from viewer.model.times import counted, group_digits

if TYPE_CHECKING:
    from viewer.fleet.build import Progress

_MEMORY = 400_000_000
_SHOWN_S = 0.25
_MOST_SHOWN = 20


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.tables if name not in TABLES]
    if unknown:
        parser.error(f"--tables {unknown[0]}: the tables are {', '.join(TABLES)}")
    if chosen.workers is not None and chosen.workers < 1:
        parser.error(f"--workers {chosen.workers}: it must be at least 1")
    if chosen.jobs < 1:
        parser.error(f"--jobs {chosen.jobs}: it must be at least 1")
    if (chosen.scheduler or chosen.workers) and chosen.worker_memory:
        parser.error(
            "--worker-memory applies only to --jobs: dask worker --memory-limit limits Dask workers"
        )
    if chosen.scheduler and chosen.workers:
        parser.error("--scheduler and --workers cannot be used together")
    try:
        labels = {} if chosen.labels is None else read_labels(chosen.labels)
        if chosen.from_path is not None:
            PathPattern(chosen.from_path)
        memory = parse_limit(chosen.worker_memory) if chosen.worker_memory else _MEMORY
    except WrongDimensions as error:
        parser.error(str(error))
    except ValueError as error:
        parser.error(f"--worker-memory: {error}")
    from viewer.fleet.build import BuildOptions, build
    from viewer.fleet.engine import DaskCluster, NoDask
    from viewer.fleet.lake import UnusableLake

    options = BuildOptions(
        tuple(chosen.sources),
        tuple(chosen.tables),
        chosen.records,
        chosen.from_path,
        labels,
        chosen.partition_by,
        chosen.resume,
    )

    def engine(batches: int) -> Engine:
        if chosen.scheduler or chosen.workers:
            return DaskCluster(chosen.scheduler, chosen.workers or 0)
        if any(source.startswith("memory://") for source in chosen.sources):
            return InProcess()  # other processes have a memory of their own
        return LocalProcesses(min(chosen.jobs, batches), memory)

    report = _Report(chosen.json_progress)
    try:
        with raised_at_signals():
            lake, progress = build(chosen.output, options, engine, report.told)
        lake.check()
    except (NoSource, UnusableLake, EngineLost, NoDask) as error:
        complain(str(error))
        return 2
    except OSError as error:
        complain(f"{chosen.output}: the lake cannot be written ({error.strerror or error})")
        return 2
    except KeyboardInterrupt:
        report.end()
        complain(f"interrupted; build {chosen.output} again to go on: what is done is kept")
        return 1
    report.end(progress)
    print(_summary(progress, chosen.output))
    if progress.unlabeled:
        complain(
            f"{group_digits(len(progress.unlabeled))} of {counted(progress.total, 'profile')} do "
            f"not match --from-path, such as {progress.unlabeled[0]}"
        )
    code_of_losses(lake, strict=False)
    return 1 if progress.failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="opscope fleet build",
        description="Read the profiles in folders and at URLs into a lake. What the lake has "
        "already is kept: a profile counts as unchanged if its path, size and modification time, "
        "and those of its ETRecords and run.json, are the same; if they are not, its content "
        "decides.",
    )
    parser.add_argument("sources", nargs="+", metavar="SOURCE", help="a folder, file or URL")
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="LAKE",
        help="folder of the lake, or s3://BUCKET/LAKE",
    )
    parser.add_argument(
        "--records",
        metavar="FOLDER",
        help="ETRecords and program files for all profiles, instead of those next to each",
    )
    parser.add_argument(
        "--tables",
        type=lambda text: [name for name in text.split(",") if name],
        default=list(DEFAULT_TABLES),
        metavar="NAMES",
        help=f"comma-separated, of {', '.join(TABLES)} (default: {','.join(DEFAULT_TABLES)}); "
        f"{' and '.join(ALWAYS)} are always written",
    )
    parser.add_argument(
        "--from-path",
        metavar="PATTERN",
        help='take device, build, model and tags from the path, such as "{device}/{build}/'
        '{name}.etdp"; it overrides run.json',
    )
    parser.add_argument(
        "--labels",
        metavar="CSV",
        help='take them from a table with the column "file" (a path below SOURCE, or a name) and '
        "device, build, model or tags; it overrides both",
    )
    parser.add_argument(
        "--partition-by",
        choices=PARTITIONS,
        help="write a folder for each value, such as build=1203, below those of the tables",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes on this machine (default: one per processor)",
    )
    parser.add_argument("--scheduler", metavar="ADDRESS", help="a Dask scheduler: tcp://HOST:PORT")
    parser.add_argument(
        "--workers", type=int, metavar="N", help="start N Dask workers on this machine"
    )
    parser.add_argument(
        "--worker-memory",
        metavar="SIZE",
        help="with --jobs: most memory of a process, such as 1G (default: 400M); larger "
        "profiles are refused",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="also leave out profiles that failed before; by default, they are tried again",
    )
    parser.add_argument(
        "--json-progress",
        action="store_true",
        help="print progress to stderr as JSON, one object per line",
    )
    return parser


class _Report:
    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._line = ProgressLine()
        self._last = 0.0
        self._failures = 0

    def told(self, progress: Progress, outcome: UnitOutcome | None) -> None:
        """Print where a build is."""
        if outcome is not None and outcome.reason:
            self._failures += 1
            if self._as_json:
                self._print({"failed": outcome.source, "reason": outcome.reason})
            elif self._failures <= _MOST_SHOWN:
                self._line.end()
                complain(outcome.reason)
        self._show(progress)

    def end(self, progress: Progress | None = None) -> None:
        """Print the last state."""
        if progress is not None:
            self._last = 0.0
            self._show(progress)
        self._line.end("" if progress is None or self._as_json else _progress_text(progress))
        if self._failures > _MOST_SHOWN and not self._as_json:
            complain(f"{self._failures - _MOST_SHOWN} more failures: opscope fleet status LAKE")

    def _show(self, progress: Progress) -> None:
        if not self._as_json:
            self._line.show(_progress_text(progress))
        elif time.monotonic() - self._last >= _SHOWN_S:
            self._last = time.monotonic()
            left = progress.seconds_left
            self._print(
                {
                    "total": progress.total,
                    "done": progress.states[DONE],
                    "kept": progress.states[KEPT],
                    "failed": progress.states[FAILED],
                    "refused": progress.states[REFUSED],
                    "bytes": progress.size,
                    "seconds": round(progress.seconds, 3),
                    "rate": round(progress.rate, 1),
                    "seconds_left": None if left is None else round(left, 1),
                }
            )

    def _print(self, facts: dict[str, object]) -> None:
        print(json.dumps(facts), file=sys.stderr, flush=True)


def _progress_text(progress: Progress) -> str:
    left = progress.seconds_left
    text = f"{progress.ended} of {progress.total}, {progress.failed} failed, "
    text += f"{progress.rate:.0f} per second, {bytes_text(progress.size)}"
    return text + ("" if left is None else f", {left:.0f} s left")


def _summary(progress: Progress, lake: str) -> str:
    states = progress.states
    parts = [f"{lake}: {group_digits(states[DONE])} of {counted(progress.total, 'profile')} added"]
    parts += [f"{group_digits(states[KEPT])} kept"] if states[KEPT] else []
    parts += [f"{group_digits(progress.failed)} failed"] if progress.failed else []
    parts += [f"{counted(progress.others, 'other file')} skipped"] if progress.others else []
    return ", ".join(parts)
