"""The layout of nested groups: every open group is a layered drawing of its members.

Inner groups are laid out first. Drawings are kept: after a group is opened or closed, only it and
the groups around it are laid out again, and groups of one structure, such as the blocks of a
transformer, once. A drawing that would be much higher than wide is wrapped into columns. An edge
into the next column goes down to the end of its column, up in the gap between them, and down again.
Edges that come into a group or leave it run in the gaps next to its columns, so that they cross no
member.
"""

from __future__ import annotations

from itertools import pairwise
from math import inf, log

import numpy as np

from viewer.arrays import Floats, Ints
from viewer.dataclasses import dataclass, replace
from viewer.render.graph.layout import GraphLayout, layered
from viewer.render.graph.model_tree import GroupEdges, ShownGroups

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


_MOST_DRAWINGS = 4096  # of groups
_HIGHEST = (4.0, 2.2, 1.2)  # height to width of groups that are not wrapped
_MOST_TRIED = 200  # boxes of a picture for which all of these are tried
_WORTH = 1.12  # how much larger the picture must be with a group wrapped further
_MOSTLY = 0.6  # the share of boxes in a group that has the shape of the window


@dataclass(frozen=True, slots=True)
class GroupSizes:
    """Lengths in px at a scale of 1.

    box_width, box_height: of an operator or a closed group. head: the line at the top of an open
    group, with its name. inset: between its border and its members. layer_gap, node_gap: between
    members, downward and sideways. aspect: width to height that the whole drawing should have.
    is_bare: the model has no head, and nothing is wrapped. across: producers are left of consumers,
    not above them.
    """

    box_width: float = 150.0
    box_height: float = 38.0
    head: float = 26.0
    inset: float = 12.0
    layer_gap: float = 20.0
    node_gap: float = 22.0
    aspect: float = 1.6
    is_bare: bool = False
    across: bool = False

    def head_of(self, frame: int) -> float:
        """Return the height of the head of a frame."""
        return 0.0 if self.is_bare and not frame else self.head


@dataclass(frozen=True, eq=False)
class NestedLayout:
    """The places of all that is visible, in px from the top left corner of the model's frame.

    rects (nodes of the tree, 4): left, top, right, bottom; 0 for hidden nodes. points (p, 2): the
    lines of the edges, downward; points[ptr[i] : ptr[i + 1]] is edge i of `edges`.
    """

    shown: ShownGroups
    edges: GroupEdges
    rects: Floats
    points: Floats
    ptr: Ints

    @property
    def width(self) -> float:
        return float(self.rects[0, 2])

    @property
    def height(self) -> float:
        return float(self.rects[0, 3])


