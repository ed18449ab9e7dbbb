"""Reads tables of layers without starts, of any tool: a name and a duration in each row.

`headings` finds what the columns are, and lists tools with their sources. Each table is a track
with one bar after another. Tables with the same names in the same order are inferences. A row Total
or Sum is compared with the sum of the rows and not drawn; a difference beyond rounding is a
problem. Layers that did not run have no bar. Columns that say what a layer is are called `type`,
`unit` (of the hardware), `backend`, `kernel` and `count`, whatever the tool calls them. Cycles are
ticks; their rate is assumed to be 1 GHz. In tables of ExecuTorch's Inspector, a DELEGATE_CALL is
around the rows of its delegate above it, and Method::execute around the whole block.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from fractions import Fraction

from viewer.arrays import lists_by_key
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, faults_of, stop_if
from viewer.dataclasses import dataclass
from viewer.formats import HEAD_SIZE, format_of
from viewer.formats.json_objects import is_json
from viewer.formats.layers.headings import (
    DELEGATED,
    INFERENCE,
    NAME,
    THREAD,
    Columns,
    decimals_of,
    duration,
    step_of,
    words_of,
)
from viewer.formats.layers.tables import (
    JsonTables,
    Start,
    Table,
    TextTables,
    is_json_table,
    is_not_run,
    start_of,
    unit_in,
)
from viewer.formats.runtimes.rows import CYCLE_CLOCK, NO_TIME, PlacedBars
from viewer.formats.table.stated_columns import DECIMAL, stated_columns
from viewer.formats.table.time_texts import CYCLE, parse_unit
from viewer.formats.text_rows import lines_of_head
from viewer.model.building.builder import TraceBuilder
from viewer.model.recorded_names import DELEGATE_CALL, EXECUTE, INIT, LOAD, OPERATOR_CALL
from viewer.model.recorded_names import LAYER_COLUMNS as DESCRIBING
from viewer.model.recorded_names import LAYER_COUNT as COUNT
from viewer.model.recorded_names import LAYER_TYPE as TYPE
from viewer.model.recorded_names import LAYER_UNIT as UNIT
from viewer.model.recorded_names import RUNTIME_SCOPES as SCOPES
from viewer.model.trace import Clock, KeyKind, RunKind, Trace
from viewer.model.trace_attributes import INFERENCE as INFERENCES
from viewer.model.trace_attributes import WorkUnit, unit_of_series

_NO_NAME = "row without a name: left out"
_OTHER_UNIT = "row in cycles, next to times: left out"
_UNCLEAR = "the {} may separate decimals or thousands: state it with --columns decimal=comma"
_TOTAL = "total that is not the sum of its rows"
_UNSHOWN = (NAME, THREAD, DELEGATED)
_LONGEST_NAME = 4096
_LIST = re.compile(r"[\[\]']")
# Rows of ExecuTorch's Inspector that are around rows above them.
_CALLS = frozenset((DELEGATE_CALL, OPERATOR_CALL))
_PS = Fraction(1, 1000)  # ns


@dataclass(slots=True)
class _Bar:
    name: str
    length: Fraction  # ns or cycles
    unit: str
    line: int
    arguments: dict[str, str]
    thread: str
    inference: str
    is_delegated: bool


class Blocks:
    """The tables of one file."""

    def __init__(self, process: str, builder: TraceBuilder) -> None:
        self._process, self._builder = process, builder
        self._bars = PlacedBars(builder)
        self._not_run = self._summaries = 0
        self._groups: list[tuple[Columns, list[list[_Bar]]]] = []

    def __len__(self) -> int:
        return sum(len(part) for _, parts in self._groups for part in parts)

    def add_all(self, tables: Sequence[Table]) -> None:
        """Add tables, in the order of the file."""
        named = [t.columns for t in tables if NAME in t.columns.roles and t.rows]
        for table in tables:
            if not table.rows:
                continue
            roles = table.columns.roles
            if named and NAME not in roles:
                self._leave_out(table, named)
                continue
            bars = self._bars_of(table)
            self._check(table, bars)
            for part in _by_inference(bars) if INFERENCE in roles else [bars]:
                self._place_in_group(table.columns, part)

    def _leave_out(self, table: Table, named: Sequence[Columns]) -> None:
        """Leave out a table that sums up others by type; or one whose header is damaged."""
        width = len(table.columns.headings)
        if COUNT in table.columns.roles or all(abs(width - len(n.headings)) > 1 for n in named):
            self._summaries += len(table.rows)
        else:
            self._builder.problem(_NO_NAME, len(table.rows), f"line {table.rows[0][0]}")

    def _place_in_group(self, columns: Columns, bars: list[_Bar]) -> None:
        names = [bar.name for bar in bars]
        if not names:
            return
        for of, parts in self._groups:
            first = [bar.name for bar in parts[0]]
            short = min(len(names), len(first))
            if of.headings == columns.headings and names[:short] == first[:short]:
                parts.append(bars)
                return
        self._groups.append((columns, [bars]))

    def _bars_of(self, table: Table) -> list[_Bar]:
        columns, bars = table.columns, []
        decimal, unclear = _decimal(table)
        if unclear:
            kind = _UNCLEAR.format("comma" if "," in unclear else "point")
            self._builder.problem(kind, 1, unclear)
        for line, row in table.rows:
            is_inference = NAME not in columns.roles and TYPE not in columns.roles
            name = columns.cell(NAME, row) or columns.cell(TYPE, row)
            if is_inference:
                name = _unit(columns).noun
            if is_not_run(columns, row):
                self._not_run += 1
                continue
            length = duration(row[columns.length], unit_in(columns, row), comma=decimal == ",")
            if length is None or not name:
                self._builder.problem(_NO_NAME if length else NO_TIME, 1, f"line {line}")
                continue
            bars.append(
                _Bar(
                    name[:_LONGEST_NAME],
                    *length,
                    line,
                    _arguments(columns, row),
                    columns.cell(THREAD, row),
                    "" if is_inference else columns.cell(INFERENCE, row),
                    columns.cell(DELEGATED, row) == "True",
                )
            )
        return bars

    def _check(self, table: Table, bars: Sequence[_Bar]) -> None:
        """Compare the totals of a table with the sum of its rows, but for rounding.

        One of them has to be the sum. Another may be more, as the time of the whole call is.
        """
        wrong: list[str] = []
        columns = table.columns
        total = sum((bar.length for bar in bars), Fraction(0))
        if any(bar.name in SCOPES | _CALLS for bar in bars):
            return
        for line, text, unit in table.totals:
            stated = duration(text, unit or columns.unit, comma=_decimal(table)[0] == ",")
            if stated is None or not bars:
                continue
            factor = (duration("1", unit or columns.unit) or (Fraction(1), ""))[0]
            steps = [step_of(row[columns.length]) for _, row in table.rows]
            rounding = (sum(steps) + step_of(text)) * factor / 2
            difference = abs(stated[0] - total)
            if difference <= rounding + Fraction(1, 10**6) * total:
                return
            wrong.append(f"line {line}: it states {text}, the rows are {_text(total, factor)}")
        self._builder.problem(_TOTAL, len(wrong), wrong[0] if wrong else "")

    def finish(self) -> None:
        """Place all bars and add them to the builder."""
        every = [bar for _, parts in self._groups for part in parts for bar in part]
        is_timed = any(bar.unit == "ns" for bar in every)
        scale = 1
        if not is_timed:
            self._builder.clock = CYCLE_CLOCK
        elif any(round(bar.length / _PS) % 1000 for bar in every if bar.unit == "ns"):
            self._builder.clock, scale = Clock("ps", _PS), 1000
        for number, (columns, parts) in enumerate(self._groups, 1):
            part_of = f" of part {number}" if len(self._groups) > 1 else ""
            is_inferences = NAME not in columns.roles and TYPE not in columns.roles
            what = _unit(columns).plural if is_inferences else f"layers{part_of}"
            self._place(parts, what, columns, is_timed, scale)
        self._bars.finish()
        if self._not_run:
            self._builder.state("Layers that did not run", f"{self._not_run:,}, without bars")
        if self._summaries:
            self._builder.state("Rows of summaries", f"{self._summaries:,}, without bars")

    def _place(
        self, parts: Sequence[list[_Bar]], what: str, columns: Columns, is_timed: bool, scale: int
    ) -> None:
        means = f" ({columns.what})" if columns.what else ""
        if what == _unit(columns).plural:
            track = self._builder.track(self._process, f"placed · {what}{means}")
            self._inferences(track, [bar for part in parts for bar in part], is_timed, scale)
            return
        for part in parts:
            starts: dict[int, int] = {}
            threads = lists_by_key((bar.thread, bar) for bar in part if self._fits(bar, is_timed))
            for thread, bars in threads.items():
                where = f"placed · {thread or what}{means}"
                track = self._builder.track(self._process, where)
                starts[track] = self._bars.end_of(track)
                self._one_after_another(track, bars, scale)
            if len(parts) > 1:
                for track, start in starts.items():
                    end = self._bars.end_of(track)
                    self._builder.run(RunKind.INFERENCE, _unit(columns).noun, track, 0, start, end)

    def _fits(self, bar: _Bar, is_timed: bool) -> bool:
        if bar.unit == CYCLE and is_timed:
            self._builder.problem(_OTHER_UNIT, 1, f"line {bar.line}")
            return False
        return True

    def _inferences(self, track: int, bars: Sequence[_Bar], is_timed: bool, scale: int) -> None:
        for bar in bars:
            if not self._fits(bar, is_timed):
                continue
            start = self._bars.end_of(track)
            self._bars.add(track, bar.name, round(bar.length * scale), bar.line, bar.arguments)
            end = self._bars.end_of(track)
            self._builder.run(RunKind.INFERENCE, bar.name, track, 0, start, end)

    def _one_after_another(self, track: int, bars: Sequence[_Bar], scale: int) -> None:
        """Place the rows of a thread; those inside a call wait for it, since they are above it."""
        begin = self._bars.end_of(track)
        waiting: list[_Bar] = []
        for bar, after in zip(bars, [*bars[1:], None], strict=True):
            length, start = round(bar.length * scale), self._bars.end_of(track)
            in_call = after is not None and after.name == OPERATOR_CALL and bar.name not in _CALLS
            if bar.is_delegated or (in_call and bar.name not in SCOPES):
                waiting.append(bar)
            elif bar.name in _CALLS:
                self._put(track, bar, start, length)
                self._inside(track, waiting, start, length, scale)
                waiting = []
            else:
                self._each(track, waiting, scale)
                waiting = []
                start = begin if bar.name in SCOPES - {INIT} else self._bars.end_of(track)
                self._put(track, bar, start, length)
                if bar.name in (EXECUTE, LOAD) and self._bars.end_of(track) >= start + length:
                    kind = RunKind.INFERENCE if bar.name == EXECUTE else RunKind.LOAD
                    self._builder.run(kind, bar.name, track, 0, start, start + length)
                    begin = self._bars.end_of(track)
        self._each(track, waiting, scale)

    def _each(self, track: int, bars: Sequence[_Bar], scale: int) -> None:
        for bar in bars:
            self._put(track, bar, self._bars.end_of(track), round(bar.length * scale))

    def _inside(
        self, track: int, bars: Sequence[_Bar], start: int, length: int, scale: int
    ) -> None:
        """Place what a delegate timed in its call; on a track of its own if it is longer."""
        lengths = [round(bar.length * scale) for bar in bars]
        if sum(lengths) > length:
            thread = self._builder.tracks()[track].thread
            track = self._builder.track(self._process, f"{thread} · delegate")
            start = self._bars.end_of(track)
        for bar, ticks in zip(bars, lengths, strict=True):
            self._put(track, bar, start, ticks)
            start += ticks

    def _put(self, track: int, bar: _Bar, start: int, length: int) -> None:
        kind = KeyKind.DELEGATE_EVENT if bar.is_delegated else KeyKind.PLAIN
        kind = KeyKind.FRAMEWORK if bar.name in SCOPES else kind
        self._bars.add(track, bar.name, length, bar.line, bar.arguments, start, kind)


def _unit(columns: Columns) -> WorkUnit:
    """Return what the table calls its inferences, by the heading of their numbers."""
    index = columns.roles.get(INFERENCE, -1)
    return INFERENCES if index < 0 else unit_of_series(words_of(columns.headings[index]))


def _by_inference(bars: Sequence[_Bar]) -> list[list[_Bar]]:
    """The rows of each inference, where a column numbers them."""
    parts: list[list[_Bar]] = []
    for bar in bars:
        if parts and parts[-1][-1].inference == bar.inference:
            parts[-1].append(bar)
        else:
            parts.append([bar])
    return parts


def _arguments(columns: Columns, row: Sequence[str]) -> dict[str, str]:
    """The cells that are arguments, by their headings or by what they are."""
    used = {columns.length, *(columns.roles.get(role, -1) for role in _UNSHOWN)}
    names = {columns.roles[role]: role for role in DESCRIBING if role in columns.roles}
    if UNIT in columns.roles and parse_unit(columns.cell(UNIT, row)):
        used.add(columns.roles[UNIT])
    arguments: dict[str, str] = {}
    for column, (heading, cell) in enumerate(zip(columns.headings, row, strict=True)):
        if column not in used and cell and (name := names.get(column, heading)):
            arguments[name] = cell
    if arguments.get(TYPE, "").startswith("["):  # the Inspector's are lists, as Python writes them
        arguments[TYPE] = _LIST.sub("", arguments[TYPE])
    return arguments


def _decimal(table: Table) -> tuple[str, str]:
    """The sign before decimals, as stated or shown, and a cell that may mean another amount."""
    if table.is_json:
        return ".", ""
    stated = stated_columns().get(DECIMAL)
    if stated:
        return "," if stated == "comma" else ".", ""
    return decimals_of(row[table.columns.length] for _, row in table.rows)


def _text(total: Fraction, factor: Fraction) -> str:
    return f"{float(total / factor):.6g}"


_SAMPLE = 1 << 18


def sniff(head: bytes) -> bool:
    """Whether it has a table with names and durations and without starts near its start."""
    if is_json_table(head):
        return True
    if is_json(head) or b"\0" in head:
        return False
    return _start(head, whole=len(head) < HEAD_SIZE) is not None


def _start(head: bytes, *, whole: bool) -> Start | None:
    lines: Sequence[str] = lines_of_head(head)
    return start_of(lines if whole else lines[:-1])


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """A bar per row. Raises UnreadableFile, ReadCancelled."""
    with faults_of(path), open(path, "rb") as file:
        sample = file.read(_SAMPLE)
    builder = TraceBuilder(path, FORMAT.name, "", Clock())
    if is_json(sample):
        stop_if(cancelled)
        tables = JsonTables(path, builder)
        tables.read()
        progress(1, 1)
        return _trace(path, builder, tables.tables, tables.runs)
    start = _start(sample, whole=len(sample) < _SAMPLE)
    if start is None:
        raise _no_table(path)
    text = TextTables(builder)
    if start.separator:
        text.read_separated(path, start.separator, progress, cancelled)
    else:
        text.read_lines(path, start, progress, cancelled)
    return _trace(path, builder, text.tables, text.runs)


def _no_table(path: str) -> UnreadableFile:
    return UnreadableFile(
        path,
        "it has no table with a name and a duration in each row",
        remedy="State its columns: --columns name=COLUMN,dur=COLUMN,unit=UNIT",
    )


def _trace(
    path: str,
    builder: TraceBuilder,
    tables: Sequence[Table],
    runs: str,
) -> Trace:
    blocks = Blocks(os.path.basename(path), builder)
    blocks.add_all(tables)
    if not len(blocks):
        raise _no_table(path)
    blocks.finish()
    builder.generation = next((table.title for table in tables if table.title), "")
    if runs.isdecimal():
        builder.state("Inferences measured", f"{int(runs):,}")
    return builder.build()


FORMAT = format_of("layers.reader")
