"""The call trees of several traces as one: every path once, with the path of every slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.calls.call_tree import left_out
from viewer.analysis.calls.paths import FRAMES, CallPaths, call_paths
from viewer.analysis.calls.preorder import numbered, preorder, sizes
from viewer.analysis.comparison.changes.paths.path_names import PathNames
from viewer.analysis.comparison.sessions import Session
from viewer.arrays import Floats, Ints, levels

PathOfSlice = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class JoinedPaths:
    """All paths in preorder: parallel int64 arrays.

    labels: the names. parent: the path around, -1 for an outermost one. name: index into `labels`.
    depth: 0 for an outermost one. of_slice: by the number of a trace the path of every slice,
    `len(parent)` for none (int32).
    """

    labels: tuple[str, ...]
    parent: Ints
    name: Ints
    depth: Ints
    of_slice: tuple[PathOfSlice, ...]

    def __len__(self) -> int:
        return len(self.parent)

    @cached_property
    def size(self) -> Ints:
        """How many paths the subtree of each path has, with itself. They follow the path."""
        return sizes(self.parent, self.depth)

    def rolled(self, values: Floats) -> Floats:
        """Return the sums over the subtrees of all paths, along the last axis.

        NaN counts as 0, and is the sum of a subtree of nothing else.
        """
        at, known = np.arange(len(self)), np.isfinite(values)
        ends = at + self.size
        sums, counts = (
            np.concatenate([np.zeros((*values.shape[:-1], 1)), np.cumsum(own, axis=-1)], axis=-1)
            for own in (np.where(known, values, 0), known)
        )
        has = counts[..., ends] > counts[..., at]
        return np.where(has, sums[..., ends] - sums[..., at], np.nan)

    def only(self, kept: Ints) -> JoinedPaths:
        """Return some paths, ascending, which include the parents of each."""
        place = np.full(len(self) + 1, len(kept))
        place[kept] = np.arange(len(kept))
        around = self.parent[kept]
        return JoinedPaths(
            self.labels,
            np.where(around >= 0, place[around], -1),
            self.name[kept],
            self.depth[kept],
            tuple(place[own].astype(np.int32) for own in self.of_slice),
        )


def joined_paths(traces: Sequence[tuple[Session, int]], names: PathNames) -> JoinedPaths:
    """Return the paths of some traces, without processes and threads.

    traces: a session of each trace, and its arm (0 or 1).
    """
    texts: dict[str, int] = {}
    made = []
    for session, side in traces:
        trace = session.table.trace
        # Threads have the number of their track only: paths are joined over all of them.
        tracks = list(map(str, range(len(trace.tracks))))
        found = call_paths(
            trace, tracks, names.of(session, side), left_out(session.table), merges=names.merges
        )
        made.append(_frames(found, texts))
    return _merged(made, tuple(texts))


@dataclass(frozen=True, eq=False)
class _Frames:
    """The frames of one trace: parent, label and depth, and the frame of every slice."""

    parent: Ints
    label: Ints
    depth: Ints
    of_slice: PathOfSlice


def _frames(paths: CallPaths, texts: dict[str, int]) -> _Frames:
    """The paths below threads, with labels numbered by `texts`, which grows."""
    is_frame = paths.depth >= FRAMES
    at = np.flatnonzero(is_frame)
    place = np.append(np.where(is_frame, np.cumsum(is_frame) - 1, -1), len(at))
    used, own = np.unique(paths.name[at], return_inverse=True)
    number = [texts.setdefault(paths.labels[i], len(texts)) for i in used.tolist()]
    return _Frames(
        np.where(paths.depth[at] > FRAMES, place[paths.parent[at]], -1),
        np.array(number, np.int64)[own.reshape(-1)],
        paths.depth[at] - FRAMES,
        place[paths.node].astype(np.int32),
    )


def _merged(made: Sequence[_Frames], texts: tuple[str, ...]) -> JoinedPaths:
    """The distinct paths of the frames of several traces."""
    labels = max(len(texts), 1)
    first = np.cumsum([0, *(len(one.parent) for one in made)])
    parent = np.concatenate(
        [np.where(m.parent >= 0, m.parent + f, -1) for m, f in zip(made, first, strict=False)]
        or [np.empty(0, np.int64)]
    )
    label = np.concatenate([one.label for one in made] or [parent])
    depth = np.concatenate([one.depth for one in made] or [parent])
    path = np.empty(len(parent), np.int64)
    parents, names, depths, count = [parent[:0]], [parent[:0]], [parent[:0]], 0
    for number, level in enumerate(levels(depth)):
        around = path[parent[level]] if number else np.full(len(level), -1)
        of, distinct = numbered((around + 1) * labels + label[level])
        path[level] = count + of
        count += len(distinct)
        parents.append(distinct // labels - 1)
        names.append(distinct % labels)
        depths.append(np.full(len(distinct), number))
    parent, name, depth = map(np.concatenate, (parents, names, depths))
    order = preorder(parent, depth, name)
    place = np.empty(len(order) + 1, np.int64)
    place[order] = np.arange(len(order))
    place[-1] = -1
    of_slice = []
    for one, begin in zip(made, first, strict=False):
        own = place[path[begin : begin + len(one.parent)]]
        of_slice.append(np.append(own, count)[one.of_slice].astype(np.int32))
    return JoinedPaths(texts, place[parent[order]], name[order], depth[order], tuple(of_slice))
