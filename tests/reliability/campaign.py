"""Runs the jobs of a campaign, each in its own process, and collects one row of the table for each.

An area is a module or package of `tests.reliability` with a function `jobs(options)`. Each job
checks one thing (one format, one kind of fault) and returns what it found. A job that crashes or
exceeds its time limit is a finding itself.
"""

from __future__ import annotations

import importlib
import multiprocessing
import multiprocessing.connection
import os
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

# The longest first: no processor waits for it at the end.
AREAS = ("properties", "soak", "fuzz", "lakes", "losses", "limits", "faults", "security")


@dataclass(frozen=True, slots=True)
class Options:
    """What to run.

    findings: the folder for inputs that cause a finding; fuzz_seconds: the processor time of each
    kind of file in a short run.
    """

    is_long: bool
    seed: int
    findings: Path
    fuzz_seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect. repeat: the command or file that shows it again."""

    what: str
    repeat: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a job did. count: inputs, kills or actions; figures: the largest values measured."""

    count: int
    findings: tuple[Finding, ...] = ()
    figures: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """One row of the table. run: a module-level function, called as run(options, *arguments).

    limit: seconds until the job counts as hanging. Larger jobs come first in `jobs`, because they
    start in that order. is_forked: whether the process begins with what this one has imported,
    which takes a second of processor time; for jobs that need neither Qt nor threads.
    """

    area: str
    name: str
    run: Callable[..., Outcome]
    arguments: tuple[object, ...] = ()
    limit: float = 600.0
    is_forked: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table: a job, its outcome and its duration in seconds."""

    job: Job
    outcome: Outcome
    seconds: float


@dataclass(slots=True)
class _Running:
    job: Job
    process: BaseProcess
    results: Connection
    began: float = field(default_factory=time.monotonic)


def jobs_of(areas: Sequence[str], options: Options) -> list[Job]:
    """Return the jobs of some areas."""
    found: list[Job] = []
    for area in areas:
        found += importlib.import_module(f"tests.reliability.{area}").jobs(options)
    return found


def run(jobs: Iterable[Job], options: Options, at_once: int = 0) -> Iterator[Row]:
    """Run jobs in processes, `at_once` at a time; yield their rows.

    The default is one more than the processors, since many jobs wait for other programs.
    """
    waiting = list(jobs)
    running: list[_Running] = []
    at_once = at_once or (os.cpu_count() or 1) + 1
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                running.append(_start(waiting.pop(0), options))
            soonest = min(one.began + one.job.limit for one in running)
            multiprocessing.connection.wait(
                [one.results for one in running], max(soonest - time.monotonic(), 0)
            )
            for one in tuple(running):
                outcome = _outcome(one)
                if outcome is not None:
                    running.remove(one)
                    yield Row(one.job, outcome, time.monotonic() - one.began)
    finally:
        for one in running:
            one.process.kill()


def _start(job: Job, options: Options) -> _Running:
    # A fresh interpreter for most: Qt and threads do not survive a fork.
    context = multiprocessing.get_context("fork" if job.is_forked else "spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_in_process, args=(job, options, theirs))
    process.start()
    theirs.close()
    return _Running(job, process, ours)


def _in_process(job: Job, options: Options, results: Connection) -> None:
    try:
        outcome = job.run(options, *job.arguments)
    except BaseException:  # whatever ends a job is a row of the table
        outcome = Outcome(0, (Finding(f"the job failed: {traceback.format_exc(limit=-3)}"),))
    results.send(outcome)


def _outcome(one: _Running) -> Outcome | None:
    """Return the outcome of a job that has ended or run too long, None for others."""
    if one.results.poll():
        try:
            outcome: Outcome = one.results.recv()
        except EOFError:
            one.process.join(timeout=60)
            outcome = Outcome(0, (Finding(f"the process died, exit code {one.process.exitcode}"),))
        one.process.join(timeout=60)
        return outcome
    if time.monotonic() < one.began + one.job.limit:
        return None
    one.process.kill()
    one.process.join(timeout=60)
    return Outcome(0, (Finding(f"no end after {one.job.limit:.0f} s"),))
