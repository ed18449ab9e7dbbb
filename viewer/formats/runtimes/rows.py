"""What readers of runtimes' tables share: exact numbers, arguments, and bars without a start.

Bars for durations that have no start are one after another on their track, in file order, with
`Timing.PLACED`. Nothing is known of gaps between them.

QNN and SNPE report one list of values for an execution: totals in µs, of which each contains the
next ("QNN (execute) time", "RPC (execute) time", "Accelerator (execute) time" ...), and the nodes
of the graph, in cycles of the accelerator or in µs. The totals of a stage are nested from one
start, the longest outermost, and nodes follow each other below them. Nodes in cycles next to totals
in µs are drawn on the scale of the innermost total, and no sum contains them. In a file without any
µs, a tick is a cycle of unknown length.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints, flags_at, numbers_at
from viewer.dataclasses import dataclass, field
from viewer.formats.text_rows import DistinctTexts, argument_column
from viewer.model.building.builder import TraceBuilder
from viewer.model.queries import NATIVE_DURATION, NATIVE_UNIT
from viewer.model.recorded_names import LAYER_COLUMNS as DESCRIBING
from viewer.model.timing import Timing
from viewer.model.trace import Clock, Column, KeyKind, RunKind, Trace

NO_TIME = "row without a usable time: left out"
SURPLUS = "row with more cells than the header: the further cells are left out"
# Commas separate thousands only. A decimal comma is no time: 1,5 must not become 15.
_NUMBER = re.compile(
    r"(?:[0-9]{1,18}|[1-9][0-9]{0,2}(?:,[0-9]{3}){1,5})(?:\.[0-9]{0,40})?(?:[eE][+-]?[0-9]{1,2})?"
)
_MOST_NS = 1 << 61


def amount(text: str) -> Fraction | None:
    """A number of at least 0, exactly as written; None if it is none, or too large for a time."""
    if not _NUMBER.fullmatch(text):
        return None
    value = Fraction(text.replace(",", ""))
    return value if value < _MOST_NS else None


def ticks_of(text: str, per_unit: int) -> int | None:
    """A time in whole ticks, rounded; None if it is no time. per_unit: ticks of its unit."""
    value = amount(text)
    if value is None or value * per_unit >= _MOST_NS:
        return None
    return round(value * per_unit)


def add_rows(
    builder: TraceBuilder,
    rows: Sequence[Sequence[int]] | Ints,
    columns: Mapping[str, Column],
    timing: NDArray[np.uint8] | None = None,
) -> None:
    """Add slices, a row each: track, start, end, name, key, and the place in the file."""
    _, start, end, _, _, _ = table = np.asarray(rows, np.int64).T
    track, name, key, source_row = table[[0, 3, 4, 5]].astype(np.uint32)
    builder.add(
        track=track, start=start, end=end, name=name, key=key, source_row=source_row,
        columns=columns, timing=timing,
    )  # fmt: skip


def has_two_rows(row: Sequence[str], width: int, time: int, unit: int) -> bool:
    """Whether another row follows in a line, as its line end is lost.

    A name may contain the separator, but no time with its unit. width: of the header; time, unit:
    their columns.
    """
    if len(row) <= width:
        return False
    beyond = row[width:]
    apart = unit - time
    pairs = zip(beyond[max(-apart, 0) :], beyond[max(apart, 0) :], strict=False)
    return any(
        amount(number.strip()) is not None and text.strip().isalpha() for number, text in pairs
    )


def columns_of(arguments: Mapping[str, Mapping[int, str]], count: int) -> dict[str, Column]:
    """Columns of `count` slices from the texts that some have: of numbers, if all are numbers."""
    return {name: _column(cells, count) for name, cells in arguments.items()}


def _column(cells: Mapping[int, str], count: int) -> Column:
    distinct_texts = DistinctTexts({"": 0})
    codes = np.zeros(count, np.uint32)
    codes[np.fromiter(cells, np.int64, len(cells))] = distinct_texts.codes(list(cells.values()))
    return argument_column(codes, tuple(distinct_texts))


# Places that need 64 bits are not drawn: a table with such durations is no profile.
_LAST_TICK = 1 << 62
NO_ROOM = "row whose place would not fit 64 bits: left out"


class PlacedBars:
    """Collects the bars of one file; `finish` adds them to its builder."""

    def __init__(self, builder: TraceBuilder, timing: Timing = Timing.PLACED) -> None:
        """timing: what applies to all bars."""
        self.builder = builder
        self._timing = timing
        self._ends: dict[int, int] = {}
        self._bars: list[tuple[int, int, int, int, int, int]] = []
        self._arguments: dict[str, dict[int, str]] = {}

    def __len__(self) -> int:
        return len(self._bars)

    def end_of(self, track: int) -> int:
        """Where the next bar of a track starts, in ticks."""
        return self._ends.get(track, 0)

    def add(
        self,
        track: int,
        name: str,
        length: int,
        line: int,
        arguments: Mapping[str, str],
        start: int | None = None,
        kind: KeyKind = KeyKind.PLAIN,
    ) -> None:
        """Add a bar after the last one of its track, or at a start. length, start: in ticks."""
        begin = self.end_of(track) if start is None else start
        if begin + length > _LAST_TICK:
            self.builder.problem(NO_ROOM, 1, f"line {line}")
            return
        self._ends[track] = max(begin + length, self.end_of(track))
        key = self.builder.key(
            kind,
            name,
            identifier=name if kind == KeyKind.DELEGATE_EVENT else None,
            described=tuple(arguments.get(column, "") for column in DESCRIBING),
        )
        for argument, text in arguments.items():
            if text:
                self._arguments.setdefault(argument, {})[len(self._bars)] = text
        self._bars.append((track, begin, begin + length, self.builder.intern(name), key, line - 1))

    def finish(self, columns: Mapping[str, Column] | None = None) -> None:
        """Add all bars to the builder, with their arguments and further columns."""
        if not self._bars:
            return
        count = len(self._bars)
        arguments = columns_of(self._arguments, count)
        timing = np.full(count, self._timing, np.uint8)
        add_rows(self.builder, self._bars, {**arguments, **(columns or {})}, timing)


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
