"""Exports every profile of a folder in parallel: `opscope export --jobs N FOLDER -o OUT`.

Each profile is written by a worker process, together with the ETRecords in its folder: the one with
its name, otherwise all of them if they are few, linked by match as in the window. A failure is
reported and stops nothing else, not even a file that crashes its worker. The workers share the
memory budget evenly; a profile that needs more than that is written alone, at the end. No Qt.
"""

from __future__ import annotations

import multiprocessing
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache, partial

from viewer.cli.arguments import internal_error
from viewer.codecs.atomic_file import is_same_file, mark_parts, remove_parts
from viewer.codecs.memory_budget import BUDGET
from viewer.codecs.reading import FileTooLarge, UnreadableFile
from viewer.formats import HEAD_SIZE, choose, open_file
from viewer.formats.memory import retain_freed
from viewer.model.trace import Trace
from viewer.program.executable.executable import Executable
from viewer.program.program import Program
from viewer.workspace.exports import NothingToExport, export
from viewer.workspace.workspace import Workspace

# ETRecords of other names to try for a profile; each is read and compared with it.
MOST_RECORDS = 8
_KEPT_RECORDS = 8  # cache size per process, since the profiles of a folder share them
# With these extensions, an unreadable file is a failure; otherwise it is not a profile.
_SURELY = (".etdp", ".etdump", ".pftrace")
ENDED = "its worker process crashed; the file may be damaged, or too large for the memory"


@dataclass(frozen=True, slots=True)
class ExportTask:
    """A profile to write to a target, and the ETRecords to link it with.

    note: why there are none, if that needs an explanation.
    """

    profile: str
    records: tuple[str, ...]
    target: str
    note: str = ""


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
    profiles: list[str] = []
    records: dict[str, list[str]] = {}
    unreadable, others = [], 0
    for path in _files(folder, out):
        try:
            with open(path, "rb") as file:
                kind = choose(file.read(HEAD_SIZE), path)
        except UnreadableFile as error:
            if path.lower().endswith(_SURELY):
                unreadable.append(str(error))
            else:
                others += 1
            continue
        except OSError as error:
            unreadable.append(f"{path}: it cannot be read ({error.strerror})")
            continue
        if kind.kind == "trace":
            profiles.append(path)
        elif path.lower().endswith(kind.suffixes) and kind.name != "Python source":
            records.setdefault(os.path.dirname(path), []).append(path)
    preferred = [_target(folder, out, path, suffix) for path in profiles]
    target_counts = Counter(os.path.normcase(target) for target in preferred)
    tasks = []
    for path, target in zip(profiles, preferred, strict=True):
        if target_counts[os.path.normcase(target)] > 1:
            target = os.path.join(out, os.path.relpath(path, folder)) + suffix
        chosen, note = _records_of(path, records.get(os.path.dirname(path), ()))
        tasks.append(ExportTask(path, chosen, target, note))
    return Plan(tuple(tasks), tuple(unreadable), others)


def _files(folder: str, out: str) -> Iterable[str]:
    """Yield regular files below a folder, by name, except those in `out` and hidden ones."""
    for place, inside, names in os.walk(folder):
        inside[:] = sorted(
            name
            for name in inside
            if not name.startswith(".") and not is_same_file(os.path.join(place, name), out)
        )
        for name in sorted(names):
            path = os.path.join(place, name)
            if not name.startswith(".") and os.path.isfile(path):
                yield path


def _target(folder: str, out: str, path: str, suffix: str) -> str:
    stem = os.path.splitext(os.path.relpath(path, folder))[0]
    return os.path.join(out, stem) + suffix


