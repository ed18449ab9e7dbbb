"""Lays out events of Qualcomm's runtimes: totals that contain each other, and their nodes.

QNN and SNPE report one list of values for an execution: totals in µs, of which each contains the
next ("QNN (execute) time", "RPC (execute) time", "Accelerator (execute) time" ...), and the nodes
of the graph, in cycles of the accelerator or in µs. None has a start. So the totals of a stage are
nested from one start, the longest outermost, and nodes follow each other below them, in file order.

Nodes in cycles next to totals in µs have the columns `native_dur` and `native_unit`. They are drawn
on the scale of the innermost total, and no sum contains them. In a file without any µs, a tick is a
cycle of unknown length.

Stages next to executions, such as initialization, are loads apart: shares are of the executions.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from viewer.arrays import flags_at, numbers_at
from viewer.formats.runtimes.placed import PlacedBars
from viewer.model.building.builder import TraceBuilder
from viewer.model.queries import NATIVE_DURATION, NATIVE_UNIT
from viewer.model.trace import Clock, Column, RunKind, Trace

US, CYCLES = "us", "cycles"
_NS_PER_US = 1000
NS_CLOCK = Clock()
CYCLE_CLOCK = Clock("cycle", Fraction(1), assumed=True)


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a file: its name, its amount in its unit, its line and further cells."""

    name: str
    amount: int
    unit: str
    line: int
    arguments: Mapping[str, str]


@dataclass(slots=True)
class Group:
    """The values of one execution, or of one stage such as initialization."""

    stage: str
    totals: list[Value] = field(default_factory=list)
    nodes: list[Value] = field(default_factory=list)
    is_execution: bool = False


def trace_of(path: str, builder: TraceBuilder, groups: Sequence[Group]) -> Trace:
    """The trace of the groups, one after another. The builder's clock is chosen here."""
    every = [value for group in groups for value in (*group.totals, *group.nodes)]
    is_timed = any(value.unit == US for value in every)
    builder.clock = NS_CLOCK if is_timed else CYCLE_CLOCK
    bars = PlacedBars(builder)
    native: dict[int, tuple[int, str]] = {}
    track = builder.track(os.path.basename(path), "placed · events")
    has_executions = any(group.is_execution for group in groups)
    for group in groups:
        start = bars.end_of(track)
        totals = [v for v in group.totals if v.unit == US or not is_timed]
        totals.sort(key=lambda value: -value.amount)  # stable: equal ones as in the file
        for value in totals:
            bars.add(track, value.name, _ticks(value, is_timed), value.line, value.arguments, start)
        box = min((_ticks(v, is_timed) for v in totals if v.amount), default=0)
        _add_nodes(bars, track, start, box, group.nodes, is_timed, native)
        end = max(bars.end_of(track), start)
        if group.is_execution and end > start:
            builder.run(RunKind.INFERENCE, group.stage, track, 0, start, end)
        elif has_executions and end > start and not group.nodes:
            builder.run(RunKind.LOAD, group.stage, track, 0, start, end, is_apart=True)
    if builder.clock is NS_CLOCK and any(v.unit == CYCLES for g in groups for v in g.totals):
        values = [v for g in groups for v in g.totals if v.unit == CYCLES]
        builder.problem(
            "total in cycles, next to the same in µs: not drawn",
            len(values),
            f"line {values[0].line}",
        )
    bars.finish(_native_columns(native, len(bars)))
    return builder.build()


def _ticks(value: Value, is_timed: bool) -> int:
    """The length of a bar, as far as its unit has one."""
    return value.amount * _NS_PER_US if is_timed and value.unit == US else value.amount


def _add_nodes(
    bars: PlacedBars,
    track: int,
    start: int,
    box: int,
    nodes: Sequence[Value],
    is_timed: bool,
    native: dict[int, tuple[int, str]],
) -> None:
    """Add nodes in order. box: the length of the innermost total, 0 if there is none."""
    cycles = sum(v.amount for v in nodes if v.unit == CYCLES)
    is_native = is_timed and cycles > 0
    # Where no total says how long they took together, a cycle is drawn as 1 ns.
    scale = Fraction(box, cycles) if is_native and box else Fraction(1)
    done, begin = 0, start
    for node in nodes:
        length = _ticks(node, is_timed)
        if is_native and node.unit == CYCLES:
            length = int((done + node.amount) * scale) - int(done * scale)
            done += node.amount
        before = len(bars)
        bars.add(track, node.name, length, node.line, node.arguments, begin)
        if len(bars) > before:
            if is_timed and node.unit == CYCLES:
                native[before] = node.amount, node.unit
            begin += length


def _native_columns(native: Mapping[int, tuple[int, str]], count: int) -> dict[str, Column]:
    """The columns of what is in cycles next to times; none if nothing is."""
    if not native:
        return {}
    rows = np.fromiter(native, np.int64, len(native))
    valid = flags_at(count, rows)
    values = numbers_at(count, rows, [amount for amount, _ in native.values()])
    units = np.zeros(count, np.uint32)
    return {
        NATIVE_DURATION: Column(values, valid),
        NATIVE_UNIT: Column.of_codes(units, (CYCLES,), valid),
    }
