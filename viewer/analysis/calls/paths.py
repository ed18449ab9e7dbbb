"""The distinct paths of a trace, and the one of every slice.

Slices are handled level by level of their lanes: a level gives each slice its node from that of its
parent and from its own label. A slice that opens no node hands down the one around it, so nodes of
one depth can come from several levels; they are merged once, as nodes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.calls.call_table import numbered, preorder
from viewer.analysis.statistics.group_keys import KeyGroups
from viewer.arrays import Bools, Codes, Ints, joined, levels, narrow, narrowest
from viewer.dataclasses import dataclass
from viewer.model.queries import TrackBlock, in_blocks, ranks
from viewer.model.trace import Slices, Trace

# Where frames begin: processes have depth 0, threads 1.
FRAMES = 2


@dataclass(frozen=True, slots=True, eq=False)
class CallPaths:
    """The paths in preorder, as columns like those of `CallTable`, in as few bytes as they need.

    node: per slice the path that it is an occurrence of (int32), or the number of paths if it is of
    none, so that sums by node need one more bin.
    """

    labels: tuple[str, ...]
    parent: Ints
    name: Ints
    depth: Ints
    node: NDArray[np.int32]


def call_paths(
    trace: Trace,
    threads: Sequence[str],
    groups: KeyGroups,
    left_out: Bools | None,
    *,
    merges: bool,
) -> CallPaths:
    """Return the paths of all slices.

    threads: the names of the tracks. groups: the label of every key, if it has one. left_out: the
    slices that are in no path; None for none. merges: whether slices without a label, and with the
    same label as the nearest one around them that has one, are part of this one.
    """
    labels, group, name = _labels(trace, groups)
    processes: dict[str, int] = {}
    of_track = np.array(
        [processes.setdefault(track.process, len(processes)) for track in trace.tracks], np.int64
    )
    texts = (*labels, *processes, *threads)
    forest = _Forest(len(texts), len(labels), of_track, group, name, merges=merges)

    def of_block(block: TrackBlock) -> _Paths:
        is_left_out = None if left_out is None else left_out[block.span]
        return forest.paths(block.slices, is_left_out)

    slices = trace.slices
    # Paths in preorder are processes one after another, which blocks of tracks are in order of.
    if (of_track[1:] >= of_track[:-1]).all():
        parts = in_blocks(of_block, slices)
    else:
        parts = [forest.paths(slices, left_out)]
    return _joined(texts, parts)


@dataclass(frozen=True, slots=True, eq=False)
class _Paths:
    """The paths of a block of tracks, as in `CallPaths`; a slice of none has the number -1."""

    parent: Ints
    label: Ints
    depth: Ints
    node: NDArray[np.int32]


def _joined(texts: Sequence[str], parts: Sequence[_Paths]) -> CallPaths:
    """The paths of all blocks. The last process of one can be the first of the next."""
    count, root, process = 0, -1, -1  # so far: nodes, the last process, and its label
    shifted: list[_Paths] = []
    for part in parts:
        continues = int(len(part.label) > 0 and part.label[0] == process)
        shift = count - continues
        parent = narrow(np.where(part.parent < 0, -1, part.parent + shift))
        if continues:
            parent[part.parent == 0] = root
        node = part.node
        if shift:
            node = np.where(node < 0, -1, node + np.int32(shift))
        rest = slice(continues, None)
        shifted.append(_Paths(parent[rest], part.label[rest], part.depth[rest], node))
        roots = np.flatnonzero(part.parent < 0)
        if len(roots) > continues:
            root = int(roots[-1]) + shift
        process = int(part.label[roots[-1]]) if len(roots) else process
        count += len(part.label) - continues
    paths = joined(shifted)
    paths.node[paths.node < 0] = count
    return CallPaths(tuple(texts), paths.parent, paths.label, paths.depth, paths.node)


class _Forest:
    """Finds the paths of blocks of tracks. Labels are numbers: texts, then processes and tracks."""

    def __init__(
        self,
        labels: int,
        first_process: int,
        process_of_track: Ints,
        group: Ints,
        name: Ints,
        *,
        merges: bool,
    ) -> None:
        """labels: how many there are. group, name: of each key, as labels; -1 for no group."""
        self._labels, self._first_process = labels, first_process
        self._first_track = labels - len(process_of_track)
        self._process_of_track = process_of_track
        self._group, self._name, self._merges = group, name, merges

    def paths(self, slices: Slices, left_out: Bools | None) -> _Paths:
        """Return the paths of the slices of some tracks, and of these tracks and processes."""
        tracks = np.unique(slices.row_track).astype(np.int64)
        processes, process = np.unique(self._process_of_track[tracks], return_inverse=True)
        nodes = _Nodes(self._labels)
        nodes.add_distinct(np.full(len(processes), -1), self._first_process + processes)
        nodes.add_distinct(process, self._first_track + tracks)
        number_of_track = np.zeros(len(self._process_of_track), np.int64)
        number_of_track[tracks] = len(processes) + np.arange(len(tracks))
        node = _nodes_of_slices(
            slices, nodes, number_of_track, self._group, self._name, left_out, merges=self._merges
        )
        parent, label, depth, place = nodes.merged()
        bins = np.append(place, -1).astype(np.int32)
        return _Paths(narrow(parent), narrowest(label), narrowest(depth), bins[node])


def _labels(trace: Trace, groups: KeyGroups) -> tuple[Sequence[str], Ints, Ints]:
    """Return distinct texts, and per key of the trace those of its group (or -1) and its name."""
    if groups.labels is trace.strings:
        return groups.labels, groups.of_key, trace.keys.name.astype(np.int64)
    number: dict[str, int] = {}
    of_group = np.array(
        [*(number.setdefault(text, len(number)) for text in groups.labels), -1], np.int64
    )
    of_name = np.array([number.setdefault(text, len(number)) for text in trace.strings], np.int64)
    return tuple(number), of_group[groups.of_key], of_name[trace.keys.name]


class _Nodes:
    """Collects nodes in any order of depth; the same path may be added several times."""

    def __init__(self, labels: int) -> None:
        """labels: how many labels there are."""
        self._labels = labels
        self._parent = [np.empty(0, np.int64)]
        self._label = [np.empty(0, np.int64)]
        self._count = 0

    def add_distinct(self, parent: Ints, label: Ints) -> None:
        """Add nodes that differ from each other; parent: the number of an earlier node, or -1."""
        self._parent.append(parent.astype(np.int64))
        self._label.append(label.astype(np.int64))
        self._count += len(parent)

    def add(self, parent: Ints, label: Ints) -> Ints:
        """Add the node of every pair of an earlier node and a label; returns its number."""
        number, distinct = numbered(parent * np.int64(self._labels) + label)
        number += self._count
        self.add_distinct(*np.divmod(distinct, self._labels))
        return number

    def merged(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Return parent, label and depth of the distinct paths in preorder, siblings by label.

        The last is the place in this order of each node that was added.
        """
        parent, label = np.concatenate(self._parent), np.concatenate(self._label)
        depth = np.zeros(len(parent), np.int64)
        first, depths = 0, []
        for block in self._parent:
            span = slice(first, first + len(block))
            depth[span] = np.where(block < 0, 0, depth[block] + 1) if len(block) else 0
            depths += np.unique(depth[span]).tolist()
            first = span.stop
        if depths == list(range(len(depths))):
            # All nodes of a depth were added at once, and differ.
            path = np.arange(len(parent))
        else:
            parent, label, depth, path = self._distinct(parent, label, depth)
        order = preorder(parent, depth, label)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        own_parent = parent[order]
        below = np.flatnonzero(own_parent >= 0)
        own_parent[below] = place[own_parent[below]]
        return own_parent, label[order], depth[order], place[path]

    def _distinct(self, parent: Ints, label: Ints, depth: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Return parent, label and depth of the distinct nodes, and which one each node is."""
        path = np.empty(len(parent), np.int64)
        parents, labels, depths, count = [], [], [], 0
        for number, level in enumerate(levels(depth)):
            above = path[parent[level]] if number else np.zeros(len(level), np.int64)
            of, distinct = numbered(above * self._labels + label[level])
            path[level] = count + of
            count += len(distinct)
            parents.append(distinct // self._labels if number else np.full(len(distinct), -1))
            labels.append(distinct % self._labels)
            depths.append(np.full(len(distinct), number))
        return np.concatenate(parents), np.concatenate(labels), np.concatenate(depths), path


def _nodes_of_slices(
    slices: Slices,
    nodes: _Nodes,
    number_of_track: Ints,
    group: Ints,
    name: Ints,
    left_out: Bools | None,
    *,
    merges: bool,
) -> NDArray[np.int32]:
    """Return per slice the node that it occurs in, -1 if in none, and add these nodes.

    number_of_track: the node of each track. group: per key its label, -1 for none; name: the label
    of its name. merges: whether a slice is part of the one around it with the same label.
    """
    node = np.full(len(slices), -1, np.int32)
    ranked = ranks(slices)
    order_above = ranked[:0]
    around_above = near_above = np.empty(0, np.int64)
    for depth, here in enumerate(_by_depth(slices)):
        order = ranked[here]
        if depth:
            parent = _parents(order_above, order)
            around, near = around_above[parent], near_above[parent] if merges else near_above
        else:
            around = number_of_track[slices.tracks_of(here)]
            near = np.full(len(here), -1) if merges else near_above
        key = slices.key[here]
        label = group[key]
        opens = np.ones(len(here), np.bool_) if left_out is None else ~left_out[here]
        if merges:
            grouped = label >= 0
            within = near
            near = np.where(grouped & opens, label, within)
            opens &= np.where(grouped, label != within, within < 0)
            label = np.where(grouped, label, name[key])
        index = np.flatnonzero(opens)
        if len(index) == len(here):
            around = nodes.add(around, label)
            node[here] = around
        else:
            around[index] = nodes.add(around[index], label[index])
            node[here[index]] = around[index]
        order_above, around_above, near_above = order, around, near
    return node


def _by_depth(slices: Slices) -> list[Ints]:
    """Return the slices of every depth in their lanes, each in preorder of all lanes."""
    count = np.diff(slices.row_ptr)
    rows = np.argsort(slices.row_depth, kind="stable")
    count = count[rows]
    before = np.cumsum(count) - count
    index = np.repeat(slices.row_ptr[rows] - before, count) + np.arange(len(slices))
    depths = np.arange(1, int(slices.row_depth.max(initial=0)) + 1)
    bounds = np.searchsorted(slices.row_depth[rows], depths)
    ends = np.append(before, len(slices))[bounds]
    return np.split(index, ends) if len(index) else []


def _parents(above: Codes, here: Codes) -> Ints:
    """Return per slice the position of its parent in the level above.

    Both levels are given by their ranks in preorder, ascending. The shorter one is searched for.
    """
    if len(here) < len(above):
        return np.searchsorted(above, here) - 1
    bounds = np.append(np.searchsorted(here, above), len(here))
    return np.repeat(np.arange(len(above)), np.diff(bounds))
