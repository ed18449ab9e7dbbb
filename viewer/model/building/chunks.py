"""Joins the chunks of slices and tables of keys that readers add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints
from viewer.dataclasses import dataclass, fields
from viewer.model.trace import Column, Keys, Slices


@dataclass(slots=True)
class Chunk:
    """Slices added by a reader, as parallel arrays; level -1 if not known."""

    track: Codes
    start: Ints
    end: Ints
    name: Codes
    key: Codes
    source_row: Codes
    level: NDArray[np.int32]
    derived: Bools | None
    columns: Mapping[str, Column]
    timing: NDArray[np.uint8] | None = None
    nested: bool = False


def joined(parts: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    """Concatenate arrays; without any, an empty one of `dtype`. A single array is not copied."""
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, dtype)


def distinct_codes(values: Ints, size: int) -> tuple[Ints, Ints]:
    """The distinct values, sorted, and the index of each value among them.

    Values are in 0 .. `size` - 1. They are sorted only if they are few for that range. If every
    number occurs, the values are their own codes and the same array is returned.
    """
    if size > 4 * len(values) + 1000:
        distinct, code = np.unique(values, return_inverse=True)
        return distinct, code
    used = np.zeros(size, np.bool_)
    used[values] = True
    distinct = np.flatnonzero(used)
    return distinct, values if len(distinct) == size else (np.cumsum(used) - 1)[values]


def joined_keys(blocks: Sequence[tuple[Ints, Keys]], count: int) -> Keys:
    """Join tables of keys; each comes with the numbers of its keys."""

    if len(blocks) == 1 and len(blocks[0][1]) == count:  # numbered in this order
        return blocks[0][1]

    def column(name: str) -> NDArray[Any]:
        values = np.empty(count, getattr(blocks[0][1], name).dtype)
        for numbers, block in blocks:
            values[numbers] = getattr(block, name)
        return values

    return Keys(*(column(part.name) for part in fields(Keys)))


def joined_derived(chunks: Sequence[Chunk], final: Ints) -> Bools | None:
    """Which slices are derived, in final order; None if there are none."""
    if not any(c.derived is not None and c.derived.any() for c in chunks):
        return None
    parts = [np.zeros(len(c.start), np.bool_) if c.derived is None else c.derived for c in chunks]
    return np.concatenate(parts)[final]


def joined_timing(chunks: Sequence[Chunk], final: Ints) -> NDArray[np.uint8] | None:
    """Where the times come from, in final order; None if all are measured."""
    if not any(c.timing is not None and c.timing.any() for c in chunks):
        return None
    parts = [np.zeros(len(c.start), np.uint8) if c.timing is None else c.timing for c in chunks]
    timing: NDArray[np.uint8] = np.concatenate(parts)[final]
    return timing


def joined_columns(chunks: Sequence[Chunk], final: Ints) -> dict[str, Column]:
    """The columns of all chunks in final order; null where a chunk does not have one."""
    names = dict.fromkeys(name for chunk in chunks for name in chunk.columns)
    return {name: _joined_column(chunks, name, final) for name in names}


def _joined_column(chunks: Sequence[Chunk], name: str, final: Ints) -> Column:
    present = [c.columns[name] for c in chunks if name in c.columns]
    if len(chunks) == 1:
        return _alone(present[0], final)
    is_text = any(c.strings is not None for c in present)
    dtype = np.result_type(*(c.values.dtype for c in present))
    table: dict[str, int] = {}
    values, valid = [], []
    for chunk in chunks:
        n = len(chunk.start)
        column = chunk.columns.get(name)
        if column is None:
            values.append(np.zeros(n, dtype))
            valid.append(np.zeros(n, np.bool_))
            continue
        part = column.values
        if column.strings:
            codes = np.fromiter(
                (table.setdefault(s, len(table)) for s in column.strings), np.uint32
            )
            part = codes[np.where(part < len(codes), part, 0)]
        values.append(part)
        valid.append(np.ones(n, np.bool_) if column.valid is None else column.valid)
    mask = np.concatenate(valid)[final]
    return Column(
        np.concatenate(values)[final],
        None if mask.all() else mask,
        tuple(table) if is_text else None,
        present[0].unit,
    )


def _alone(column: Column, final: Ints) -> Column:
    """The column of a single chunk in final order; its texts are already interned."""
    reordered = column.taken(final)
    valid = None if reordered.valid is None or reordered.valid.all() else reordered.valid
    return Column(reordered.values, valid, reordered.strings, reordered.unit)


def slices_at(
    wanted: NDArray[Any], slices: Slices, *, with_derived: bool = False
) -> NDArray[np.int32]:
    """The slices at some source rows; -1 stays -1.

    Derived slices have no source row, except in a file that states them (`with_derived`).
    """
    rows = slices.source_row
    stated = np.arange(len(rows))
    if slices.derived is not None and not with_derived:
        stated = np.flatnonzero(~slices.derived)
    slice_of_row = np.full(int(rows.max(initial=0)) + 2, -1, np.int32)  # the last entry is for -1
    slice_of_row[rows[stated]] = stated
    slice_numbers: NDArray[np.int32] = slice_of_row[wanted]
    return slice_numbers
