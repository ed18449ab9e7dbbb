"""Runs tasks in processes on this machine, with the standard library alone.

A process that crashes breaks its whole pool, and nothing tells which task it ran. So only a few
tasks are in the pool at a time. When it breaks, these run again, each in a pool of one process; the
rest goes on in a new pool.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice

from viewer.codecs.atomic_file import mark_parts
from viewer.codecs.memory_budget import BUDGET
from viewer.fleet.engines.engine import Result, Task

# Tasks in a pool per process: enough that no process waits for the next.
_AHEAD = 2


class LocalProcesses:
    """A pool of processes. jobs: how many. most: bytes of memory for each, None for no limit.

    mark: for the names of temporary files, as of `mark_parts`.
    """

    def __init__(self, jobs: int, most: int | None = None, mark: str = "") -> None:
        self.jobs, self._start = jobs, (mark, most)
        self._pool: ProcessPoolExecutor | None = None
        self._alone: ProcessPoolExecutor | None = None
        self.crashes = 0

    def run(
        self,
        tasks: Iterable[Task],
        work: Callable[[Task], Result],
        divided: Callable[[Task], Sequence[Task]],
    ) -> Iterator[tuple[Task, Result | None]]:
        """Yield tasks with their results as they complete; see `Engine`."""
        rest = iter(tasks)
        running: dict[Future[Result], Task] = {}
        suspects: deque[Task] = deque()
        while True:
            for task in islice(rest, _AHEAD * self.jobs - len(running)):
                try:
                    running[self._pool_of_all().submit(work, task)] = task
                except BrokenProcessPool:
                    suspects.append(task)
                    break
            if not running and not suspects:
                break
            if running:
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    task = running.pop(future)
                    try:
                        result = future.result()
                    except BrokenProcessPool:
                        suspects.append(task)
                    else:
                        yield task, result
            if suspects:
                # All of a broken pool: the others end with the same error.
                _end(self._pool)
                self._pool = None
                self.crashes += 1
                for future, task in running.items():
                    if future.exception() is None:
                        yield task, future.result()
                    else:
                        suspects.append(task)
                running.clear()
                yield from self._each_alone(suspects, work, divided)

    def _each_alone(
        self,
        suspects: deque[Task],
        work: Callable[[Task], Result],
        divided: Callable[[Task], Sequence[Task]],
    ) -> Iterator[tuple[Task, Result | None]]:
        while suspects:
            task = suspects.popleft()
            if self._alone is None:
                self._alone = self._new(1)
            try:
                result = self._alone.submit(work, task).result()
            except BrokenProcessPool:
                _end(self._alone)
                self._alone = None
                self.crashes += 1
                parts = divided(task)
                suspects.extendleft(reversed(parts))
                if not parts:
                    yield task, None
            else:
                yield task, result
        _end(self._alone)
        self._alone = None

    def _pool_of_all(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = self._new(self.jobs)
        return self._pool

    def _new(self, count: int) -> ProcessPoolExecutor:
        spawn = multiprocessing.get_context("spawn")  # forking with Qt or threads is unsafe
        return ProcessPoolExecutor(count, spawn, initializer=_begin, initargs=self._start)

    def close(self) -> None:
        """End the processes; what they run is finished and dropped."""
        _end(self._pool)
        _end(self._alone)
        self._pool = self._alone = None


def _end(pool: ProcessPoolExecutor | None) -> None:
    if pool is not None:
        pool.shutdown(wait=False, cancel_futures=True)


def _begin(mark: str, most: int | None) -> None:
    """Prepare a worker process, which may use `most` bytes of memory."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the process that started this one
    threading.Thread(target=_end_with_parent, daemon=True).start()
    mark_parts(mark)
    if most is not None:
        BUDGET.limit(most)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
