"""The call tree from the other side: self time by name, and below each name its callers."""

from __future__ import annotations

import numpy as np

from viewer.analysis.calls.call_table import CallNodes, CallTable, numbered
from viewer.analysis.calls.paths import FRAMES
from viewer.arrays import Bools, Ints


def bottom_up(table: CallTable, levels: int | None = None, least: int = 0) -> CallTable:
    """Return the frames of a top-down table by name, and below each name its callers.

    levels: how many levels to return; by default all, to the thread and the process. There may be
    as many nodes as all paths have names together.

    Self time of a caller is self time of the root when called this way. So the self times of the
    roots add up to the time of the whole table, and those of the callers of a node to its own,
    unless it is an outermost one.
    """
    items = np.flatnonzero(table.depth >= FRAMES)
    ancestor, node = items, np.full(len(items), -1)
    parents, names, depths, figures = [], [], [], []
    count, depth = 0, 0
    while len(items) and (levels is None or depth < levels):
        number, distinct = numbered((node + 1) * len(table.labels) + table.name[ancestor])
        parents.append(distinct // len(table.labels) - 1)
        names.append(distinct % len(table.labels))
        depths.append(np.full(len(distinct), depth))
        figures.append(_figures(table, items, number, len(distinct)))
        node, ancestor = number + count, table.parent[ancestor]
        count, depth = count + len(distinct), depth + 1
        is_called = (ancestor >= 0) & (figures[-1][1] >= least)[number]
        items, ancestor, node = items[is_called], ancestor[is_called], node[is_called]
    if not count:
        return table.kept(np.zeros(len(table), np.bool_))
    total, self_ticks, slices, cut = np.concatenate(figures, axis=1)
    unknown = np.full(count, -1)
    parent, name, levels_of = map(np.concatenate, (parents, names, depths))
    zeros = None if table.zeros is None else cut
    call_table = CallTable(
        table.labels, parent, name, levels_of, unknown, total, self_ticks, slices, zeros
    )
    return call_table.sorted_by(-name)


def called(table: CallTable, inverted: CallNodes, node: int) -> Ints:
    """Return the nodes of a top-down table whose figures a node of its inversion adds up."""
    names = list[int]()
    while node >= 0:
        names.append(int(inverted.name[node]))
        node = inverted.parent_of(node)
    items = np.flatnonzero((table.depth >= FRAMES) & (table.name == names.pop()))
    ancestor = items
    for name in reversed(names):
        ancestor = table.parent[ancestor]
        # The parent of a root is -1, and no name of another node may be read there.
        fits = (ancestor >= 0) & (table.name[ancestor] == name)
        items, ancestor = items[fits], ancestor[fits]
    return items


def _figures(table: CallTable, items: Ints, node: Ints, count: int) -> Ints:
    """Return total, self time, count and zeros of some nodes; shape (4, count).

    items: ascending nodes of the table; node: the number of the node that each belongs to.
    """
    figures = np.zeros((4, count), np.int64)
    outer = _outermost(table, items, node)
    np.add.at(figures[0], node[outer], table.total[items[outer]])
    np.add.at(figures[1], node, table.self_ticks[items])
    np.add.at(figures[2], node, table.count[items])
    if table.zeros is not None:
        np.add.at(figures[3], node, table.zeros[items])
    return figures


def _outermost(table: CallTable, items: Ints, node: Ints) -> Bools:
    """Return per item whether it is below no other item of its node."""
    order = np.argsort(node, kind="stable")
    # Each node's items are lifted above those of the node before it.
    lift = node[order] * (len(table) + 1)
    first = items[order] + lift
    reach = np.maximum.accumulate(first + table.size[items[order]])
    outer = np.empty(len(items), np.bool_)
    outer[order] = first >= np.append(first[:1], reach[:-1])
    return outer
