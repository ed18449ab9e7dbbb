"""The levels that a profile CSV states for its rows, and the order of rows that they imply."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from viewer.arrays import Codes, Ints


def levels_of(codes: Codes, strings: Sequence[str]) -> Ints:
    """Depths, -1 for cells that are not one."""
    depth = [int(t) if re.fullmatch(r"\s*[0-9]{1,6}\s*", t) else -1 for t in strings]
    return np.array(depth, np.int64)[codes]


def preorder(rows: Ints, track: Codes, start: Ints, end: Ints, level: Ints) -> Ints:
    """The rows of each track with parents before children, as far as times and levels show it.

    Rows with the same start are ambiguous, because one without duration may be the last child of a
    slice or come before the next one. File order is tried first, then by depth, then slices without
    duration first. A track uses the first order without a fault.
    """
    is_long = end > start
    done: list[Ints] = []
    for keys in ((), (is_long, level), (level, is_long)):
        by = np.lexsort((rows, *(key[rows] for key in keys), start[rows], track[rows]))
        ordered = rows[by]
        faulty = np.isin(track[ordered], _faulty_tracks(ordered, track, start, end, level))
        done.append(ordered[~faulty])
        rows = ordered[faulty]
        if not len(rows):
            break
    return np.concatenate([*done, rows])


def _faulty_tracks(rows: Ints, track: Codes, start: Ints, end: Ints, level: Ints) -> Codes:
    """The tracks of rows that, in this order, skip a level or overlap on one."""
    track_of_row, depth = track[rows], level[rows]
    begins = np.append(True, track_of_row[1:] != track_of_row[:-1])
    skips = np.where(begins, depth != 0, np.diff(depth, prepend=0) > 1)
    by_depth = np.lexsort((np.arange(len(rows)), depth, track_of_row))
    before, after = rows[by_depth[:-1]], rows[by_depth[1:]]
    same_level = (track[before] == track[after]) & (level[before] == level[after])
    overlaps = same_level & (start[after] < end[before])
    return np.concatenate([track_of_row[skips], track[after[overlaps]]])
