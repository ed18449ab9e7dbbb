"""Pairs begin and end events of trace files, thread by thread.

Events are sorted by time; events at one time keep their file order. An end closes the innermost
open begin on its thread. An end with a name closes the innermost begin with that name, so that
overlapping slices keep their durations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.arrays import Bools, Codes, Ints


@dataclass(frozen=True, slots=True)
class EventPairs:
    """begin[i] is closed by end[i]. All arrays are positions; lone events have no counterpart."""

    begin: Ints
    end: Ints
    lone_begin: Ints
    lone_end: Ints


def paired(
    stack: Codes | Ints, time: Ints, is_end: Bools, name: Codes, nameless: int
) -> EventPairs:
    """Pair events given as parallel arrays.

    stack: what a begin and its end share, such as their thread. nameless: the code in `name` of
    ends that may close any begin.
    """
    order = np.lexsort((time, stack))
    of, ends = stack[order], is_end[order]
    named = name[order]
    level, lone_end = _levels(of, ends)
    # On one level of a stack, begins and ends alternate; only the last begin may have no end.
    matched = np.flatnonzero(~lone_end)
    by_level = matched[np.lexsort((level[matched], of[matched]))]
    begins = by_level[~ends[by_level]]
    follows = np.flatnonzero(~ends[by_level]) + 1
    inside = follows < len(by_level)
    closer = (
        np.where(inside, by_level[np.minimum(follows, len(by_level) - 1)], -1)
        if len(by_level)
        else np.empty(0, np.int64)
    )
    closed = inside.copy()
    closed[inside] = ends[closer[inside]]
    begin, end = begins[closed], closer[closed]
    fits = (named[end] == named[begin]) | (named[end] == nameless)
    lone_begin, lone = begins[~closed], np.flatnonzero(lone_end)
    if not fits.all() or _may_fit(of, named, lone_begin, lone):
        return _by_name(order, of, ends, named, nameless)
    return EventPairs(order[begin], order[end], order[lone_begin], order[lone])


def _levels(of: Ints | Codes, ends: Bools) -> tuple[Ints, Bools]:
    """The nesting level of each event, and which ends close nothing; events sorted by stack."""
    step = np.where(ends, -1, 1)
    total = np.cumsum(step)
    first = np.flatnonzero(np.append(True, of[1:] != of[:-1])) if len(of) else np.empty(0, np.int64)
    lengths = np.diff(np.append(first, len(of)))
    before = np.repeat(np.append(0, total)[first], lengths)
    height = total - before
    # An end closes nothing if it reduces the height to a new minimum of its stack. An offset that
    # falls faster than heights can separates the stacks.
    number = np.repeat(np.arange(len(first)), lengths)
    sunk = np.minimum.accumulate(np.minimum(height, 0) - number * (len(of) + 1)) + number * (
        len(of) + 1
    )
    earlier = np.append(0, sunk[:-1])
    earlier[first] = 0
    lone = ends & (sunk < earlier)
    level = height - sunk
    return np.where(ends, level, level - 1), lone


def _may_fit(of: Ints | Codes, named: Codes, begins: Ints, ends: Ints) -> bool:
    """Whether a lone begin and a lone end have the same stack and name."""
    if not len(begins) or not len(ends):
        return False
    pairs = {(int(of[i]), int(named[i])) for i in begins.tolist()}
    return any((int(of[i]), int(named[i])) in pairs for i in ends.tolist())


def _by_name(order: Ints, of: Ints | Codes, ends: Bools, named: Codes, nameless: int) -> EventPairs:
    """Like `paired`, one by one, for files where an end does not match the innermost begin."""
    begin, end, lone_begin, lone_end = [], [], [], []
    open_: list[int] = []
    by_name: dict[int, list[int]] = {}
    closed: set[int] = set()
    stack = -1
    for i, (now, is_end, name) in enumerate(
        zip(of.tolist(), ends.tolist(), named.tolist(), strict=True)
    ):
        if now != stack:
            lone_begin += [k for k in open_ if k not in closed]
            open_, by_name, closed, stack = [], {}, set(), now
        if not is_end:
            open_.append(i)
            by_name.setdefault(name, []).append(i)
            continue
        among = open_ if name == nameless else by_name.get(name, [])
        while among and among[-1] in closed:
            among.pop()
        if not among:
            lone_end.append(i)
            continue
        closed.add(among[-1])
        begin.append(among.pop())
        end.append(i)
    lone_begin += [k for k in open_ if k not in closed]
    return EventPairs(
        *(order[np.array(part, np.int64)] for part in (begin, end, lone_begin, lone_end))
    )
