"""What headers of processes, tracks and counters show: painted, and to assistive technology.

Headers are only painted, so the tree for assistive technology has a QObject that represents each,
created on first use.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, QPoint, QPointF, QRect, Qt
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QAccessibleInterface,
    QAccessibleObject,
    QAccessibleStateChangeEvent,
    QPainter,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import QWidget

from viewer.dataclasses import dataclass, field
from viewer.gui.qt.accessibility import PaintedAccessible, has_accessible
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import FontRole, Theme
from viewer.gui.qt.widgets.labels import elided_text, measurable
from viewer.gui.timeline.painting.frame import paint_process_header
from viewer.gui.timeline.scene.scene import Scene
from viewer.gui.timeline.scene.texts import counter_reading, counter_title, plan_title, track_title
from viewer.model.trace import KeyKind, Trace
from viewer.render.layout import BandKind, Canvas, HeaderPart

BUTTON = 20  # px
_LOOKED_AT = 512  # slices per row that are examined for its hint
_LONGEST = 1000  # characters
_PLAN_TITLE = 36  # px, two lines at font scale 1
_TWO_LINES = 28  # px; lower counters only have space for their name
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_GAP, _PROCESS = int(BandKind.GAP), int(BandKind.PROCESS)
_ROW, _COUNTER, _PLAN = int(BandKind.ROW), int(BandKind.COUNTER), int(BandKind.PLAN)
_LINE = _LEFT | Qt.TextFlag.TextSingleLine
_MIDDLE = Qt.TextElideMode.ElideMiddle
_MOST_KEPT = 4096  # cached elided texts
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


@dataclass
class HeaderLook:
    """What mouse and keyboard add to the column.

    pointed: the place on screen in ns under the mouse on the canvas, and that canvas. The others
    are: the band under the mouse and its buttons, the part with the keyboard focus, the dragged
    part, and the column line where it would be dropped.
    """

    hovered: int = -1
    buttons: list[tuple[str, QRect]] = field(default_factory=list)
    current: HeaderPart | None = None
    dragged: HeaderPart | None = None
    line: int | None = None
    pointed: tuple[int, Canvas] | None = None


class HeaderPainter:
    """Paints the headers column of one scene; texts start at `indent` px."""

    def __init__(self, scene: Scene, theme: Theme, indent: int) -> None:
        self._scene, self._theme, self._indent = scene, theme, indent
        # Caches: while scrolling, the same texts have the same width, and rows keep their hints.
        # This saves half of the column's time.
        self._cut: dict[tuple[str, FontRole, int, int], tuple[str, int]] = {}
        self._hints: dict[tuple[int, int], str] = {}
        self._ratio = 1.0  # device pixel ratio of the cached texts
        scene.arranged.connect(self._forget)

    def _forget(self) -> None:
        self._hints.clear()  # a number may now refer to another trace

    def paint(self, column: QWidget, look: HeaderLook) -> None:
        """Paint the column at its scroll position, with pinned tracks over the others."""
        painter = QPainter(column)
        theme, width = self._theme, column.width()
        if self._ratio != column.devicePixelRatioF():
            self._ratio = column.devicePixelRatioF()
            self._cut.clear()
        painter.fillRect(column.rect(), theme.color("panel"))
        for top, bottom in self._scene.sections(column.height()):
            painter.setClipRect(QRect(0, top, width, bottom - top))
            painter.fillRect(QRect(0, top, width, bottom - top), theme.color("panel"))
            # First, because titles of processes extend over the edge of the column.
            painter.setPen(QPen(theme.color("line"), 1))
            painter.drawLine(width - 1, top, width - 1, bottom)
            self._section(painter, top, bottom, width, look)
        painter.setClipping(False)
        if look.line is not None:
            painter.setPen(QPen(theme.color("accent"), 2))
            painter.drawLine(4, look.line, width - 5, look.line)
        painter.end()

    def _section(
        self, painter: QPainter, top: int, bottom: int, width: int, look: HeaderLook
    ) -> None:
        scene, theme, layout = self._scene, self._theme, self._scene.layout
        parts = scene.header_bands
        for band in layout.bands_between(scene.scroll + top, scene.scroll + bottom).tolist():
            y, height = int(layout.y[band]) - scene.scroll, int(layout.height[band])
            room = QRect(0, y, width, height)
            kind, part = int(layout.kind[band]), parts.part_of(band)
            if kind == _GAP:
                painter.fillRect(room, theme.color("canvas"))
                if band < layout.pinned:
                    painter.setPen(QPen(theme.color("line"), 1))
                    painter.drawLine(room.bottomLeft(), room.bottomRight())
                continue
            if part is not None and part == look.dragged:
                painter.setOpacity(0.45)
            buttons = look.buttons if band == look.hovered else []
            if kind == _PROCESS:
                self._process(painter, band, room)
            elif kind == _ROW or parts.is_title(band):
                if band == look.hovered:
                    painter.fillRect(room, theme.color("hover"))
                self._row(painter, band, room, hovered=band == look.hovered)
            elif kind == _COUNTER:
                self._counter(painter, band, room, look.pointed)
            elif kind == _PLAN:
                # A row of plans is tall: both lines are at its top.
                lines = round(_PLAN_TITLE * scene.font_scale)
                above = room.adjusted(0, 0, 0, min(lines - height, 0))
                self._two_lines(painter, *plan_title(scene, band), above)
            if buttons:
                self._buttons(painter, buttons, part)
            if part is not None and part == look.dragged:
                painter.setOpacity(1.0)
            if part is not None and part == look.current and parts.is_title(band):
                painter.setPen(QPen(theme.color("accent"), 2))
                painter.drawRect(room.adjusted(1, 1, -2, -1))

    def _process(self, painter: QPainter, band: int, room: QRect) -> None:
        process = int(self._scene.layout.process[band])
        paint_process_header(painter, self._scene, self._theme, process, room, self._indent)
        if process >= 0:
            part = self._scene.processes[process].part
            self._chevron(painter, part, room)

    def _chevron(self, painter: QPainter, part: HeaderPart, room: QRect) -> None:
        folded = part in self._scene.session.state.tracks.collapsed
        x, y = 12.5, room.center().y() + 0.5
        points = [(0, -3), (4, 1), (0, 5)] if folded else [(-2, -1), (2, 3), (6, -1)]
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._theme.color("text2"), 1.5))
        painter.drawPolyline(QPolygonF([QPointF(x + dx, y + dy) for dx, dy in points]))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _buttons(
        self, painter: QPainter, buttons: list[tuple[str, QRect]], part: HeaderPart | None
    ) -> None:
        is_pinned = part in self._scene.session.state.tracks.pinned
        ratio = painter.device().devicePixelRatioF()
        for name, room in buttons:
            if name == "pin" and is_pinned:
                name = "unpin"
            painter.fillRect(room, self._theme.color("hover"))
            icon = self._theme.pixmap(name, "text2", 16, ratio)
            painter.drawPixmap(room.x() + (BUTTON - 16) // 2, room.y() + (BUTTON - 16) // 2, icon)

    def _row(self, painter: QPainter, band: int, room: QRect, *, hovered: bool) -> None:
        layout, scene = self._scene.layout, self._scene
        part = int(layout.trace[band]), int(layout.track[band])
        is_title = scene.header_bands.is_title(band)
        folded = part in scene.session.state.tracks.collapsed
        if is_title and (folded or hovered) and scene.header_bands.can_fold(part):
            self._chevron(painter, part, room)
        room = room.adjusted(self._indent, 0, -10, 0)
        if not is_title:
            self._text(painter, self._hint(part[0], int(layout.row[band])), "ruler", "text3", room)
            return
        title, hint = track_title(scene, *part)
        if band < layout.pinned:
            hint = scene.processes[scene.track_list.process_of(part)].name
        if hovered:
            hint, room = "", room.adjusted(0, 0, -2 * BUTTON, 0)
        hint_width = 0
        if hint:
            painter.setFont(self._theme.font("ruler"))
            painter.setPen(self._theme.color("text3"))
            hint, hint_width = self._fitted(painter, hint, "ruler", 0, room.width() // 2)
            painter.drawText(room, _RIGHT, hint)
            hint_width += 8 if hint else 0
        self._text(painter, title, "process", "text1", room.adjusted(0, 0, -hint_width, 0))

    def _counter(
        self, painter: QPainter, band: int, room: QRect, pointed: tuple[int, Canvas] | None
    ) -> None:
        """Paint the name of a counter, its value at the mouse, and its extremes."""
        name, extremes = counter_title(self._scene, band)
        if pointed is None:
            self._two_lines(painter, name, extremes, room)
            return
        value = counter_reading(self._scene, band, *pointed)
        painter.setFont(self._theme.font("ruler"))
        painter.setPen(self._theme.color("text1"))
        value, wide = self._fitted(painter, value, "ruler", 0, room.width() * 2 // 3)
        if room.height() < _TWO_LINES:
            painter.drawText(room.adjusted(0, 0, -10, 0), _RIGHT, value)
            self._two_lines(painter, name, "", room.adjusted(0, 0, -wide - 8, 0))
            return
        lower = room.adjusted(self._indent, 2 + (room.height() - 4) // 2, -10, -2)
        painter.drawText(lower, _LINE, value)
        self._two_lines(painter, name, "", room)
        self._text(painter, f" · {extremes}", "ruler", "text3", lower.adjusted(wide, 0, 0, 0))

    def _two_lines(self, painter: QPainter, name: str, hint: str, room: QRect) -> None:
        """Paint a name with a hint below it, if there is room for two lines."""
        room = room.adjusted(self._indent, 2, -10, -2)
        if room.height() + 4 < _TWO_LINES:
            self._text(painter, name, "label", "text1", room)
            return
        half = room.height() // 2
        self._text(painter, name, "label", "text1", room.adjusted(0, 0, 0, -half))
        self._text(painter, hint, "ruler", "text3", room.adjusted(0, half, 0, 0))

    def _text(self, painter: QPainter, text: str, font: FontRole, ink: str, room: QRect) -> None:
        """Paint a line of text, elided in the middle; uses a smaller font in very low rows."""
        if not text:
            return
        fitted = self._theme.font(font)
        lowest, lower = room.height() - 1, 0
        if fitted.pixelSize() > lowest or fitted.pointSizeF() * 4 / 3 > lowest:
            lower = max(lowest, 6)
            fitted.setPixelSize(lower)
        painter.setFont(fitted)
        painter.setPen(self._theme.color(ink))
        text, _ = self._fitted(painter, text, font, lower, room.width())
        painter.drawText(room, _LINE, text)

    def _fitted(
        self, painter: QPainter, text: str, font: FontRole, lower: int, room: int
    ) -> tuple[str, int]:
        """Elide a text to `room` px in the painter's font; returns it with its width.

        `lower` is the font size in px if it is smaller than that of the role, else 0.
        """
        key = (text, font, lower, room)
        if key not in self._cut:
            if len(self._cut) >= _MOST_KEPT:
                self._cut.clear()
            metrics = painter.fontMetrics()
            cut = elided_text(metrics, shortened(measurable(text)), _MIDDLE, room)
            self._cut[key] = cut, metrics.horizontalAdvance(cut)
        return self._cut[key]

    def _hint(self, number: int, row: int) -> str:
        if (number, row) not in self._hints:
            if len(self._hints) >= _MOST_KEPT:
                self._hints.clear()
            trace = self._scene.rasters[number].open_trace.trace
            self._hints[number, row] = row_hint(trace, row)
        return self._hints[number, row]


def shortened(name: str) -> str:
    """A name cut in the middle to 1000 characters, since laying out a text costs its length."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST // 2]}…{name[-_LONGEST // 2 :]}"