def _records_of(profile: str, nearby: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Return the ETRecord of a profile's own name, else all in its folder; or why none."""
    stem = os.path.splitext(os.path.basename(profile))[0]
    own = [path for path in nearby if os.path.splitext(os.path.basename(path))[0] == stem]
    if own or len(nearby) <= MOST_RECORDS:
        return tuple(own or nearby), ""
    return (), f"not linked: none of the {len(nearby)} ETRecords in its folder has its name"


def run(
    tasks: Sequence[ExportTask],
    jobs: int,
    table: str,
    by: str | None,
    told: Callable[[Outcome], None],
    work: Work | None = None,
    *,
    raw: bool = False,
) -> list[Outcome]:
    """Write all tasks, `jobs` at a time, and return the outcomes in the order of the tasks.

    table, by, raw: as in `export`. told: called with each outcome as it completes. work: the
    function that a worker process runs on a task, `write` by default; it must be a module-level
    function.
    """
    work = work or write
    mark = secrets.token_hex(8)
    found: dict[ExportTask, Outcome] = {}
    large: list[ExportTask] = []

    def take(outcome: Outcome) -> None:
        found[outcome.task] = outcome
        told(outcome)

    def take_or_repeat(outcome: Outcome) -> None:
        if outcome.too_large:
            large.append(outcome.task)
        else:
            take(outcome)

    run_all = partial(_run, table=table, by=by, raw=raw, work=work, mark=mark)
    lost = run_all(tasks, jobs, take=take_or_repeat if jobs > 1 else take)
    # Workers share the memory; alone, a task may use all of it.
    lost += run_all(large, 1, take=take) if large else []
    # A task crashed its process and thereby broke the pool: rerunning each alone finds out which.
    for task in lost:
        if run_all([task], 1, take=take):
            take(Outcome(task, failure=f"{task.profile}: {ENDED}"))
    if lost:
        for folder in {os.path.dirname(task.target) for task in tasks}:
            remove_parts(folder, mark)
    return [found[task] for task in tasks]


def _run(
    tasks: Sequence[ExportTask],
    jobs: int,
    *,
    table: str,
    by: str | None,
    raw: bool,
    take: Callable[[Outcome], None],
    work: Work,
    mark: str,
) -> list[ExportTask]:
    """Run tasks in a process pool; return those that did not finish because the pool broke."""
    spawn = multiprocessing.get_context("spawn")  # forking with Qt or threads is unsafe
    lost: list[ExportTask] = []
    count = min(jobs, max(len(tasks), 1))
    start = (mark, BUDGET.available() // count)
    with ProcessPoolExecutor(count, spawn, initializer=_begin, initargs=start) as pool:
        pending: dict[Future[Outcome], ExportTask] = {}
        try:
            for task in tasks:
                pending[pool.submit(work, task, table, by, raw)] = task
        except BrokenProcessPool:
            pass
        lost += tasks[len(pending) :]
        try:
            for future in as_completed(pending):
                try:
                    take(future.result())
                except BrokenProcessPool:
                    lost.append(pending[future])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [task for task in tasks if task in set(lost)]


def _begin(mark: str, most: int) -> None:
    """Prepare a worker process, which may use `most` bytes of memory."""
    mark_parts(mark)
    BUDGET.limit(most)


def write(task: ExportTask, table: str, by: str | None, raw: bool) -> Outcome:
    """Write one profile, in a worker process. Never raises an Exception."""
    retain_freed()
    warnings = [f"{task.profile}: {task.note}"] if task.note else []
    try:
        space = Workspace()
        trace = space.open(task.profile)
        for path in task.records:
            try:
                space.add(_record(path, os.stat(path).st_mtime_ns))
            except (UnreadableFile, OSError) as error:
                warnings.append(str(error))
        warnings += space.open_companions()
        if isinstance(trace, Trace):
            warnings += space.warnings(space.traces[0])
        os.makedirs(os.path.dirname(task.target) or ".", exist_ok=True)
        count = export(space, task.target, table=table, by=by, raw=raw)
    except (UnreadableFile, NothingToExport) as error:
        text = str(error)
        failure = text if text.startswith(task.profile) else f"{task.profile}: {text}"
        return Outcome(task, 0, failure, tuple(warnings), isinstance(error, FileTooLarge))
    except OSError as error:
        return Outcome(task, failure=f"{task.target}: {error.strerror or error}")
    except Exception as error:  # a bug with one file must not affect the others
        return Outcome(task, failure=internal_error(task.profile, error))
    return Outcome(task, count, warnings=tuple(warnings))


@lru_cache(maxsize=_KEPT_RECORDS)
def _record(path: str, _changed: int) -> Trace | Program | Executable:
    return open_file(path)
