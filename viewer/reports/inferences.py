"""The inferences that a command reports, by the number that the user gives."""

from __future__ import annotations

from collections.abc import Sequence

from viewer.model.trace import Run, Trace


class NoSuchRun(ValueError):
    """No open profile has an inference of that number; the message lists the existing ones."""


def numbered_inferences(traces: Sequence[Trace], number: int) -> list[tuple[Trace, Run]]:
    """Return the inferences of a number, with their traces; several methods can have one.

    Raises `NoSuchRun` if no trace has the number.
    """
    inferences = [(trace, run) for trace in traces for run in trace.inferences()]
    numbered = [(trace, run) for trace, run in inferences if run.number == number]
    if not numbered:
        most = max((run.number for _, run in inferences), default=0)
        existing = f"the inferences are numbered 1 to {most}" if most else "no file has inferences"
        raise NoSuchRun(f"there is no inference {number}: {existing}")
    return numbered