def row_hint(trace: Trace, row: int) -> str:
    """What a row below the first contains, such as "kernel · delegate event" or "lane 2"."""
    slices, rows = trace.slices, trace.slices.rows_drawn
    if rows.row_lane[row] and not rows.row_depth[row]:
        return f"overlapping, lane {int(rows.row_lane[row]) + 1}"
    first, end = int(rows.row_ptr[row]), int(rows.row_ptr[row + 1])
    looked_at = slices.drawn_between(first, min(end, first + _LOOKED_AT))
    kinds = set(trace.keys.kind[slices.key[looked_at]].tolist())
    calls = {KeyKind.OPERATOR_CALL, KeyKind.DELEGATE_CALL, KeyKind.CONTROL}
    inner = {KeyKind.KERNEL: "kernel", KeyKind.DELEGATE_EVENT: "delegate event"}
    if kinds & calls:
        return "instruction"
    if trace.identifier_column:
        return ""
    return " · ".join(text for kind, text in inner.items() if kind in kinds)


_query = QAccessible.queryAccessibleInterface
_NONE: QAccessibleInterface = None  # type: ignore[assignment] # what Qt expects


class HeaderColumn(QWidget):
    """The interface of the headers column that the tree needs."""

    items: HeaderItems

    @property
    def current(self) -> HeaderPart | None:
        """The part with the keyboard focus, None if the focus is elsewhere."""
        raise NotImplementedError

    @property
    def parts(self) -> list[HeaderPart]:
        """All parts with a header, from top to bottom."""
        raise NotImplementedError

    def title_of(self, part: HeaderPart) -> str:
        """The name of a part; for a track, with its process."""
        raise NotImplementedError

    def room_of(self, part: HeaderPart) -> QRect:
        """The rectangle of a part's header in the column, which may be scrolled out of view."""
        raise NotImplementedError

    def is_folded(self, part: HeaderPart) -> bool | None:
        """Whether a part is collapsed, None if it cannot be."""
        raise NotImplementedError

    def part_at(self, y: int) -> HeaderPart | None:
        """The process or track whose header is at a line of the column."""
        raise NotImplementedError


