"""Whether the columns of a trace fit one another, for one that comes from a file of columns.

A damaged file is recognized by its CRCs. These checks are for a file whose CRCs are right and whose
columns are not: no index leads out of its table, so that it is refused before anything is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Codes, Ints
from viewer.model.trace import Column, Trace


def require_fitting(trace: Trace) -> None:
    """Raise ValueError if columns have different lengths, or rows, names or keys do not exist."""
    slices, keys, strings = trace.slices, trace.keys, len(trace.strings)
    count = len(slices)
    _same(
        count, slices.end, slices.name, slices.key, slices.source_row, slices.order,
        slices.derived, slices.timing,
    )  # fmt: skip
    for column in slices.columns.values():
        _same(count, column.values, column.valid)
        _coded(column)
    tracks = len(trace.tracks)
    _rows(count, slices.row_ptr, tracks, (slices.row_track, slices.row_lane, slices.row_depth))
    if (drawn := slices.drawn_rows) is not None:
        _same(count, drawn.index, drawn.position)
        _rows(count, drawn.row_ptr, tracks, (drawn.row_track, drawn.row_lane, drawn.row_depth))
        _below(count, drawn.index, drawn.position)
    _same(len(keys), keys.scope, keys.name, keys.instruction, keys.identifier, keys.location)
    _below(len(keys), slices.key)
    _below(strings, slices.name, keys.name)
    _below(len(trace.scopes), keys.scope)
    for run in trace.runs:
        if not (0 <= run.track < tracks and 0 <= run.scope < len(trace.scopes)):
            raise ValueError("a run on no track")
    for counter in trace.counters:
        _same(len(counter.tick), counter.value)
    untimed = trace.untimed
    _same(
        len(untimed), untimed.block, untimed.run, untimed.source_row, untimed.after, untimed.call,
        untimed.identifier, untimed.type, untimed.value, untimed.output,
    )  # fmt: skip
    _same(len(trace.flows), trace.flows.consumer)
    if (calls := trace.calls) is not None:
        _same(len(calls.stack_name), calls.stack_parent)
        _same(len(keys), calls.stack, calls.backward, calls.first)


def require_fitting_values(trace: Trace) -> None:
    """Raise ValueError if an index in another column leads out of its table, or a slice ends early.

    It reads all columns, which takes 60 ms for ten million slices.
    """
    slices, untimed, count = trace.slices, trace.untimed, len(trace.slices)
    if (slices.end < slices.start).any():
        raise ValueError("a slice that ends before it starts")
    if slices.order is not None:
        _below(count, slices.order)
    _within(count, trace.flows.producer, trace.flows.consumer, untimed.after, untimed.call)
    for column in (untimed.name, untimed.size, untimed.chain, untimed.instruction, untimed.offset):
        _coded(column)
    _below(len(untimed.blocks), untimed.block)
    _within(len(trace.runs), untimed.run)
    _within(len(untimed.identifiers), untimed.identifier)
    if (calls := trace.calls) is not None:
        _below(len(trace.strings), calls.stack_name)
        _within(len(calls.stack_name), calls.stack_parent, calls.stack)
        _within(count, calls.first)
        if (calls.stack_parent >= np.arange(len(calls.stack_parent))).any():
            raise ValueError("a stack that calls itself")


def _same(count: int, *columns: NDArray[Any] | None) -> None:
    if any(column is not None and len(column) != count for column in columns):
        raise ValueError("columns of different lengths")


def _rows(count: int, row_ptr: Ints, tracks: int, of_rows: Sequence[Codes]) -> None:
    if not len(row_ptr) or row_ptr[0] != 0 or row_ptr[-1] != count or (np.diff(row_ptr) < 0).any():
        raise ValueError("rows at another place")
    _same(len(row_ptr) - 1, *of_rows)
    _below(tracks, of_rows[0])


def _below(count: int, *columns: NDArray[Any]) -> None:
    _within(count, *columns, least=0)


def _within(count: int, *columns: NDArray[Any], least: int = -1) -> None:
    for column in columns:
        if len(column) and not (column.min() >= least and column.max() < count):
            raise ValueError("an index without an entry")


def _coded(column: Column) -> None:
    if column.strings is not None:
        values = column.values if column.valid is None else column.values[column.valid]
        _below(len(column.strings), values)
