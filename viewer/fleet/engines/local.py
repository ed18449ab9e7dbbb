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
from contextlib import contextmanager
from itertools import islice
from multiprocessing.util import _exit_function  # type: ignore[attr-defined]

from viewer.codecs.atomic_file import mark_parts
from viewer.codecs.ending import at_end, clean, end_at_signals, signal_numbers
from viewer.codecs.memory_budget import BUDGET
from viewer.fleet.engines.engine import Result, Task

# Tasks in a pool per process: enough that no process waits for the next.
_AHEAD = 2
# For a process to clean up, at a signal.
_PATIENCE_S = 2.0


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
                    pool = self._pool_of_all()
                    with _without_signals():
                        running[pool.submit(work, task)] = task
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
            try:
                self._alone = self._alone or self._new(1)
                with _without_signals():
                    future = self._alone.submit(work, task)
                result = future.result()
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
        with _without_signals():  # its first one starts a process of multiprocessing
            return ProcessPoolExecutor(count, spawn, initializer=_begin, initargs=self._start)

    def close(self) -> None:
        """End the processes; what they run is finished and dropped."""
        _end(self._pool)
        _end(self._alone)
        self._pool = self._alone = None


@contextmanager
def _without_signals() -> Iterator[None]:
    """Start a process that a terminal does not end: Ctrl+C and SIGHUP are for this one alone.

    A process that is half started cannot be ended: signals for this one wait meanwhile.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal_numbers())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end(pool: ProcessPoolExecutor | None) -> None:
    if pool is not None:
        pool.shutdown(wait=False, cancel_futures=True)


def _end_all() -> None:
    """End all processes, which clean up themselves."""
    children = multiprocessing.active_children()
    for child in children:
        child.terminate()
    for child in children:
        child.join(_PATIENCE_S)
        child.kill()
    _exit_function()  # else their semaphores are reported as leaked


at_end(_end_all)


def _begin(mark: str, most: int | None) -> None:
    """Prepare a worker process, which may use `most` bytes of memory."""
    end_at_signals(says=False)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    else:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the process that started it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    mark_parts(mark)
    if most is not None:
        BUDGET.limit(most)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        clean()
        os._exit(1)
