"""A dispatch of the Torq compiler: its actions, NSS jobs, tasks and work of units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from viewer.model.trace import Unit


@dataclass(frozen=True, slots=True)
class Action:
    """One step of the runtime in a dispatch.

    op: "torq_hl.start_program". job: the NSS program that it starts or waits for, else None.
    location: the text of its MLIR location, "" if not printed. start, end: cycles, None if not
    estimated. invocation: the name of what it starts or waits for. line, col: its position in the
    text.
    """

    id: int
    op: str
    job: int | None
    location: str
    start: int | None
    end: int | None
    invocation: str
    line: int
    col: int


@dataclass(frozen=True, slots=True)
class UnitWork:
    """One piece of work of one unit: start, ready after its duration, and end of the wait (cycles).

    number: which slice unit; 0 for other units. end: None if nothing waits for it. details: for a
    slice unit, the program that it runs, "conv2d_0".
    """

    unit: Unit
    number: int
    start: int | None
    ready: int | None
    end: int | None
    location: str
    details: str


@dataclass(frozen=True, slots=True)
class NssTask:
    """One task of an NSS job, with the work that it starts."""

    id: int
    job: int | None
    start: int | None
    end: int | None
    location: str
    work: tuple[UnitWork, ...]
    line: int
    col: int


@dataclass(frozen=True, slots=True)
class NssJob:
    """One started NSS program: from the start of its first task to the end of its last (cycles).

    start_action, wait_action: None if no action starts it or waits for it. units: (unit, number) of
    all units that work in it.
    """

    id: int
    name: str
    start_action: int | None
    wait_action: int | None
    tasks: tuple[int, ...]
    units: tuple[tuple[Unit, int], ...]
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class Dispatch:
    """The debug info of one dispatch: the function `name` in the text at `path`."""

    path: str
    name: str
    actions: Mapping[int, Action] = field(default_factory=dict)
    jobs: Mapping[int, NssJob] = field(default_factory=dict)
    tasks: Mapping[int, NssTask] = field(default_factory=dict)
