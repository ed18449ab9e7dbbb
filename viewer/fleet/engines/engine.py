"""What an engine is: it runs tasks, and reports those that crash their worker."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

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
