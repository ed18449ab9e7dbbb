"""The laid-out graph as the view draws it: rectangles, edges, and what is where."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF
from PySide6.QtGui import QPainterPath

from viewer.arrays import Bools, Floats, Ints
from viewer.gui.panels.graph.node_figures import Fill
from viewer.gui.panels.graph.question import GraphAnswer
from viewer.render.graph.model_tree import GroupTree

_MOST_CURVES = 4000  # that are stored


class GraphPicture:
    """The picture of an answer, in px at a scale of 1. Nodes are those of its tree.

    across: whether producers are left of consumers, else they are above them. seeds: the nodes with
    a strong outline. focus: the node to show if not all fit, -1 to show all, however small.
    """

    def __init__(self, answer: GraphAnswer) -> None:
        self.answer = answer
        layout, shown_groups, sizes = answer.layout, answer.layout.shown, answer.question.sizes
        self.tree: GroupTree = shown_groups.tree
        self.rects: Floats = layout.rects
        self.size = QSizeF(layout.width, layout.height)
        self.boxes, self.frames = shown_groups.boxes, shown_groups.frames[int(sizes.is_bare) :]
        self.head, self.across = sizes.head, sizes.across
        self.seeds, self.focus = frozenset(answer.seeds.tolist()), answer.focus
        self.looks = answer.looks
        self._curves: dict[int, QPainterPath] = {}

    # -- edges -----------------------------------------------------------------------------------

    @cached_property
    def edge_boxes(self) -> Floats:
        """The rectangle around every edge (m, 4)."""
        layout = self.answer.layout
        if not len(layout.edges):
            return np.zeros((0, 4))
        first = layout.ptr[:-1]
        low = np.minimum.reduceat(layout.points, first, axis=0)
        return np.hstack([low, np.maximum.reduceat(layout.points, first, axis=0)])

    @cached_property
    def least_ends(self) -> Floats:
        """The lower of the heights of what every edge connects (m)."""
        edges = self.answer.layout.edges
        height = self.rects[:, 3] - self.rects[:, 1]
        return np.asarray(np.minimum(height[edges.source], height[edges.target]))

    @cached_property
    def segments(self) -> tuple[Floats, Floats, Ints]:
        """Start and end of every straight piece of the edges, and the edge of each."""
        layout = self.answer.layout
        edge = np.repeat(np.arange(len(layout.edges)), np.diff(layout.ptr))
        same = edge[1:] == edge[:-1]
        return layout.points[:-1][same], layout.points[1:][same], edge[1:][same]

    def curve(self, edge: int) -> QPainterPath:
        """Return an edge as a smooth curve."""
        path = self._curves.get(edge)
        if path is None:
            if len(self._curves) >= _MOST_CURVES:
                self._curves.clear()
            layout = self.answer.layout
            line = layout.points[layout.ptr[edge] : layout.ptr[edge + 1]].tolist()
            path = self._curves[edge] = _curve_through(line, across=self.across)
        return path

    @cached_property
    def _carried_ends(self) -> tuple[Ints, Ints]:
        """The boxes of producer and consumer of what every edge carries."""
        model, box_of = self.answer.model, self.answer.layout.shown.box_of
        carried = self.answer.layout.edges.carried
        return box_of[model.producer[carried]], box_of[model.consumer[carried]]

    def edges_of(self, boxes: set[int]) -> Bools:
        """Return per edge whether it carries one from or to some boxes."""
        edges = self.answer.layout.edges
        if not len(edges) or not boxes:
            return np.zeros(len(edges), np.bool_)
        among = np.zeros(len(self.tree) + 1, np.bool_)
        among[list(boxes)] = True
        source, target = self._carried_ends
        carries: Bools = np.logical_or.reduceat(among[source] | among[target], edges.ptr[:-1])
        return carries

    def next_to(self, box: int, *, forward: bool) -> Ints:
        """Return the boxes that take what a box gives (`forward`), or give what it takes."""
        near, far = self._carried_ends if forward else self._carried_ends[::-1]
        return np.unique(far[near == box])

    # -- places ----------------------------------------------------------------------------------

    def rect(self, node: int) -> QRectF:
        """Return the rectangle of a node."""
        left, top, right, bottom = self.rects[node].tolist()
        return QRectF(left, top, right - left, bottom - top)

    def node_at(self, point: QPointF) -> int:
        """Return the box at a point, or the frame whose head is there; -1 for none."""
        x, y = point.x(), point.y()
        for nodes in (self.boxes, self.frames):
            left, top, right, bottom = self.rects[nodes].T
            hits = nodes[(left <= x) & (x < right) & (top <= y) & (y < bottom)]
            if len(hits):  # the last one is innermost
                is_below = nodes is self.frames and y > self.rects[hits[-1], 1] + self.head
                return -1 if is_below else int(hits[-1])
        return -1

    def edge_at(self, point: QPointF, near: float) -> int:
        """Return the edge that passes a point at a distance of at most `near`, -1 for none."""
        x, y = point.x(), point.y()
        place = QRectF(x - near, y - near, 2 * near, 2 * near)
        low, high = self.edge_boxes[:, :2] - near, self.edge_boxes[:, 2:] + near
        is_near = ((low <= [x, y]) & ([x, y] <= high)).all(axis=1)
        for edge in np.flatnonzero(is_near).tolist():
            # An open curve has no interior: close it by its own reverse.
            outline = QPainterPath(self.curve(edge))
            outline.connectPath(self.curve(edge).toReversed())
            if outline.intersects(place):
                return int(edge)
        return -1

    def visible_of(self, node: int) -> int:
        """Return a node if it is visible, else the box that hides it, -1 if it is left out."""
        shown_groups = self.answer.layout.shown
        return node if shown_groups.is_frame[node] else int(shown_groups.box[node])

    @cached_property
    def by_fill(self) -> dict[Fill, list[QRectF]]:
        """The rectangles of all boxes by their fills."""
        rects: dict[Fill, list[QRectF]] = {}
        places = self.rects[self.boxes].tolist()
        for node, (left, top, right, bottom) in zip(self.boxes.tolist(), places, strict=True):
            rect = QRectF(left, top, right - left, bottom - top)
            rects.setdefault(self.looks[node].fill, []).append(rect)
        return rects


def _curve_through(line: list[list[float]], *, across: bool) -> QPainterPath:
    """Return a smooth curve through some points. across: it starts sideways, else downward."""
    path = QPainterPath()
    if not line:
        return path
    path.moveTo(*line[0])
    for (x0, y0), (x1, y1) in pairwise(line):
        if across:
            middle = (x0 + x1) / 2
            path.cubicTo(middle, y0, middle, y1, x1, y1)
        else:
            middle = (y0 + y1) / 2
            path.cubicTo(x0, middle, x1, middle, x1, y1)
    return path
