"""Reads the Torq annotated profile: a runtime profile joined with the program.

annotate_profiling.py and torq.performance write it, with semicolons and quoted as by pandas. The
first line names the columns, which distinguish the generations:

    A0  2025-10  nss_program_index;operation;...          a row per operation of an NSS program
    A1  2025-12  action_id;job_id;operation;...           a row per action; for a wait for an NSS
                                                          program, a row per operation in it
    A2  2025-12  the same with original_operator, later with cdma_used_... and css_used_...
    A3  2026-02  the same with invocation_names and original_operators; a row per action

Rows of one action or job with the same start and end are one slice. Their contents go to columns:
`operations` and `invocations` in file order, and the `units` of the NPU that the program uses. A
wait that covers several operations is named "torq_hl.wait_program", as in A3.

A0 contains only NSS jobs, in µs from the start of the first one. Later generations are from the
host, in µs of its clock (see `host_csv`): actions on the track "Host", calls of the IREE HAL
(action -1) on "HAL". NSS jobs are derived from them: each lasts from the start of its start
action to the end of its wait. If a time has a fraction, all times are read as nanoseconds. Rows
without a time are actions that logged none, which A3 lists for every scope of a dispatch, even for
one that only loads. They are reported as a problem.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np

from viewer.arrays import Bools, Codes, Ints
from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, Progress, ReadCancelled, UnreadableFile
from viewer.dataclasses import dataclass
from viewer.formats import format_of
from viewer.formats.text_rows import (
    ROW_MEMORY,
    DistinctTexts,
    TableRows,
    combined_codes,
    count_rows,
    first_line,
    numbered,
)
from viewer.formats.torq.host_csv import CLOCK as HOST_CLOCK
from viewer.formats.torq.host_csv import is_hal, scope_name
from viewer.model.building.builder import TraceBuilder
from viewer.model.recorded_names import (
    ACTION_ID,
    HAL,
    HOST,
    JOB_ID,
    NSS_JOBS,
    OPERATIONS,
    START_PROGRAM,
    WAIT_PROGRAM,
    job_name,
)
from viewer.model.trace import Clock, Column, KeyKind, Trace, Unit

_JOB_COLUMN, _ACTION_COLUMN = "nss_program_index", "action_id"  # in the file
_TIMES = {
    _JOB_COLUMN: ("nss_program_timestamp_start", "nss_program_timestamp_end"),
    _ACTION_COLUMN: ("timestamp_start", "timestamp_end"),
}
# The texts of a row: column of the slice -> possible columns in a file.
_TEXTS = {
    "operation": ("operation",),
    "invocation": ("invocation_name", "invocation_names"),
    "operator": ("original_operator", "original_operators"),
    "location": ("location",),
}
_UNITS = {
    "dma_in_used_in_program": "DMA In",
    "dma_out_used_in_program": "DMA Out",
    "cdma_used_in_program": "CDMA",
    "slice_used_0_in_program": "Slice unit 0",
    "slice_used_1_in_program": "Slice unit 1",
    "css_used_in_program": "CSS",
}
# More than twice the columns of any generation.
_MAX_COLUMNS = 40
# 15 digits of µs are 31 years; longer numbers would overflow int64 ns.
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{0,30})?")
_TASK = "torq_hw."
_NO_TIME = "row without a time: not drawn"
_NS_IN_US = 1000
_AT_ONCE = 256  # rows
_ROWS_AT_ONCE = 1000  # of a sheet


class SheetRows:
    """The rows of a sheet, as those of the table; a line is a row.

    rows: with their cells, () for an empty one.
    """

    def __init__(self, rows: Iterable[Sequence[str]], cancelled: Cancelled) -> None:
        self.header: Sequence[str] = ()
        self.count = 0
        self._rows, self._cancelled = rows, cancelled

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        """Raises ReadCancelled and NotEnoughMemory."""
        for line, row in enumerate(self._rows, 1):
            if line % _ROWS_AT_ONCE == 0 and self._cancelled():
                raise ReadCancelled
            if any(row):
                self.count += 1
                if self.count % _ROWS_AT_ONCE == 0:
                    allowance().take(self.count * ROW_MEMORY)
                width = len(self.header) or len(row)
                yield line, [*row[:width], *[""] * (width - len(row))]

    def fits(self, line: int, row: Sequence[str], kind: str) -> bool:
        """A row of a sheet has as many cells as the header, since empty ones are left out."""
        return True


def sniff(head: bytes) -> bool:
    """Whether the first line starts like the header of one of the generations."""
    header = first_line(head, ";")
    return header.startswith((f"{_JOB_COLUMN};operation;", f"{_ACTION_COLUMN};job_id;"))


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """One slice per action or job and its times; the module docstring describes the generations."""
    builder = TraceBuilder(path, FORMAT.name, "", HOST_CLOCK)
    table = TableRows(
        path,
        builder,
        progress,
        cancelled,
        separator=";",
        keeps_spaces=True,
        row_memory=ROW_MEMORY,
    )
    return trace_of(path, builder, table)


def trace_of(path: str, builder: TraceBuilder, table: TableRows | SheetRows) -> Trace:
    """The trace of the rows of a table."""
    rows: _Rows | None = None
    for line, cells in table:
        if rows is not None:
            rows.add(line, cells)
        elif sniff(";".join(cells).encode()):
            rows = _Rows(path, builder, table, [cell.strip() for cell in cells])
        else:
            break
    if rows is None:
        raise UnreadableFile(
            path,
            f"it is not a Torq annotated profile: its header starts neither with {_ACTION_COLUMN};"
            f"job_id nor with {_JOB_COLUMN};operation",
            where="line 1",
        )
    return rows.trace()


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The slices of a file as columns: one for all rows of an action or job with the same times.

    group: the slice of each row. row: the first row of each slice. action, job: valid where
    `has_...`. operations: those of all its rows. hal: whether it is a HAL call. locations: "" if
    none.
    """

    group: Ints
    row: Codes
    start: Ints
    end: Ints
    action: Ints
    has_action: Bools
    job: Ints
    has_job: Bools
    operations: list[list[str]]
    hal: Bools
    locations: list[str]


