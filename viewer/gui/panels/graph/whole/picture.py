"""The laid-out whole model as the view draws it: rectangles, edges, and what is where."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainterPath

from viewer.arrays import Bools, Floats, Ints
from viewer.gui.panels.graph.fills import Fill
from viewer.gui.panels.graph.picture import curve_through
from viewer.gui.panels.graph.whole.looks import NodeLook
from viewer.gui.panels.graph.whole.question import WholeAnswer
from viewer.render.graph.model_tree import GroupTree

_MOST_CURVES = 4000  # that are kept


class WholePicture:
    """The picture of an answer, in px at a scale of 1. Nodes are those of its tree."""

    def __init__(self, answer: WholeAnswer) -> None:
        self.answer = answer
        layout, shown = answer.layout, answer.layout.shown
        self.tree: GroupTree = shown.tree
        self.rects: Floats = layout.rects
        self.boxes, self.frames = shown.boxes, shown.frames
        self.head = answer.question.sizes.head
        self._curves: dict[int, QPainterPath] = {}

    @property
    def looks(self) -> dict[int, NodeLook]:
        """The look of every visible node."""
        return self.answer.looks.of

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
        found: Floats = np.minimum(height[edges.source], height[edges.target])
        return found

    @cached_property
    def segments(self) -> tuple[Floats, Floats, Ints]:
        """Start and end of every straight piece of the edges, and the edge of each."""
        layout = self.answer.layout
        edge = np.repeat(np.arange(len(layout.edges)), np.diff(layout.ptr))
        same = edge[1:] == edge[:-1]
        return layout.points[:-1][same], layout.points[1:][same], edge[1:][same]

    def curve(self, edge: int) -> QPainterPath:
        """Return an edge as a smooth curve."""
        found = self._curves.get(edge)
        if found is None:
            if len(self._curves) >= _MOST_CURVES:
                self._curves.clear()
            layout = self.answer.layout
            line = layout.points[layout.ptr[edge] : layout.ptr[edge + 1]].tolist()
            found = self._curves[edge] = curve_through(line, across=False)
        return found

    @cached_property
    def box_ends(self) -> tuple[Ints, Ints]:
        """The boxes of producer and consumer of every edge between operators; -1 for none."""
        model, shown = self.answer.model, self.answer.layout.shown
        box_of = np.append(shown.box, -1)
        return box_of[self.tree.leaf[model.producer]], box_of[self.tree.leaf[model.consumer]]

    def edges_of(self, boxes: set[int]) -> Bools:
        """Return per edge whether it carries one from or to some boxes."""
        edges = self.answer.layout.edges
        if not len(edges) or not boxes:
            return np.zeros(len(edges), np.bool_)
        among = np.zeros(len(self.tree) + 1, np.bool_)
        among[list(boxes)] = True
        a, b = self.box_ends
        found: Bools = np.logical_or.reduceat((among[a] | among[b])[edges.carried], edges.ptr[:-1])
        return found

    def next_to(self, box: int, *, forward: bool) -> Ints:
        """Return the boxes that take what a box gives (`forward`), or give what it takes."""
        a, b = self.box_ends if forward else self.box_ends[::-1]
        found = np.unique(b[(a == box) & (b != box)])
        return found[found >= 0]

    # -- places ----------------------------------------------------------------------------------

    def rect(self, node: int) -> QRectF:
        """Return the rectangle of a node."""
        left, top, right, bottom = self.rects[node].tolist()
        return QRectF(left, top, right - left, bottom - top)

    def box_at(self, x: float, y: float) -> int:
        """Return the box at a point, -1 for none."""
        return _last(self.boxes, self.rects[self.boxes], x, y)

    def frame_at(self, x: float, y: float) -> int:
        """Return the innermost frame at a point, -1 for none."""
        return _last(self.frames, self.rects[self.frames], x, y)

    def edge_at(self, x: float, y: float, near: float) -> int:
        """Return the edge that passes a point at a distance of at most `near`, -1 for none."""
        start, end, edge = self.segments
        if not len(edge):
            return -1
        along, at = end - start, np.array([x, y]) - start
        length = np.maximum((along * along).sum(axis=1), 1e-9)
        part = np.clip((at * along).sum(axis=1) / length, 0.0, 1.0)
        distance = np.hypot(*(at - along * part[:, None]).T)
        best = int(np.argmin(distance))
        return int(edge[best]) if distance[best] <= near else -1

    def shown_of(self, node: int) -> int:
        """Return a node if it is visible, else the box that hides it."""
        shown = self.answer.layout.shown
        return node if shown.is_frame[node] else int(shown.box[node])

    @cached_property
    def by_fill(self) -> dict[Fill, list[QRectF]]:
        """The rectangles of all boxes by their fills."""
        found: dict[Fill, list[QRectF]] = {}
        rects = self.rects[self.boxes].tolist()
        for node, (left, top, right, bottom) in zip(self.boxes.tolist(), rects, strict=True):
            rect = QRectF(left, top, right - left, bottom - top)
            found.setdefault(self.looks[node].fill, []).append(rect)
        return found


def _last(nodes: Ints, rects: Floats, x: float, y: float) -> int:
    """Return the last of some nodes whose rectangle has a point."""
    left, top, right, bottom = rects.T
    hit = np.flatnonzero((left <= x) & (x < right) & (top <= y) & (y < bottom))
    return int(nodes[hit[-1]]) if len(hit) else -1