class HeadersAccessible(PaintedAccessible):
    """The headers column as a tree."""

    def __init__(self, headers: HeaderColumn) -> None:
        super().__init__(headers, QAccessible.Role.Tree)
        self._headers = headers

    @guard(0)
    def childCount(self) -> int:
        """The number of headers, including those scrolled out of view."""
        return len(self._headers.parts)

    @guard(None)
    def child(self, index: int) -> QAccessibleInterface:
        """The header at a position from the top."""
        parts = self._headers.parts
        return _query(self._headers.items.of(parts[index])) if 0 <= index < len(parts) else _NONE

    @guard(-1)
    def indexOfChild(self, child: QAccessibleInterface) -> int:
        item, parts = child.object(), self._headers.parts
        if not (isinstance(item, HeaderItem) and item.part in parts):
            return -1
        return parts.index(item.part)

    @guard(None)
    def childAt(self, x: int, y: int) -> QAccessibleInterface:
        part = self._headers.part_at(self._headers.mapFromGlobal(QPoint(x, y)).y())
        return _NONE if part is None else _query(self._headers.items.of(part))

    @guard(None)
    def focusChild(self) -> QAccessibleInterface:
        current = self._headers.current
        return _NONE if current is None else _query(self._headers.items.of(current))


class HeaderItemAccessible(QAccessibleObject):
    """A header: its full name, whether it is collapsed, and its rectangle."""

    def __init__(self, item: HeaderItem) -> None:
        super().__init__(item)
        self._headers, self._part = item.headers, item.part

    @guard(QAccessible.Role.TreeItem)
    def role(self) -> QAccessible.Role:
        """An item of a tree."""
        return QAccessible.Role.TreeItem

    @guard("")
    def text(self, kind: QAccessible.Text) -> str:
        """The name; for a track, with its process."""
        return self._headers.title_of(self._part) if kind == QAccessible.Text.Name else ""

    @guard(QAccessible.State())
    def state(self) -> QAccessible.State:
        """Focus, selection, expansion and visibility of the header."""
        state, headers = QAccessible.State(), self._headers
        state.focusable = state.selectable = True
        state.focused = state.selected = headers.current == self._part
        folded = headers.is_folded(self._part)
        state.expandable = folded is not None
        state.expanded, state.collapsed = folded is False, folded is True
        visible = headers.isVisible() and headers.rect().intersects(headers.room_of(self._part))
        state.offscreen = not visible
        return state

    @guard(None)
    def parent(self) -> QAccessibleInterface:
        """The headers column."""
        return _query(self._headers)

    @guard(0)
    def childCount(self) -> int:
        """Items have no children."""
        return 0

    @guard(None)
    def child(self, index: int) -> QAccessibleInterface:
        """Items have no children."""
        return _NONE

    @guard(-1)
    def indexOfChild(self, child: QAccessibleInterface) -> int:
        """Items have no children."""
        return -1

    @guard(QRect())
    def rect(self) -> QRect:
        """The header's rectangle on the screen."""
        room = self._headers.room_of(self._part)
        return QRect(self._headers.mapToGlobal(room.topLeft()), room.size())


