"""Wraps a high layered drawing into columns, and adds the edges from and to the outside.

Columns end between two layers. An edge into the next column goes down to the end of its column, up
in the gap between them, and down again. An edge from outside comes down in the gap left of the
column, and one to the outside goes down in the gap right of it, so none crosses a member.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import inf, log

import numpy as np

from viewer.arrays import Floats, Ints
from viewer.render.graph.layout import GraphLayout

_LEAST_ROWS = 6  # a group of fewer layers is not wrapped
_MOST_COLUMNS = 40
_STEP = 5.0  # px between two lines in one gap
_MOST_TRACKS = 8  # lines side by side in a gap; more lie on one another
_START = 1.2  # half gaps above the members, where edges from outside begin
_ASIDE = 14.0  # px from the middle of a member to where an edge from outside ends


def wrapped(
    drawn: GraphLayout,
    size: Floats,
    source: Ints,
    target: Ints,
    limits: tuple[float, float],
    layer_gap: float,
    node_gap: float,
) -> GraphLayout:
    """Return the wrapped drawing of n members, with all of their m edges.

    drawn: of the edges between members alone. size (n, 2): width and height of the members. source,
    target (m): positions of members, -1 for the outside. limits: the wanted width to height; if
    that is 0, the height to width up to which nothing is wrapped.
    """
    if not len(size):
        return replace(drawn, ptr=np.zeros(len(source) + 1, np.int64))
    layers = _Layers(drawn, size, layer_gap)
    comes, leaves = source < 0, target < 0
    gap = 2 * node_gap
    columns = layers.columns(limits, gap, has_left=bool(comes.any()), has_right=bool(leaves.any()))
    lines: list[list[tuple[float, float]]] = [[] for _ in source]
    inside = np.flatnonzero(~comes & ~leaves).tolist()
    for index, edge in enumerate(inside):
        line = drawn.points[drawn.ptr[index] : drawn.ptr[index + 1]].tolist()
        lines[edge] = columns.line(line, index)
    for edge in np.flatnonzero(comes).tolist():
        lines[edge] = columns.line_in(int(target[edge]))
    for edge in np.flatnonzero(leaves).tolist():
        lines[edge] = columns.line_out(int(source[edge]))
    ptr = np.concatenate([[0], np.cumsum([len(line) for line in lines], dtype=np.int64)])
    points = np.array([point for line in lines for point in line], np.float64).reshape(-1, 2)
    x, y = (columns.corners + size / 2).T
    return GraphLayout(x, y, points, ptr.astype(np.int64), columns.width, columns.height)


class _Layers:
    """The layers of a drawing: rows of members with one middle."""

    def __init__(self, drawn: GraphLayout, size: Floats, gap: float) -> None:
        self.drawn, self.size, self.gap = drawn, size, gap
        middle, self.of = np.unique(np.round(drawn.y, 3), return_inverse=True)
        count = len(middle)
        self.top, self.bottom = np.full(count, inf), np.full(count, -inf)
        self.left, self.right = np.full(count, inf), np.full(count, -inf)
        np.minimum.at(self.top, self.of, drawn.y - size[:, 1] / 2)
        np.maximum.at(self.bottom, self.of, drawn.y + size[:, 1] / 2)
        np.minimum.at(self.left, self.of, drawn.x - size[:, 0] / 2)
        np.maximum.at(self.right, self.of, drawn.x + size[:, 0] / 2)
        # Let layers be as wide as the edges that pass them.
        points = self.drawn.points
        if len(points):
            layers = np.clip(np.searchsorted(self.bottom, points[:, 1]), 0, len(self.top) - 1)
            np.minimum.at(self.left, layers, points[:, 0] - _STEP)
            np.maximum.at(self.right, layers, points[:, 0] + _STEP)

    def columns(
        self, limits: tuple[float, float], gap: float, *, has_left: bool, has_right: bool
    ) -> _Columns:
        """Return the columns with the shape that is nearest to the wanted one."""
        aspect, highest = limits
        count = len(self.top)
        whole = float(self.bottom.max() - self.top.min())
        wide = float(self.right.max() - self.left.min())
        best, cuts = inf, [0, count]
        if aspect <= 0 and (whole < highest * wide or count < _LEAST_ROWS):
            return _Columns(self, cuts, gap, has_left=has_left, has_right=has_right)
        wanted = aspect or 1.0
        for number in range(1, min(count, _MOST_COLUMNS) + 1):
            tried_cuts = self._cuts(whole / number)
            high = max(self.bottom[b - 1] - self.top[a] for a, b in pairwise(tried_cuts))
            width = sum(
                float(self.right[a:b].max() - self.left[a:b].min()) for a, b in pairwise(tried_cuts)
            ) + gap * (len(tried_cuts) - 2)
            distance = abs(log(max(width, 1.0) / max(float(high), 1.0) / wanted))
            if distance < best - 1e-9:
                best, cuts = distance, tried_cuts
        return _Columns(self, cuts, gap, has_left=has_left, has_right=has_right)

    def _cuts(self, height: float) -> list[int]:
        """Return the first layer of every column, if columns are about so high, and the count."""
        cuts = [0]
        for layer in range(1, len(self.top)):
            # A layer that would be beyond the height for more than its half begins a column.
            middle = (self.top[layer] + self.bottom[layer]) / 2
            if middle - self.top[cuts[-1]] > height:
                cuts.append(layer)
        return [*cuts, len(self.top)]


class _Columns:
    """The columns side by side, with their tops in one line."""

    def __init__(
        self, layers: _Layers, cuts: list[int], gap: float, *, has_left: bool, has_right: bool
    ) -> None:
        self._layers, self._cuts, self._gap = layers, np.array(cuts), gap
        drawn, size = layers.drawn, layers.size
        count = len(cuts) - 1
        self._shift = np.zeros((count, 2))
        self._side = np.zeros((count, 2))  # left and right side of every column
        x = gap / 2 if has_left and self._needs_bus() else 0.0
        for number, (a, b) in enumerate(pairwise(cuts)):
            left, right = float(layers.left[a:b].min()), float(layers.right[a:b].max())
            self._shift[number] = x - left, -float(layers.top[a])
            self._side[number] = x, x + right - left
            x += right - left + gap
        self.width = x - gap + (gap / 2 if has_right and self._needs_bus() else 0.0)
        bottoms = [float(layers.bottom[b - 1] - layers.top[a]) for a, b in pairwise(cuts)]
        self.height = max(bottoms)
        if count > 1:
            self.height += layers.gap
        self._column = np.searchsorted(self._cuts, layers.of, side="right") - 1
        place = np.column_stack([drawn.x, drawn.y]) + self._shift[self._column]
        self.corners = place - size / 2
        self._bounds = layers.top[self._cuts[:-1]] - layers.gap / 2

    def _needs_bus(self) -> bool:
        return len(self._layers.top) > 1

    def line(self, line: list[list[float]], number: int) -> list[tuple[float, float]]:
        """Return the line of an edge between members, led from column to column."""
        if not line:
            return []
        ys = [point[1] for point in line]
        columns = np.clip(np.searchsorted(self._bounds, ys, side="right") - 1, 0, None).tolist()
        points: list[tuple[float, float]] = []
        before = columns[0]
        step = (number % _MOST_TRACKS - _MOST_TRACKS // 2) * _STEP * 0.5
        for (x, y), column in zip(line, columns, strict=True):
            if column != before and points:
                last = points[-1]
                forward = column > before
                under = self.height - self._layers.gap / 2 + step / 2
                over = -self._layers.gap / 2 + step / 2
                aside = self._side[column, 0] - self._gap / 2 if forward else (
                    self._side[column, 1] + self._gap / 2)  # fmt: skip
                aside += step
                ends = (under, over) if forward else (over, under)
                inner = x + float(self._shift[column, 0])
                points += [
                    (last[0], ends[0]),
                    (aside, ends[0]),
                    (aside, ends[1]),
                    (inner, ends[1]),
                ]
            shift = self._shift[column]
            points.append((x + float(shift[0]), y + float(shift[1])))
            before = column
        return points

    def line_in(self, member: int) -> list[tuple[float, float]]:
        """Return the line of an edge from outside to a member."""
        layer, column = int(self._layers.of[member]), int(self._column[member])
        (left, top), (width, _) = self.corners[member].tolist(), self._layers.size[member].tolist()
        x = left + width / 2
        above = -self._layers.gap / 2
        if layer == self._cuts[column]:
            return [(x, _START * above), (x, top)]
        x -= min(_ASIDE, width / 4)
        bus = float(self._side[column, 0]) - self._gap / 4
        into = float(self._layers.top[layer] + self._shift[column, 1]) + above
        return [(bus, _START * above), (bus, into), (x, into), (x, top)]

    def line_out(self, member: int) -> list[tuple[float, float]]:
        """Return the line of an edge from a member to outside."""
        layer, column = int(self._layers.of[member]), int(self._column[member])
        (left, top), (width, height) = (
            self.corners[member].tolist(), self._layers.size[member].tolist(),
        )  # fmt: skip
        x, end = left + width / 2, self.height + self._layers.gap / 2
        if layer == self._cuts[column + 1] - 1:
            return [(x, top + height), (x, end)]
        x += min(_ASIDE, width / 4)
        bus = float(self._side[column, 1]) + self._gap / 4
        under = float(self._layers.bottom[layer] + self._shift[column, 1]) + self._layers.gap / 2
        return [(x, top + height), (x, under), (bus, under), (bus, end)]
