"""Tracks to be stacked, without the traces that they would come from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from viewer.model.trace import Trace
from viewer.render.arrangement import NEVER, TrackTable, TrackView, table_of, track_list
from viewer.render.layout import TimelineLayout
from viewer.render.stacking import stack


@dataclass(frozen=True)
class Row:
    """What a row holds: slices with a length, slices without, kernels alone."""

    lengths: bool = True
    zeros: bool = False
    kernels: bool = False


@dataclass(frozen=True)
class Tracked:
    """One track: its process, its name, its rows from top to bottom, and its first tick."""

    process: str
    name: str
    rows: Sequence[Row] = (Row(),)
    first: int = NEVER


def table(*tracks: Tracked) -> TrackTable:
    """The table of a trace with these tracks, whose rows count on from track to track."""
    rows = [row for track in tracks for row in track.rows]
    processes = list(dict.fromkeys(track.process for track in tracks))
    return TrackTable(
        names=tuple(track.name for track in tracks),
        processes=tuple(processes),
        process=np.array([processes.index(track.process) for track in tracks], np.int64),
        first=np.array([track.first for track in tracks], np.int64),
        row_ptr=np.cumsum([0, *(len(track.rows) for track in tracks)]),
        row=np.arange(len(rows)),
        kernels=np.array([row.kernels for row in rows], np.bool_),
        has_lengths=np.array([row.lengths for row in rows], np.bool_),
        has_zeros=np.array([row.zeros for row in rows], np.bool_),
    )


def stacked(trace: Trace) -> TimelineLayout:
    """The layout of one trace as it is opened."""
    return stack(track_list([table_of(trace, [t.thread for t in trace.tracks])]), TrackView())