@has_accessible(HeaderItemAccessible)
class HeaderItem(QObject):
    """Represents one header for assistive technology."""

    def __init__(self, headers: HeaderColumn, part: HeaderPart) -> None:
        super().__init__(headers)
        self.headers, self.part = headers, part


class HeaderItems:
    """The accessible items of a headers column, by part."""

    def __init__(self, headers: HeaderColumn) -> None:
        self._headers = headers
        self._by_part: dict[HeaderPart, HeaderItem] = {}

    def of(self, part: HeaderPart) -> HeaderItem:
        """The item of a part, created on first use."""
        if part not in self._by_part:
            self._by_part[part] = HeaderItem(self._headers, part)
        return self._by_part[part]

    def announce_current(self, part: HeaderPart) -> None:
        """Announce that a part got the keyboard focus."""
        if QAccessible.isActive():
            event = QAccessibleEvent(self.of(part), QAccessible.Event.Focus)
            QAccessible.updateAccessibility(event)

    def announce_folded(self, part: HeaderPart) -> None:
        """Announce that a part was collapsed or expanded."""
        if QAccessible.isActive():
            changed = QAccessible.State()
            changed.expanded = changed.collapsed = True
            event = QAccessibleStateChangeEvent(self.of(part), changed)
            QAccessible.updateAccessibility(event)

    def forget_gone(self) -> None:
        """Delete the items of parts that are no longer shown."""
        for part in self._by_part.keys() - set(self._headers.parts) if self._by_part else ():
            self._by_part.pop(part).deleteLater()
