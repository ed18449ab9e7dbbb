"""Reads the table saved by ExecuTorch's Inspector, as far as it contains single times.

`Inspector.save_data_to_tsv` and `inspector_cli --tsv_path` write it. A row is one event over all
runs of its block: percentiles, mean, minimum and maximum of its durations, and a list of its
starts. So a slice is known only if an event ran once, or if minimum and maximum are equal. Other
events are counted and left out; a table with mostly such ones, or without starts, as Inspector 0.6
and before wrote it, is read as a table of means (`viewer.formats.layers`).

`event_block_name` is the thread. `op_types`, `delegate_backend_name` and `delegate_debug_metadata`
become columns. Starts are in the unit of the runtime's clock, which the table does not state:
assumed to be ns, the Inspector's default. Events that a delegate timed on its own clock are left
out: their names end in a unit such as "(cycles)", or they are not inside any runtime event. Such
tables have no OPERATOR_CALL events. Layouts: `devtools/inspector/_inspector.py` of 0.6 to 1.5.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import cast

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile
from viewer.dataclasses import replace
from viewer.formats import format_of
from viewer.formats.runtimes.rows import add_rows
from viewer.formats.text_rows import TableRows
from viewer.model.building.builder import TraceBuilder
from viewer.model.recorded_names import EXECUTE, LOAD, RUNTIME_SCOPES
from viewer.model.trace import Clock, Column, KeyKind, RunKind, Trace

_BLOCK, _NAME, _STARTS = "event_block_name", "event_name", "start_time"
_DELEGATED = "is_delegated_op"
_COLUMNS = ("op_types", "delegate_backend_name", "delegate_debug_metadata")
_UNIT = re.compile(r"(avg|min|max)(?: \((\w+)\))?")
_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{0,40})?(?:[eE][+-]?[0-9]{1,2})?")
_OWN_UNIT = re.compile(r".*\((cycles|us|ns)\)\s*", re.DOTALL)
_WHOLE = re.compile(r"[0-9]{1,18}")
_LIST = re.compile(r"\[[0-9]{1,18}(?:, ?[0-9]{1,18})*\]")
# Who logged an event: the runtime, a delegate, or a delegate whose name for it states a unit.
_RUNTIME, _DELEGATE, _OTHER_CLOCK = range(3)
_ROWS_AT_ONCE = 4096
# Bytes of a slice at the peak. Not measured: a tuple of seven numbers and the columns' texts.
_SLICE_MEMORY = 400
_SEVERAL = "event of several runs: the table has start times but no durations: left out"
_OWN_CLOCK = "event timed by a separate delegate clock: left out"
_REMEDY = (
    "Open the ETDump instead, which has each start and duration; `opscope inspect` prints such a "
    "table of an ETDump"
)


def sniff(head: bytes) -> bool:
    """Whether the first line has the Inspector's columns, separated by tabs."""
    names = head.decode("utf-8-sig", "replace").partition("\n")[0].rstrip("\r").split("\t")
    return {_BLOCK, _NAME} <= set(names) and any(_UNIT.fullmatch(name) for name in names)


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """A slice for every start whose duration is known. Raises UnreadableFile, ReadCancelled."""
    try:
        return _events(path, progress, cancelled)
    except _OnlyStatistics:
        means = format_of("layers.reader").read(path, progress, cancelled)
        return replace(cast("Trace", means), format=FORMAT.name, generation="")


