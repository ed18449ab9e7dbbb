"""The layout of nested groups: every open group is a layered drawing of its members.

Inner groups are laid out first, then they are boxes of their groups. A drawing that would be much
higher than wide is wrapped into columns. Edges that come into a group or leave it run next to its
columns, one line for all, so that they cross no box and take no time. Drawings of groups are kept:
after a group is opened or closed, only it and the groups around it are laid out again, and groups
of one structure, such as the blocks of a transformer, are laid out once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.arrays import Floats, Ints
from viewer.render.graph.layout import GraphLayout, layered
from viewer.render.graph.open_groups import GroupEdges, ShownGroups
from viewer.render.graph.wrapping import wrapped

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
