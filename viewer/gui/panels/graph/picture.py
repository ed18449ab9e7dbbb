"""The laid-out graph that the view draws: nodes, edges and their curves."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from PySide6.QtGui import QPainterPath

from viewer.analysis.flows.neighborhood import Neighborhood
from viewer.gui.panels.graph.facts import NodeFacts
from viewer.render.graph.layout import GraphLayout

NODE_WIDTH, NODE_HEIGHT = 196, 52  # px at a scale of 1
MARGIN = 40  # px around a picture


@dataclass(frozen=True, eq=False)
class GraphPicture:
    """A graph with its layout.

    nodes: in the order of the neighborhood. across: whether layers run from left to right. seeds:
    positions of the nodes with a strong outline. focus: position of the node to show if not all
    fit. paths: the `curve` of each edge.
    """

    around: Neighborhood
    layout: GraphLayout
    nodes: tuple[NodeFacts, ...]
    across: bool
    seeds: frozenset[int] = frozenset()
    focus: int = 0
    paths: list[QPainterPath] = field(default_factory=list)


def curve(picture: GraphPicture, edge: int) -> QPainterPath:
    """Return an edge as a smooth curve through its points."""
    layout = picture.layout
    line = layout.points[layout.ptr[edge] : layout.ptr[edge + 1]].tolist()
    return curve_through(line, across=picture.across)


def curve_through(line: list[list[float]], *, across: bool) -> QPainterPath:
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