class NestedLayouter:
    """Lays out the groups of one tree, and keeps the drawings of groups."""

    def __init__(self) -> None:
        self._drawings: dict[tuple[object, ...], GraphLayout] = {}
        self._highest: dict[float, float] = {}  # for an aspect, so that nothing jumps later

    def layout(
        self, shown_groups: ShownGroups, edges: GroupEdges, sizes: GroupSizes
    ) -> NestedLayout:
        """Return the layout of what is visible. Takes time in proportion to nodes and edges.

        The first picture decides how high a group may be before it is wrapped: so that the picture
        is as large as possible when it fits the window.
        """
        highest = self._highest.get(sizes.aspect)
        if highest is not None or len(shown_groups.boxes) > _MOST_TRIED or sizes.is_bare:
            return self._layout(shown_groups, edges, sizes, highest or _HIGHEST[0])
        best, most = None, 0.0
        for highest in _HIGHEST:
            layout = self._layout(shown_groups, edges, sizes, highest)
            size = min(sizes.aspect / max(layout.width, 1.0), 1 / max(layout.height, 1.0))
            if best is None or size > most * _WORTH:
                best, most, self._highest[sizes.aspect] = layout, size, highest
        assert best is not None
        return best

    def _layout(
        self, shown_groups: ShownGroups, edges: GroupEdges, sizes: GroupSizes, highest: float
    ) -> NestedLayout:
        count = len(shown_groups.tree)
        size = np.zeros((count, 2))
        size[shown_groups.boxes] = sizes.box_width, sizes.box_height
        corner = np.zeros((count, 2))  # of each member, in its group
        shift = np.zeros((count, 2))  # of the drawing of each group, in that group
        members = _members(shown_groups)
        first = np.searchsorted(edges.group, shown_groups.frames).tolist()
        last = np.searchsorted(edges.group, shown_groups.frames, side="right").tolist()
        drawings: dict[int, GraphLayout] = {}
        # The model, and the groups in it that are most of what is visible. These are wrapped to
        # the shape of the window.
        boxes = shown_groups.tree.count_inside(shown_groups.is_box)
        large = shown_groups.frames[boxes[shown_groups.frames] >= _MOSTLY * len(shown_groups.boxes)]
        main = {0, *large.tolist()}
        for number, frame in reversed(list(enumerate(shown_groups.frames.tolist()))):
            inside, part = members[frame], slice(first[number], last[number])
            limits = (sizes.aspect, 0.0) if frame in main else (0.0, highest)
            drawing = self._drawing(inside, size[inside], edges, part, sizes, limits)
            wide, head = max(drawing.width, sizes.box_width), sizes.head_of(frame)
            shift[frame] = sizes.inset + (wide - drawing.width) / 2, sizes.inset + head
            corner[inside] = np.column_stack([drawing.x, drawing.y]) - size[inside] / 2
            corner[inside] += shift[frame]
            size[frame] = wide + 2 * sizes.inset, drawing.height + head + 2 * sizes.inset
            drawings[frame] = drawing
        place = np.zeros((count, 2))
        depth = shown_groups.depth[shown_groups.visible]
        for level in range(1, int(depth.max(initial=0)) + 1):
            inside = shown_groups.visible[depth == level]
            place[inside] = place[shown_groups.parent[inside]] + corner[inside]
        groups = np.unique(edges.group).tolist()  # the order of the edges
        lines = [drawings[group].points + place[group] + shift[group] for group in groups]
        lengths = [np.diff(drawings[group].ptr) for group in groups]
        points = np.concatenate([np.zeros((0, 2)), *lines])
        ptr = np.cumsum(np.concatenate([np.zeros(1, np.int64), *lengths]))
        return NestedLayout(shown_groups, edges, np.hstack([place, place + size]), points, ptr)

    def _drawing(
        self,
        members: Ints,
        size: Floats,
        edges: GroupEdges,
        part: slice,
        sizes: GroupSizes,
        limits: tuple[float, float],
    ) -> GraphLayout:
        """Return the drawing of one group.

        members, size: these and their sizes. part: its edges. limits: as of `wrapped`.
        """
        place = {node: number for number, node in enumerate(members.tolist())}
        source = np.array([place.get(n, -1) for n in edges.source[part].tolist()], np.int64)
        target = np.array([place.get(n, -1) for n in edges.target[part].tolist()], np.int64)
        key = (size.tobytes(), source.tobytes(), target.tobytes(), limits, sizes)
        drawing = self._drawings.get(key)
        if drawing is None:
            inside = (source >= 0) & (target >= 0)
            drawing = layered(
                size[:, 0],
                size[:, 1],
                source[inside],
                target[inside],
                np.arange(len(members)),
                across=sizes.across,
                layer_gap=sizes.layer_gap,
                node_gap=sizes.node_gap,
            )
            if not sizes.is_bare:
                drawing = wrapped(
                    drawing, size, source, target, limits, sizes.layer_gap, sizes.node_gap
                )
            if len(self._drawings) >= _MOST_DRAWINGS:
                self._drawings.clear()
            self._drawings[key] = drawing
        return drawing


def _members(shown_groups: ShownGroups) -> dict[int, Ints]:
    """Return the visible members of every frame, in order."""
    visible = shown_groups.visible[1:]
    parent = shown_groups.parent[visible]
    order = np.argsort(parent, kind="stable")
    visible, parent = visible[order], parent[order]
    start = np.flatnonzero(np.diff(parent, prepend=-1))
    parts = np.split(visible, start[1:]) if len(visible) else []
    members = dict.fromkeys(shown_groups.frames.tolist(), np.zeros(0, np.int64))
    members.update(zip(parent[start].tolist(), parts, strict=True))
    return members
