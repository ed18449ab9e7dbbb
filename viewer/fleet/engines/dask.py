"""Runs tasks on a Dask cluster: one that is running, or workers on this machine.

A cluster executes what its clients send, so connect only to a scheduler of your own. Its workers
need the same version of Opscope, and must see the sources and the lake under the same paths.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from enum import Enum, auto
from itertools import islice
from typing import Any

from viewer.extras import how_to_install
from viewer.fleet.engines.engine import EngineLost, Result, Task

# Tasks at a scheduler per thread of its workers: enough that none waits for the next.
_AHEAD = 2
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
