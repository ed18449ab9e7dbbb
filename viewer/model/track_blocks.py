"""Blocks of whole tracks: parts of a trace that fit a processor's cache, on two threads.

What is computed track by track, such as the tree of calls, needs a dozen arrays per slice. Of ten
million slices at once, each of these comes from main memory; of a block, from the cache. That takes
a third of the time, and the blocks run on two threads, as numpy releases the GIL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from viewer.model.trace import Slices

# Slices of a block, unless its only track has more: a dozen columns of them fit 16 MB.
BLOCK = 1 << 17
_MANY = 200_000  # slices from which starting threads pays off
_In = TypeVar("_In")
_Out = TypeVar("_Out")


@dataclass(frozen=True, slots=True)
class TrackBlock:
    """Some tracks that follow each other.

    span: their slices in the trace, and at the same time their ranks in preorder. slices: these as
    a trace of their own, with ranks from 0; its columns are views.
    """

    span: slice
    slices: Slices


def track_blocks(slices: Slices) -> list[TrackBlock]:
    """Return all slices in blocks of at least `BLOCK` slices, except the last one."""
    if len(slices) <= BLOCK:
        return [TrackBlock(slice(0, len(slices)), slices)]
    first_rows = np.flatnonzero(np.append(True, slices.row_track[1:] != slices.row_track[:-1]))
    rows, before = first_rows.tolist(), slices.row_ptr[first_rows].tolist()
    blocks, row, start = [], 0, 0
    for next_row, stop in zip(
        (*rows[1:], len(slices.row_track)), (*before[1:], len(slices)), strict=True
    ):
        if stop - start >= BLOCK or stop == len(slices):
            if stop > start:
                span = slice(start, stop)
                blocks.append(TrackBlock(span, _part(slices, span, slice(row, next_row))))
            row, start = next_row, stop
    return blocks


def _part(slices: Slices, span: slice, rows: slice) -> Slices:
    return Slices(
        start=slices.start[span],
        end=slices.end[span],
        name=slices.name[span],
        key=slices.key[span],
        source_row=slices.source_row[span],
        order=None if slices.order is None else slices.order[span] - np.uint32(span.start),
        row_ptr=slices.row_ptr[rows.start : rows.stop + 1] - span.start,
        row_track=slices.row_track[rows],
        row_lane=slices.row_lane[rows],
        row_depth=slices.row_depth[rows],
        derived=None if slices.derived is None else slices.derived[span],
        columns={name: column.taken(span) for name, column in slices.columns.items()},
        timing=None if slices.timing is None else slices.timing[span],
    )


def in_blocks(work: Callable[[TrackBlock], _Out], slices: Slices) -> list[_Out]:
    """Apply `work` to each block of tracks, in order."""
    blocks = track_blocks(slices)
    return on_two_threads(work, blocks, [len(block.slices) for block in blocks])


def on_two_threads(
    work: Callable[[_In], _Out], of: Sequence[_In], sizes: Sequence[int]
) -> list[_Out]:
    """Return what `work` makes of each item; on two threads if there are many slices in all.

    sizes: the slices of each item. The largest begin: otherwise a large last one would run alone.
    """
    if sum(sizes) < _MANY or len(of) < 2:
        return [work(block) for block in of]
    # Commands on small files do without it: it takes as long to import as they take to run.
    from concurrent.futures import ThreadPoolExecutor

    outputs: dict[int, _Out] = {}

    def keep(number: int) -> None:
        outputs[number] = work(of[number])

    with ThreadPoolExecutor(2, "tracks") as pool:
        for _ in pool.map(keep, sorted(range(len(of)), key=lambda number: -sizes[number])):
            pass  # raises what `work` raised
    return [outputs[number] for number in range(len(of))]
