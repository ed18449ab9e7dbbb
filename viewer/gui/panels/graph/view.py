"""The graph widget: operators as boxes in layers, with a line for each data flow.

It is painted by hand, since there are at most a few hundred boxes, and text is drawn only if it is
readable. Drag pans, the wheel zooms toward the mouse. A click chooses an operator; a double click
or Enter centers the graph on it; the arrow keys move along the edges.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QImage,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QResizeEvent,
)

from viewer.gui.panels.graph.facts import NodeFacts
from viewer.gui.panels.graph.painting import (
    GraphPainter,
    node_size,
    whole_image,
    whole_svg,
)
from viewer.gui.panels.graph.pan_zoom import ENTER, SIDES, PanZoomView
from viewer.gui.panels.graph.picture import MARGIN, GraphPicture, curve
from viewer.gui.qt.accessibility import announce, has_role
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.image_files import png_bytes
from viewer.gui.qt.theme.theme import Theme
from viewer.reports.compare_text import WORDS

LAYER_GAP, NODE_GAP = 40, 24
_FITS_FROM, _SHOWN_AT = 0.7, 0.85  # graphs that need a smaller scale are shown in part, at 0.85
# Nodes are wide and low, so stacked layers need less space than layers side by side. At this ratio
# of width to height, five layers of three nodes fit equally well either way.
_WIDE = 2.2
_NEAR = 6.0  # px; the distance within which the mouse hits a line


@has_role(QAccessible.Role.Graphic)
class GraphView(PanZoomView):
    """Draws a graph and handles mouse and keys.

    `chosen(operator)`: a click or an arrow key. `walked(operator)`: a double click or Enter.
    `turned()`: the widget became tall or wide, see `is_wide`. `node_tip` and `edge_tip` are
    functions that return the tooltip of a node or an edge, given by its position.
    """

    KEYS = frozenset((*SIDES, *ENTER))
    chosen = Signal(int)
    walked = Signal(int)
    turned = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.picture: GraphPicture | None = None
        self.marked: frozenset[int] = frozenset()  # the selected operators
        self._current = -1  # position of the node that has the keyboard focus
        self._wide = False
        self.node_tip: Callable[[int], str] = lambda position: ""
        self.edge_tip: Callable[[int], str] = lambda edge: ""
        self.setAccessibleName("Graph of operators")

    @property
    def is_wide(self) -> bool:
        """Whether the layout should place producers left of consumers, not above them."""
        return self._wide

    @property
    def current(self) -> NodeFacts | None:
        """The node that has the keyboard focus."""
        picture = self.picture
        return picture.nodes[self._current] if picture and self._current >= 0 else None

    # -- contents --------------------------------------------------------------------------------

    def show_picture(self, picture: GraphPicture | None, *, stays: bool = False) -> None:
        """Show another picture and fit it. stays: keep scale and position (same layout)."""
        self.picture = picture
        self.opacity = 1.0
        self._current = -1
        if picture is not None:
            picture.paths[:] = [curve(picture, edge) for edge in range(len(picture.layout.ptr) - 1)]
            self._current = picture.focus if picture.nodes else -1
        if not stays:
            self.fit()
        self.update()

    def mark(self, operators: frozenset[int]) -> None:
        """Highlight the selected operators."""
        if operators != self.marked:
            self.marked = operators
            picture = self.picture
            if picture is not None and len(operators) == 1:
                self._current = picture.around.position.get(next(iter(operators)), self._current)
            self.update()

    def accessible_value(self) -> str:
        """Return the text for screen readers: the focused operator and its cost."""
        node = self.current
        if node is None:
            return ""
        verdict = "" if node.verdict is None else WORDS[node.verdict]
        return ", ".join(filter(None, (node.name, node.place, node.cost, verdict)))

    def fit(self) -> None:
        """Show the whole picture, or if its text would be too small, the part around its focus."""
        self._fit(readable=True)

    def fit_all(self) -> None:
        """Show the whole picture, however small."""
        self._fit(readable=False)

    def drawn_size(self) -> QSizeF | None:
        picture = self.picture
        return None if picture is None else QSizeF(picture.layout.width, picture.layout.height)

    def _fit(self, *, readable: bool) -> None:
        picture, margin = self.picture, self._theme.px(MARGIN)
        if picture is None or not picture.nodes:
            return
        width, height = max(picture.layout.width, 1.0), max(picture.layout.height, 1.0)
        scale = self.scale_to_fit(margin)
        middle = QPointF(width / 2, height / 2)
        if readable and scale < _FITS_FROM:
            scale = _SHOWN_AT
            room = max(self.width() - 2 * margin, 1), max(self.height() - 2 * margin, 1)
            at = picture.focus
            middle = QPointF(float(picture.layout.x[at]), float(picture.layout.y[at]))
            # Show as much as fits, without empty space next to the picture.
            for size, extent, get, put in (
                (room[0], width, middle.x, middle.setX),
                (room[1], height, middle.y, middle.setY),
            ):
                half = size / 2 / scale
                put(extent / 2 if extent <= 2 * half else min(max(get(), half), extent - half))
        self.center_on(middle, scale)
        self._fits = True

    def place_of(self, position: int) -> QRectF:
        """Return the rectangle of a node, in px of the widget."""
        assert self.picture is not None
        width, height = node_size(self._theme)
        layout = self.picture.layout
        middle = self.to_widget(float(layout.x[position]), float(layout.y[position]))
        size = QPointF(width, height) * self.scale
        return QRectF(middle - size / 2, middle + size / 2)

    def node_at(self, at: QPointF) -> int:
        """Return the position of the node at a point of the widget, -1 for none."""
        picture = self.picture
        if picture is None or not picture.nodes:
            return -1
        width, height = node_size(self._theme)
        where = self.to_drawing(at)
        hit = (np.abs(picture.layout.x - where.x()) <= width / 2) & (
            np.abs(picture.layout.y - where.y()) <= height / 2
        )
        found = np.flatnonzero(hit)
        return int(found[0]) if len(found) else -1

    def edge_at(self, at: QPointF) -> int:
        """Return the edge that passes a point of the widget, -1 for none."""
        if self.picture is None:
            return -1
        where, near = self.to_drawing(at), _NEAR / self.scale
        box = QRectF(where.x() - near, where.y() - near, 2 * near, 2 * near)
        for number, path in enumerate(self.picture.paths):
            if path.controlPointRect().adjusted(-near, -near, near, near).contains(where):
                # An open curve has no interior: close it by its own reverse.
                outline = QPainterPath(path)
                outline.connectPath(path.toReversed())
                if outline.intersects(box):
                    return number
        return -1

    # -- mouse and keys --------------------------------------------------------------------------

    def is_button(self, at: QPointF) -> bool:
        return self.node_at(at) >= 0

    def click(self, at: QPointF) -> None:
        position = self.node_at(at)
        if position >= 0:
            self._choose(position)

    @guard
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        position = self.node_at(event.position())
        self._pressed = None
        if position >= 0 and self.picture is not None:
            self.walked.emit(self.picture.nodes[position].operator)

    def tip_at(self, at: QPointF) -> str:
        position = self.node_at(at)
        if position >= 0:
            return self.node_tip(position)
        edge = self.edge_at(at)
        return self.edge_tip(edge) if edge >= 0 else ""

    def press_key(self, key: Qt.Key, modifiers: Qt.KeyboardModifier) -> None:
        if key in SIDES:
            self._step(*SIDES[key])
        elif self.current is not None:
            self.walked.emit(self.current.operator)

    def _step(self, right: int, down: int) -> None:
        """Move to a producer or consumer of the current node, or to a neighbor in its layer."""
        picture, at = self.picture, self._current
        if picture is None or at < 0:
            return
        along, across = (right, down) if picture.across else (down, right)
        u, v = (
            (picture.layout.x, picture.layout.y)
            if picture.across
            else (picture.layout.y, picture.layout.x)
        )
        if along:
            found = picture.around.gives(at) if along > 0 else picture.around.takes(at)
        else:
            found = np.flatnonzero((np.abs(u - u[at]) < 1) & ((v - v[at]) * across > 0))
        if len(found):
            nearest = found[np.argmin(np.abs(v[found] - v[at]) + np.abs(u[found] - u[at]))]
            self._choose(int(nearest))
            self.bring(self.place_of(int(nearest)))

    def _choose(self, position: int) -> None:
        assert self.picture is not None
        self._current = position
        self.update()
        announce(self, self.accessible_value)
        self.chosen.emit(self.picture.nodes[position].operator)

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        was = self._wide
        # Hysteresis: the layout must not flip back and forth while an edge is dragged.
        self._wide = self.width() > self.height() * _WIDE * (0.9 if was else 1.1)
        if self._fits:
            self.fit()
        if was != self._wide:
            self.turned.emit()

    # -- image export ----------------------------------------------------------------------------

    def image(self) -> QImage:
        """Return the whole picture at a scale of 1, usually with 2 pixels per point."""
        assert self.picture is not None
        return whole_image(self.picture, self.marked, self._theme)

    def picture_bytes(self, *, svg: bool) -> bytes:
        """Return the whole picture as the bytes of an SVG or PNG file."""
        assert self.picture is not None
        if not svg:
            return png_bytes(self.image())
        title, description = self.accessibleName(), self.accessibleDescription()
        return whole_svg(self.picture, self.marked, self._theme, title, description)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.color("canvas"))
        painter.setOpacity(self.opacity)
        if self.picture is not None:
            graph = GraphPainter(self._theme, self._origin, self.scale)
            graph.paint(painter, self.picture, QRectF(self.rect()), self.marked)
        painter.setOpacity(1.0)
        self.paint_focus(painter)
        painter.end()
