"""Exports every profile of a folder in parallel: `opscope export --jobs N FOLDER -o OUT`.

`viewer.fleet` finds the profiles with their ETRecords, and runs a task for each in a process. A
failure is reported and stops nothing else, not even a file that crashes its worker. The workers
share the memory budget evenly; a profile that needs more is written alone, at the end. No Qt.
"""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache, partial

from viewer.cli.arguments import internal_error
from viewer.codecs.atomic_file import remove_parts
from viewer.codecs.memory_budget import BUDGET
from viewer.codecs.reading import FileTooLarge, UnreadableFile, never_cancelled, no_progress
from viewer.dataclasses import dataclass
from viewer.fleet.engine import LocalProcesses, undivided
from viewer.fleet.sources import MOST_RECORDS, RecordIndex, find_profiles
from viewer.formats import open_file
from viewer.formats.memory import retain_freed
from viewer.model.trace import Trace
from viewer.program.executables import Executable
from viewer.program.program import Program
from viewer.workspace.exports import NothingToExport, prepare
from viewer.workspace.workspace import Workspace

_KEPT_RECORDS = 8  # cache size per process, since the profiles of a folder share them
ENDED = "its worker process crashed; the file may be damaged, or too large for the memory"


@dataclass(frozen=True, slots=True)
class ExportTask:
    """A profile to write to a target, and the ETRecords that it may be linked with."""

    profile: str
    records: tuple[str, ...]
    target: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a task: the number of slices or rows written, or the failure; and warnings.

    too_large: its profile did not fit the memory of its worker.
    """

    task: ExportTask
    count: int = 0
    failure: str = ""
    warnings: tuple[str, ...] = ()
    too_large: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """The tasks of a folder, the unreadable files, and the number of files of other kinds."""

    tasks: tuple[ExportTask, ...]
    unreadable: tuple[str, ...]
    others: int


Work = Callable[[ExportTask, str, str | None, bool], Outcome]


def plan(folder: str, out: str, suffix: str) -> Plan:
    """Find the tasks in a folder and its subfolders; symlinks to folders are not followed.

    Targets have the same relative paths below `out` as the profiles below `folder`. If two would be
    equal, they keep the extensions of their profiles. Files in `out` are ignored.
    """
    sources = find_profiles([folder], leave_out=out)
    preferred = [
        _target(out, os.path.splitext(p.file.relative)[0], suffix) for p in sources.profiles
    ]
    target_counts = Counter(map(os.path.normcase, preferred))
    tasks = []
    for profile, target in zip(sources.profiles, preferred, strict=True):
        if target_counts[os.path.normcase(target)] > 1:
            target = _target(out, profile.file.relative, suffix)
        path = os.path.join(folder, profile.file.relative)
        records = tuple(
            os.path.join(os.path.dirname(path), record.name) for record in profile.records
        )
        tasks.append(ExportTask(path, records, target))
    return Plan(tuple(tasks), tuple(reason for _, reason in sources.unreadable), sources.others)


def _target(out: str, relative: str, suffix: str) -> str:
    return os.path.join(out, *relative.split("/")) + suffix


def run(
    tasks: Sequence[ExportTask],
    jobs: int,
    table: str,
    by: str | None,
    report: Callable[[Outcome], None],
    work: Work | None = None,
    *,
    raw: bool = False,
) -> list[Outcome]:
    """Write all tasks, `jobs` at a time, and return the outcomes in the order of the tasks.

    table, by, raw: as in `prepare`. told: called with each outcome as it completes. work: the
    function that a worker process runs on a task, `write` by default; it must be a module-level
    function.
    """
    mark = secrets.token_hex(8)
    outcomes: dict[ExportTask, Outcome] = {}
    large: list[ExportTask] = []
    on_task = partial(_on_task, work or write, table, by, raw)

    def run_all(export_tasks: Sequence[ExportTask], count: int, *, is_last: bool) -> int:
        """Run tasks; returns how often a worker crashed."""
        count = min(count, max(len(export_tasks), 1))
        workers = LocalProcesses(count, BUDGET.available() // count, mark)
        try:
            for task, result in workers.run(export_tasks, on_task, undivided):
                if result is not None and result.too_large and not is_last:
                    large.append(task)
                    continue
                outcome = result or Outcome(task, failure=f"{task.profile}: {ENDED}")
                outcomes[task] = outcome
                report(outcome)
        finally:
            workers.close()
        return workers.crashes

    crashes = run_all(tasks, jobs, is_last=jobs == 1)
    # Workers share the memory; alone, a task may use all of it.
    crashes += run_all(large, 1, is_last=True) if large else 0
    if crashes:
        for folder in {os.path.dirname(task.target) for task in tasks}:
            remove_parts(folder, mark)
    return [outcomes[task] for task in tasks]


def _on_task(work: Work, table: str, by: str | None, raw: bool, task: ExportTask) -> Outcome:
    return work(task, table, by, raw)


def write(task: ExportTask, table: str, by: str | None, raw: bool) -> Outcome:
    """Write one profile, in a worker process. Never raises an Exception."""
    retain_freed()
    warnings: list[str] = []
    try:
        space = Workspace()
        trace = space.open(task.profile)
        closest, unreadable = _closest(trace, task.records)
        warnings += unreadable
        for path in closest:
            try:
                space.add(_record(path, os.stat(path).st_mtime_ns))
            except (UnreadableFile, OSError) as error:
                warnings.append(str(error))
        warnings += space.open_companions()
        if isinstance(trace, Trace):
            warnings += space.warnings(space.traces[0])
        os.makedirs(os.path.dirname(task.target) or ".", exist_ok=True)
        job = prepare(space, task.target, table=table, by=by, raw=raw)
        count = job(no_progress, never_cancelled)
    except (UnreadableFile, NothingToExport) as error:
        text = str(error)
        failure = text if text.startswith(task.profile) else f"{task.profile}: {text}"
        return Outcome(task, 0, failure, tuple(warnings), isinstance(error, FileTooLarge))
    except OSError as error:
        return Outcome(task, failure=f"{task.target}: {error.strerror or error}")
    except Exception as error:  # a bug with one file must not affect the others
        return Outcome(task, failure=internal_error(task.profile, error))
    return Outcome(task, count, warnings=tuple(warnings))


def _closest(
    item: Trace | Program | Executable, paths: tuple[str, ...]
) -> tuple[Sequence[str], Sequence[str]]:
    """The records to compare with a profile, of many those that fit best; why others are not."""
    if len(paths) <= MOST_RECORDS or not isinstance(item, Trace):
        return paths, ()
    index, unreadable = _index(paths)
    return [paths[number] for number in index.closest(item)], unreadable


@lru_cache(maxsize=1)
def _index(paths: tuple[str, ...]) -> tuple[RecordIndex, Sequence[str]]:
    """Read many records once; also why some cannot be read."""
    index, unreadable = RecordIndex(), []
    for number, path in enumerate(paths):
        try:
            record = open_file(path)
        except (UnreadableFile, OSError) as error:
            unreadable.append(str(error))
            continue
        if not isinstance(record, Trace):
            index.add(number, record)
    return index, unreadable


@lru_cache(maxsize=_KEPT_RECORDS)
def _record(path: str, _changed: int) -> Trace | Program | Executable:
    return open_file(path)
