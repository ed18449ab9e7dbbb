"""The legend's buttons: one per class of the scheme, with swatch, title and share."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QEnterEvent, QIcon, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QAbstractButton, QWidget

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import FontRole, Theme
from viewer.gui.qt.widgets.elided_text import elided_text
from viewer.model.text import name_text
from viewer.model.times import counted, format_share, format_time
from viewer.render.color_shares import Share
from viewer.render.palette import (
    RAMP,
    UNATTRIBUTED,
    UNLINKED,
    canvas_rgb,
    contrast,
    edge_rgb,
    fills,
    label_colors,
)

HEIGHT = 30  # of the legend, px
SWATCH = 12
TITLE_WIDTH = 180  # px, maximum width of a title
_DIMS = "Click to dim everything else; click again to show everything."
_HATCHED = (UNLINKED, UNATTRIBUTED)
# Swatches with less contrast to the canvas get an outline.
_VISIBLE = 2.0


class LegendButton(QAbstractButton):
    """A flat, custom-painted button with a background on hover."""

    role: FontRole = "caption"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def text_of(self, text: str) -> None:
        """Set the text and the accessible name."""
        self.setText(text)
        self.setAccessibleName(text)

    @guard(QSize())
    def sizeHint(self) -> QSize:
        """The width of the text plus padding."""
        width = self._metrics(self.text()) + 2 * self.theme.px(6)
        return QSize(width, self.theme.px(HEIGHT - 6))

    def _metrics(self, text: str) -> int:
        self.setFont(self.theme.font(self.role))
        return self.fontMetrics().horizontalAdvance(text)

    @guard
    def enterEvent(self, event: QEnterEvent) -> None:
        """Repaint with the hover background."""
        super().enterEvent(event)
        self.update()

    @guard
    def leaveEvent(self, event: QEvent) -> None:
        """Repaint without the hover background."""
        super().leaveEvent(event)
        self.update()

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint background and text."""
        painter = QPainter(self)
        self._ground(painter)
        painter.setFont(self.theme.font(self.role))
        painter.setPen(self.theme.color("text2"))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self.text())
        painter.end()

    def _ground(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        room = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        token = "selection" if self.isChecked() else "hover" if self.underMouse() else ""
        painter.setPen(
            QPen(self.theme.color("accent"), 1.5) if self.hasFocus() else Qt.PenStyle.NoPen
        )
        painter.setBrush(self.theme.color(token) if token else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(room, 4, 4)


class ClassButton(LegendButton):
    """A class with swatch, title and share; a step of the duration ramp shows where it starts."""

    picked = Signal(object)  # (title, palette index)

    def __init__(self, share: Share, scope: str, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self.share = share
        self.is_step = share.color >= RAMP
        self.setCheckable(True)
        text = one_line(share.title)
        if self.is_step:
            start = text.partition(" – ")[0]
            text = f"from {start}" if " – " in text else start
        self.amount = "" if self.is_step else amount_text(share)
        self.setFont(theme.font(self.role))
        self.title = elided_text(
            self.fontMetrics(), text, Qt.TextElideMode.ElideMiddle, theme.px(TITLE_WIDTH)
        )
        self.setToolTip(class_tip(share, scope))
        self.setAccessibleName(f"{share.title}, {_facts(share, scope)}")
        self.setAccessibleDescription(_DIMS)  # the name covers the rest of the tooltip

    def pick(self) -> None:
        """Emit `picked` for this class; the session decides whether it is highlighted."""
        self.picked.emit((self.share.title, self.share.color))

    @guard(QSize())
    def sizeHint(self) -> QSize:
        """The size of swatch, title and amount side by side."""
        theme, title = self.theme, self._metrics(self.title)
        tall = theme.px(HEIGHT - 6)
        if self.is_step:
            return QSize(title + 2 * theme.px(8), tall)
        amount = self._metrics(self.amount) + theme.px(6)
        return QSize(theme.px(6 + SWATCH + 6 + 6) + title + amount, tall)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the class, or its step of the ramp."""
        painter, theme = QPainter(self), self.theme
        painter.setFont(theme.font(self.role))
        if self.is_step:
            self._paint_step(painter)
            painter.end()
            return
        self._ground(painter)
        side = theme.px(SWATCH)
        paint_class(
            painter,
            QRectF(theme.px(6), (self.height() - side) / 2, side, side),
            self.share.color,
            theme,
        )
        x = theme.px(6 + SWATCH + 6)
        middle = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.setPen(theme.color("text1"))
        painter.drawText(x, 0, self.width(), self.height(), middle, self.title)
        x += self._metrics(self.title) + theme.px(6)
        painter.setPen(theme.color("text2"))
        painter.drawText(x, 0, self.width(), self.height(), middle, self.amount)
        painter.end()

    def _paint_step(self, painter: QPainter) -> None:
        theme, color = self.theme, self.share.color
        room = QRectF(self.rect()).adjusted(0, theme.px(3), 0, -theme.px(3))
        painter.fillRect(room, QColor.fromRgb(fills(theme.dark)[color]))
        if self.isChecked() or self.hasFocus() or self.underMouse():
            token = "ring" if self.isChecked() else "accent" if self.hasFocus() else "text2"
            painter.setPen(QPen(theme.color(token), 2))
            painter.drawRect(room.adjusted(1, 1, -1, -1))
        painter.setPen(QColor.fromRgb(label_colors(theme.dark)[color]))
        painter.drawText(room, Qt.AlignmentFlag.AlignCenter, self.title)


def paint_class(painter: QPainter, room: QRectF, color: int, theme: Theme) -> None:
    """Paint the swatch of a palette index the way slices look: filled, or hatched."""
    fill = fills(theme.dark)[color]
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    edge = QColor.fromRgb(edge_rgb(fill))
    bare = theme.dark and contrast(fill, canvas_rgb(True)) > _VISIBLE
    line = theme.color("line") if theme.dark else edge
    painter.setPen(Qt.PenStyle.NoPen if bare else QPen(line, 1))
    painter.setBrush(QColor.fromRgb(fill))
    inside = room if bare else room.adjusted(0.5, 0.5, -0.5, -0.5)
    painter.drawRoundedRect(inside, 2.5, 2.5)
    if color in _HATCHED:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QBrush(theme.color("text3"), Qt.BrushStyle.BDiagPattern))
        painter.drawRoundedRect(inside, 2.5, 2.5)
    painter.restore()


def class_icon(color: int, theme: Theme) -> QIcon:
    """The swatch of a palette index as an icon."""
    side = theme.px(SWATCH)
    pixmap = QPixmap(2 * side, 2 * side)
    pixmap.setDevicePixelRatio(2)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    paint_class(painter, QRectF(0, 0, side, side), color, theme)
    painter.end()
    return QIcon(pixmap)


def one_line(title: str) -> str:
    """A title as one line; titles come from files and may contain anything or be empty."""
    return name_text(title[:300])


def amount_text(share: Share) -> str:
    """The share of the time, or the number of slices if they have no duration."""
    return format_share(share.ns, share.whole) if share.ns > 0 else counted(share.count, "slice")


def _facts(share: Share, scope: str) -> str:
    parts = [counted(share.count, "slice")]
    if share.ns > 0:
        part = format_share(share.ns, share.whole)
        of = "the files colored by name" if share.by_name else scope
        parts.append(f"{format_time(share.ns)} self, {part} of {of}")
    return " · ".join(parts)


def class_tip(share: Share, scope: str) -> str:
    """The tooltip of a class: full title, share of a scope, and what a click does."""
    title = name_text(share.title[:1000])
    text = f"{title}\n{_facts(share, scope)}\n{_DIMS}"
    return f'<div style="white-space: pre-wrap">{escape(text)}</div>'
