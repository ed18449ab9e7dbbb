"""Engines: they run tasks, and find out which of them crash their worker.

A process that crashes breaks its whole pool, and nothing tells which task it ran. So only a few
tasks are in a pool at a time; when it breaks, these run again, each in a pool of one process. A
Dask cluster executes what its clients send, so connect only to a scheduler of your own. Its workers
need the same version of Opscope, and must see sources and lake under the same paths.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from enum import Enum, auto
from itertools import islice
from multiprocessing.util import _exit_function  # type: ignore[attr-defined]
from typing import Any, Protocol, TypeVar

from viewer.codecs.atomic_file import mark_parts
from viewer.codecs.ending import at_end, clean, end_at_signals, signal_numbers
from viewer.codecs.memory_budget import BUDGET
from viewer.extras import how_to_install

Task = TypeVar("Task")
Result = TypeVar("Result")


class EngineLost(Exception):
    """The engine is gone, such as a scheduler that does not answer; the message says what to do."""


class Engine(Protocol):
    """Runs tasks. `work` is a module-level function; tasks and results can be pickled."""

    def run(
        self,
        tasks: Iterable[Task],
        work: Callable[[Task], Result],
        divided: Callable[[Task], Sequence[Task]],
    ) -> Iterator[tuple[Task, Result | None]]:
        """Yield tasks with their results as they complete; None for one that crashes its worker.

        A task whose worker crashed runs again. If it crashes its worker again, its parts run in its
        place, `divided(task)`; one without parts is yielded with None. So a crash costs its own
        task and no other. Every task, or all of its parts, is yielded once. Raises EngineLost.
        """
        ...

    def close(self) -> None:
        """End the workers."""
        ...


class InProcess:
    """Runs tasks one after another in this process: for sources that other processes cannot see."""

    def run(
        self,
        tasks: Iterable[Task],
        work: Callable[[Task], Result],
        divided: Callable[[Task], Sequence[Task]],
    ) -> Iterator[tuple[Task, Result | None]]:
        """Yield tasks with their results."""
        for task in tasks:
            yield task, work(task)

    def close(self) -> None:
        """Nothing runs."""


def undivided(_task: object) -> tuple[()]:
    """The parts of a task that has none."""
    return ()


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
                    if self._pool is None:
                        self._pool = self._new(self.jobs)
                    with _without_signals():
                        running[self._pool.submit(work, task)] = task
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


# Tasks at a scheduler per thread of its workers: enough that none waits for the next.
# Without a scheduler, or without any worker, for so long, the engine is lost.
PATIENCE_S = 30.0
_POLL_S, _FRESH_S, _ANSWER_S = 0.5, 1.0, 5.0


class _End(Enum):
    """How a task ended: with a result, by crashing its worker, or with a result that was lost.

    A result is lost if its worker ends before the client gets it. `run` submits the task again.
    """

    DONE = auto()
    CRASHED = auto()
    LOST = auto()


class NoDask(Exception):
    """Dask is not installed; the message says how to install it."""


class DaskCluster:
    """A client of a scheduler at an address, or of workers that it starts on this machine."""

    def __init__(
        self, scheduler: str | None, workers: int = 0, patience: float = PATIENCE_S
    ) -> None:
        """Connect. workers: how many to start, without a scheduler. Raises NoDask, EngineLost."""
        try:
            import dask
            import distributed
        except ImportError as error:
            raise NoDask(how_to_install("a Dask cluster needs dask", "fleet")) from error
        self._address, self._patience = scheduler, patience
        self._cluster: Any = None
        self._count, self._asked = 0, -1e9
        try:
            if scheduler is None:
                # A task that crashes its worker is divided and tried again by `run`.
                with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
                    # Its scheduler serves HTTP in any case: here for this machine alone, and at a
                    # free port, since another build may have the usual one.
                    self._cluster = distributed.LocalCluster(
                        n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0"
                    )
            self._client: Any = distributed.Client(self._cluster or scheduler, timeout=patience)
        except (OSError, ValueError) as error:
            raise EngineLost(
                f"no Dask scheduler answers at {scheduler}: start it with `dask scheduler`, and "
                "workers with `dask worker ADDRESS`"
            ) from error

    def run(
        self,
        tasks: Iterable[Task],
        work: Callable[[Task], Result],
        divided: Callable[[Task], Sequence[Task]],
    ) -> Iterator[tuple[Task, Result | None]]:
        """Yield tasks with their results as they complete; see `Engine`.

        A worker that ends accuses all tasks that the scheduler gave it. So a task runs again with
        the others first, and alone at the end, when nothing else can be the cause.
        """
        rest = iter(tasks)
        running: dict[str, tuple[Any, Task]] = {}
        again: list[Task] = []
        accused: set[int] = set()
        alone: list[Task] = []
        ended: queue.SimpleQueue[Any] = queue.SimpleQueue()

        def submit(task: Task) -> None:
            future = self._client.submit(work, task, pure=False)
            running[future.key] = future, task
            future.add_done_callback(ended.put)

        while True:
            room = _AHEAD * max(self._threads(), 1) - len(running)
            chosen = [again.pop() for _ in range(min(room, len(again)))]
            chosen += islice(rest, max(room - len(chosen), 0))
            for task in chosen:
                submit(task)
            is_alone = not running and bool(alone)
            if is_alone:
                submit(alone.pop())
            if not running:
                break
            future = self._next(ended)
            if future.key not in running:
                continue
            _, task = running.pop(future.key)
            end, result = self._end(future)
            if end is _End.DONE:
                yield task, result
            elif end is _End.LOST:
                (alone if is_alone else again).append(task)
            elif is_alone:
                parts = divided(task)
                alone += parts
                if not parts:
                    yield task, None
            elif id(task) in accused:
                alone.append(task)
            else:
                accused.add(id(task))
                again.append(task)
            future.release()

    def _end(self, future: Any) -> tuple[_End, Any]:
        """How an ended task ended, and its result. Raises what else went wrong with it."""
        from distributed import KilledWorker

        if future.status == "finished":
            try:
                return _End.DONE, future.result(timeout=self._patience)
            except (CancelledError, KilledWorker, OSError, TimeoutError) as failure:
                if future.status == "finished":  # the scheduler ended before the result arrived
                    raise self._lost() from failure
        if future.status in ("lost", "pending"):
            return _End.LOST, None
        error = future.exception()
        if isinstance(error, KilledWorker):
            return _End.CRASHED, None
        if error is None:  # canceled
            raise self._lost()
        raise _worker_error(error)

    def _next(self, ended: queue.SimpleQueue[Any]) -> Any:
        """Wait for the next future that ends. Raises EngineLost if none can."""
        alone = time.monotonic()
        while True:
            try:
                return ended.get(timeout=_POLL_S)
            except queue.Empty:
                pass
            if self._client.status == "running" and self._threads():
                alone = time.monotonic()
            elif time.monotonic() - alone > self._patience or self._client.status == "closed":
                raise self._lost()

    def _threads(self) -> int:
        """Threads of all workers, at most `_FRESH_S` ago; 0 if the scheduler does not answer."""
        if time.monotonic() - self._asked > _FRESH_S:
            try:
                threads = self._client.sync(
                    self._client.scheduler.ncores, callback_timeout=_ANSWER_S
                )
            except (OSError, TimeoutError):
                threads = {}
            self._count, self._asked = sum(threads.values()), time.monotonic()
        return self._count

    def _lost(self) -> EngineLost:
        where = self._address or "this machine"
        return EngineLost(
            f"the Dask scheduler at {where}, or all of its workers, are gone. Start them and build "
            "again with --resume: what is done is kept"
        )

    def close(self) -> None:
        """Disconnect, and end the workers that it started."""
        self._client.close(timeout=2)
        if self._cluster is not None:
            self._cluster.close()


def _worker_error(error: BaseException) -> BaseException:
    if isinstance(error, ImportError):
        return EngineLost(
            f"a Dask worker lacks a package ({error}): install the same opscope[fleet] there"
        )
    return error