class _Rows:
    """The rows read so far, as text codes; `trace` converts them to slices."""

    def __init__(
        self,
        path: str,
        builder: TraceBuilder,
        table: TableRows | SheetRows,
        header: Sequence[str],
    ) -> None:
        self._id = header[0]
        missing = [n for n in (*_TIMES[self._id], "operation") if n not in header]
        if missing:
            raise UnreadableFile(
                path, f"its header has no {' and no '.join(missing)}", where="line 1"
            )
        if len(set(header)) < len(header):
            raise UnreadableFile(path, "its header names a column twice", where="line 1")
        if len(header) > _MAX_COLUMNS:
            raise UnreadableFile(
                path,
                f"it has {len(header)} columns; the limit is {_MAX_COLUMNS}",
                where="line 1",
            )
        self._header = header
        if self._id == _JOB_COLUMN:
            builder.clock = Clock("us", Fraction(_NS_IN_US))
        builder.generation = _generation(header)
        self._builder, self._table = builder, table
        table.header = header
        self._spelled = f"row that is not {';'.join(header)}"
        self._tables = {name: DistinctTexts() for name in header}
        self._codes: dict[str, list[Codes]] = {name: [] for name in header}
        self._row: list[Codes] = []
        self._waiting: list[list[str]] = []
        self._waiting_rows: list[int] = []

    def add(self, line: int, cells: list[str]) -> None:
        """Add one row."""
        if self._table.fits(line, cells, self._spelled):
            self._waiting.append(cells)
            self._waiting_rows.append(self._table.count - 2)  # without the header, from 0
            if len(self._waiting) == _AT_ONCE:
                self._take()

    def _take(self) -> None:
        """Convert the rows that wait to codes: column by column takes half the time."""
        if self._waiting:
            for name, cells in zip(self._header, zip(*self._waiting, strict=True), strict=True):
                self._codes[name].append(self._tables[name].codes(cells))
            self._row.append(np.array(self._waiting_rows, np.uint32))
            self._waiting.clear()
            self._waiting_rows.clear()

    def trace(self) -> Trace:
        """The slices of all rows added."""
        self._take()
        if not self._row:
            return self._builder.build()
        row = np.concatenate(self._row)
        column = {name: np.concatenate(parts) for name, parts in self._codes.items()}
        self._codes.clear()
        times = self._times(column, row)
        has_time = np.logical_and(*(has for _, has in times))
        blank = np.logical_and(*(self._is_blank(name, column) for name in _TIMES[self._id]))
        count_rows(self._builder, _NO_TIME, row[blank])
        count_rows(
            self._builder, "row without a usable start or end: not drawn", row[~has_time & ~blank]
        )
        keep = np.flatnonzero(has_time)
        if len(keep):
            start, end = (ticks[keep] for ticks, _ in times)
            self._add({name: codes[keep] for name, codes in column.items()}, row[keep], start, end)
        return self._builder.build()

    def _times(self, column: dict[str, Codes], row: Codes) -> list[tuple[Ints, Bools]]:
        """Start and end of every row in ticks, and which rows have one; sets the clock."""
        parsed = []
        for name in _TIMES[self._id]:
            texts = [text.strip() for text in self._tables[name]]
            parsed.append([Decimal(t) if _NUMBER.fullmatch(t) else None for t in texts])
        times = [value for values in parsed for value in values if value is not None]
        is_whole = all(value == value.to_integral_value() for value in times)
        factor = 1 if is_whole else _NS_IN_US
        if not is_whole:
            self._builder.clock = Clock("ns", Fraction(1), domain=self._builder.clock.domain)
        columns = []
        for name, values in zip(_TIMES[self._id], parsed, strict=True):
            exact = [None if value is None else value * factor for value in values]
            ticks = [0 if value is None else int(value.to_integral_value()) for value in exact]
            finer = np.array([v is not None and v != t for v, t in zip(exact, ticks, strict=True)])
            codes = column[name]
            count_rows(self._builder, "time finer than a nanosecond: rounded", row[finer[codes]])
            has = np.array([value is not None for value in values], np.bool_)
            columns.append((np.array(ticks, np.int64)[codes], has[codes]))
        return columns

    # -- slices ------------------------------------------------------------------------------

    def _add(self, column: dict[str, Codes], row: Codes, start: Ints, end: Ints) -> None:
        """Add one slice for all rows of an action or job with the same times."""
        drawn = self._drawn(column, row, start, end)
        columns = self._columns(drawn, column)
        process = os.path.basename(self._builder.path)
        on = {HOST: (Unit.HOST, ~drawn.hal), HAL: (Unit.HAL, drawn.hal)}
        names = list(map(_name, drawn.operations))
        if self._id == _JOB_COLUMN:
            on = {NSS_JOBS: (Unit.NSS, ~drawn.hal), HAL: (Unit.HAL, drawn.hal)}
            names = [job_name(number) for number in drawn.job.tolist()]
        track = np.zeros(len(names), np.uint32)
        for thread, (unit, mask) in on.items():
            if mask.any():
                track[mask] = self._builder.track(
                    process, thread, flat=thread == NSS_JOBS, unit=unit
                )
        self._builder.add(
            track=track,
            start=drawn.start,
            end=drawn.end,
            name=self._builder.intern_all(names),
            key=self._keys(drawn, names),
            source_row=drawn.row,
            columns=columns,
        )
        if self._id == _ACTION_COLUMN:
            self._add_jobs(drawn, columns)

    def _drawn(self, column: dict[str, Codes], row: Codes, start: Ints, end: Ints) -> _Drawn:
        """The slices that rows represent, in file order."""
        if self._id == _JOB_COLUMN:
            action, has_action = np.zeros(len(row), np.int64), np.zeros(len(row), np.bool_)
            job, has_job = self._numbers(self._id, column, row)
        else:
            action, has_action = self._numbers(_ACTION_COLUMN, column, row)
            job, has_job = self._numbers("job_id", column, row)
        operation, operations = self._texts("operation", column)
        has_action = has_action & (action >= 0)
        # HAL calls all have action -1.
        apart = np.where(has_action | has_job, 0, operation + 1)
        group, first = combined_codes(
            [
                numbered(action),
                numbered(job),
                has_job.astype(np.uint32),
                numbered(start),
                numbered(end),
                apart.astype(np.uint32),
            ]
        )
        by_row = np.argsort(first)
        rank = np.empty(len(first), np.int64)
        rank[by_row] = np.arange(len(first))
        group, first = rank[group], first[by_row]
        listed = _listed(group, len(first), [operations[code] for code in operation.tolist()])
        place, places = self._texts("location", column)
        return _Drawn(
            group=group,
            row=row[first],
            start=start[first],
            end=end[first],
            action=action[first],
            has_action=has_action[first],
            job=job[first],
            has_job=has_job[first],
            operations=listed,
            hal=np.array([is_hal(texts[0].partition(".")[0]) for texts in listed], np.bool_),
            locations=[places[code] for code in place[first].tolist()],
        )

    def _keys(self, drawn: _Drawn, names: Sequence[str]) -> Codes:
        has_action, has_job = drawn.has_action.tolist(), drawn.has_job.tolist()
        keys = (
            self._key(
                name, hal, action if has_action[i] else None, job if has_job[i] else None, place
            )
            for i, (name, hal, action, job, place) in enumerate(
                zip(
                    names,
                    drawn.hal.tolist(),
                    drawn.action.tolist(),
                    drawn.job.tolist(),
                    drawn.locations,
                    strict=True,
                )
            )
        )
        return np.fromiter(keys, np.uint32, len(names))

    def _columns(self, drawn: _Drawn, column: dict[str, Codes]) -> dict[str, Column]:
        count = len(drawn.row)
        columns = {
            OPERATIONS: Column.of_texts([", ".join(operation) for operation in drawn.operations]),
            "units": self._units(column, drawn.group, count),
            JOB_ID: Column(drawn.job, drawn.has_job),
        }
        for name, title in (("invocation", "invocations"), ("operator", "original_operators")):
            codes, texts = self._texts(name, column)
            if texts:
                group_texts = _listed(drawn.group, count, [texts[code] for code in codes.tolist()])
                columns[title] = Column.of_texts(
                    [", ".join(dict.fromkeys(filter(None, texts))) for texts in group_texts]
                )
        if self._id == _ACTION_COLUMN:
            of_hal = drawn.hal.tolist()
            scopes = [operation[0].partition(".")[0] for operation in drawn.operations]
            columns[ACTION_ID] = Column(
                np.where(drawn.has_action, drawn.action, 0), drawn.has_action
            )
            columns["scope"] = Column.of_texts(
                [scope if hal else "" for scope, hal in zip(scopes, of_hal, strict=True)]
            )
            columns["location"] = Column.of_texts(
                ["" if hal else text for text, hal in zip(drawn.locations, of_hal, strict=True)]
            )
        return columns

    def _add_jobs(self, drawn: _Drawn, columns: dict[str, Column]) -> None:
        """Add derived NSS jobs: from the start of a start action to the end of the next wait."""
        builder, start, job = self._builder, drawn.start, drawn.job
        starts = np.array(
            [operation[0] == START_PROGRAM for operation in drawn.operations], np.bool_
        )
        rows = np.flatnonzero(drawn.has_job & ~drawn.hal)
        rows = rows[np.argsort(start[rows], kind="stable")]
        meets = (job[rows[1:]] == job[rows[:-1]]) & starts[rows[:-1]] & ~starts[rows[1:]]
        first = rows[:-1][meets]
        wait = rows[1:][meets]
        if not len(first):
            return
        names = [job_name(number) for number in job[first].tolist()]
        job_columns = ("units", "invocations", "original_operators", "location", JOB_ID)
        keys = [
            self._key(name, False, None, number, drawn.locations[row])
            for name, number, row in zip(names, job[first].tolist(), wait.tolist(), strict=True)
        ]
        builder.add(
            track=builder.track(os.path.basename(builder.path), NSS_JOBS, flat=True, unit=Unit.NSS),
            start=start[first],
            end=drawn.end[wait],
            name=builder.intern_all(names),
            key=np.array(keys, np.uint32),
            source_row=drawn.row[first],
            derived=np.ones(len(first), np.bool_),
            columns={name: columns[name].taken(wait) for name in job_columns if name in columns},
        )

    def _key(self, name: str, hal: bool, action: int | None, job: int | None, location: str) -> int:
        """The key of a slice: its location, else its job or action; its name for a HAL call."""
        if hal:
            return self._builder.key(KeyKind.FRAMEWORK, name)
        number = -1 if action is None else action
        if location:
            return self._builder.key(KeyKind.LOCATION, name, instruction=number, location=location)
        if job is not None:
            return self._builder.key(KeyKind.JOB, name, instruction=job)
        if action is not None:
            return self._builder.key(KeyKind.ACTION, name, instruction=action)
        return self._builder.key(KeyKind.PLAIN, name)

    # -- cells -------------------------------------------------------------------------------

    def _is_blank(self, name: str, column: dict[str, Codes]) -> Bools:
        blank = np.array([not text.strip() for text in self._tables[name]], np.bool_)
        return blank[column[name]]

    def _texts(self, name: str, column: dict[str, Codes]) -> tuple[Ints, tuple[str, ...]]:
        """The texts of the file's column for `name`, and their codes per row."""
        present = next((n for n in _TEXTS[name] if n in column), None)
        if present is None:
            return np.zeros(len(column[self._id]), np.int64), ("",) if name == "location" else ()
        return column[present].astype(np.int64), tuple(map(str.strip, self._tables[present]))

    def _numbers(self, name: str, column: dict[str, Codes], row: Codes) -> tuple[Ints, Bools]:
        """The integers of a column ("3" or "3.0"), and which rows have one."""
        values, is_number, bad = [], [], []
        for text in map(str.strip, self._tables[name]):
            number = Decimal(text) if _NUMBER.fullmatch(text) else None
            is_whole = number is not None and number == number.to_integral_value()
            values.append(int(number) if number is not None and is_whole else 0)
            is_number.append(is_whole)
            bad.append(bool(text) and not is_whole)
        codes = column[name]
        count_rows(
            self._builder,
            f"{name} that is not a whole number: left out",
            row[np.array(bad)[codes]],
        )
        return np.array(values, np.int64)[codes], np.array(is_number, np.bool_)[codes]

    def _units(self, column: dict[str, Codes], group: Ints, count: int) -> Column:
        """The NPU units that the rows of each slice mark as used."""
        used = np.zeros(count, np.int64)
        labels: list[str] = []
        for name, label in _UNITS.items():
            if name in column:
                flags = np.array([t.strip() == "True" for t in self._tables[name]], np.bool_)
                has = np.bincount(group[flags[column[name]]], minlength=count) > 0
                used += has * (1 << len(labels))
                labels.append(label)
        texts = [
            ", ".join(label for i, label in enumerate(labels) if bits >> i & 1)
            for bits in range(1 << len(labels))
        ]
        return Column.of_codes(used.astype(np.uint32), texts, used > 0)


def _name(operations: Sequence[str]) -> str:
    """The name of a slice: its operation, its HAL event, or a wait for several operations."""
    scope, _, event = operations[0].partition(".")
    if is_hal(scope):
        return scope_name(event, scope)
    return WAIT_PROGRAM if operations[0].startswith(_TASK) else operations[0]


def _listed(group: Ints, count: int, texts: Sequence[str]) -> list[list[str]]:
    """The texts of each slice's rows, in file order."""
    texts_of: list[list[str]] = [[] for _ in range(count)]
    for number, text in zip(group.tolist(), texts, strict=True):
        texts_of[number].append(text)
    return texts_of


def _generation(header: Sequence[str]) -> str:
    if header[0] == _JOB_COLUMN:
        return "A0"
    if "invocation_names" in header or "original_operators" in header:
        return "A3"
    return "A2" if "original_operator" in header else "A1"


FORMAT = format_of("torq.annotated_csv")