def _events(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    builder = TraceBuilder(path, FORMAT.name, "", Clock("ns", Fraction(1), assumed=True))
    rows = TableRows(path, builder, progress, cancelled, separator="\t", keeps_spaces=True)
    table: _Table | None = None
    for line, cells in rows:
        if table is None:
            rows.header, width = cells, len(cells)
            table = _Table(path, builder, cells)
        elif len(cells) <= width or rows.fits(line, cells):
            table.add(line - 1, cells)
            if line % _ROWS_AT_ONCE == 0:
                allowance().take(table.count * _SLICE_MEMORY)
    if table is None:
        raise UnreadableFile(path, "it has no header", where="line 1")
    return table.trace()


class _OnlyStatistics(Exception):
    """The table has no single events."""


class _Table:
    def __init__(self, path: str, builder: TraceBuilder, names: Sequence[str]) -> None:
        self._path = path
        self._at = {name: i for i, name in enumerate(names)}
        if _STARTS not in self._at and any(name.startswith(_STARTS) for name in names):
            raise UnreadableFile(path, "its header is not in a line of its own", remedy=_REMEDY)
        if _STARTS not in self._at:
            raise _OnlyStatistics
        unit_columns = {m[1]: (m[0], m[2]) for name in names if (m := _UNIT.fullmatch(name))}
        self._least, self._most = (unit_columns.get(which, ("", ""))[0] for which in ("min", "max"))
        unit = unit_columns.get("min", ("", ""))[1]
        if not self._least or not self._most or unit not in _NS:
            raise UnreadableFile(
                path,
                f"its durations are in {unit or 'an unknown unit'}",
                where="line 1",
                remedy=_REMEDY,
            )
        self._ns = _NS[unit]
        self._builder = builder
        self._slices: list[tuple[int, int, int, int, int, int, int]] = []
        self._columns: dict[str, list[str]] = {name: [] for name in _COLUMNS if name in self._at}
        self._known = self._unknown = 0

    @property
    def count(self) -> int:
        """The number of slices so far; a row has one for each of its starts."""
        return len(self._slices)

    def add(self, number: int, cells: list[str]) -> None:
        """Add one row, numbered from 1."""
        cell = {
            name: cells[position] for name, position in self._at.items() if position < len(cells)
        }
        starts, odd = _starts(cell.get(_STARTS, ""))
        extremes = cell.get(self._least, ""), cell.get(self._most, "")
        least = self._duration(extremes[0])
        most = least if extremes[1] == extremes[0] else self._duration(extremes[1])
        if not starts or least is None or most is None:
            self._builder.problem("row without usable times: left out", 1, f"row {number}")
            return
        self._builder.problem("start that is no time: left out", odd, f"row {number}")
        if least != most:
            self._builder.problem(_SEVERAL, 1, f"row {number}")
            self._unknown += 1
            return
        # An event without a duration has none in every run, so it is weak evidence.
        self._known += least > 0
        builder, name = self._builder, cell.get(_NAME, "")
        track = builder.track(os.path.basename(self._path), cell.get(_BLOCK, ""))
        scope = builder.scope(cell.get(_BLOCK, ""))
        by = _RUNTIME
        if cell.get(_DELEGATED) == "True":
            by = _OTHER_CLOCK if _OWN_UNIT.fullmatch(name) else _DELEGATE
            key = builder.key(KeyKind.DELEGATE_EVENT, name, scope=scope, identifier=name)
        else:
            kind = KeyKind.FRAMEWORK if name in RUNTIME_SCOPES else KeyKind.PLAIN
            key = builder.key(kind, name, scope=scope)
        code = builder.intern(name)
        for start in starts:
            self._slices.append((track, start, start + least, code, key, number - 1, by))
            for column, texts in self._columns.items():
                texts.append(cell.get(column, ""))
            if name in (EXECUTE, LOAD):
                run = RunKind.INFERENCE if name == EXECUTE else RunKind.LOAD
                builder.run(run, name, track, scope, start, start + least)

    def _duration(self, text: str) -> int | None:
        """Whole ns: the table contains whole ns of the runtime divided in binary floating point."""
        if not _NUMBER.fullmatch(text):
            return None
        ns = round(Fraction(text) * self._ns)
        return ns if 0 <= ns < 1 << 62 else None

    def trace(self) -> Trace:
        """The slices of all rows. Raises _OnlyStatistics if most of the events have none."""
        if self._unknown > self._known:
            raise _OnlyStatistics
        if self._slices:
            rows = np.array(self._slices, np.int64).T
            foreign = _on_own_clock(*rows[[0, 1, 2, 6]])
            if foreign.any():
                self._builder.problem(
                    _OWN_CLOCK, int(foreign.sum()), f"row {rows[5][foreign].min() + 1}"
                )
            included = np.flatnonzero(~foreign)
            columns = {
                name: Column.of_texts([texts[i] for i in included.tolist()])
                for name, texts in self._columns.items()
            }
            add_rows(self._builder, rows[:6, included].T, columns)
        return self._builder.build()


def _on_own_clock(track: Ints, start: Ints, end: Ints, by: Ints) -> Bools:
    """Which slices were timed by a clock other than the runtime's; by: who logged each."""
    on_other: Bools = by == _OTHER_CLOCK
    for track_number in np.unique(track).tolist():
        around = np.flatnonzero((track == track_number) & (by == _RUNTIME))
        around = around[np.argsort(start[around], kind="stable")]
        inside = np.flatnonzero((track == track_number) & (by == _DELEGATE))
        reach = np.append(np.iinfo(np.int64).min, np.maximum.accumulate(end[around]))
        started = np.searchsorted(start[around], start[inside], side="right")
        on_other[inside] |= reach[started] < end[inside]
    return on_other


def _starts(text: str) -> tuple[list[int], int]:
    """The whole numbers in the text of a Python list, and how many of its parts are others."""
    if not text.startswith("[") or not text.endswith("]"):
        return [], 0
    if _LIST.fullmatch(text):
        return list(map(int, text[1:-1].split(","))), 0
    parts = [part.strip() for part in text[1:-1].split(",")]
    starts = [int(part) for part in parts if _WHOLE.fullmatch(part)]
    return starts, len(parts) - len(starts)


FORMAT = format_of("executorch.inspector_tsv")
