"""What can be clicked in a summary: texts, key figures and findings, each painted by hand.

They are buttons, so that the keyboard and screen readers reach all of them.
"""

from __future__ import annotations

from math import ceil

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QEnterEvent,
    QFont,
    QFontMetrics,
    QFontMetricsF,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QAbstractButton, QSizePolicy

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import FontRole, Theme
from viewer.gui.qt.widgets.elided_text import elided_text, measurable
from viewer.gui.qt.widgets.labels import explain
from viewer.model.text import visible_controls

_WRAP = int(Qt.TextFlag.TextWordWrap)
_UNIT_GAP = 3
_GAIN_WIDTH = 68  # "100.0 %"
_LINE_GAP = 2


class SummaryLink(QAbstractButton):
    """A link without a frame: highlighted while hovered, outlined while it has keyboard focus."""

    def __init__(self, theme: Theme, hint: str = "") -> None:
        super().__init__()
        self._theme = theme
        self._is_hovered = False
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        explain(self, hint)

    def setText(self, text: str) -> None:
        """Set the text, in which an "&" is a character and not the sign of a shortcut."""
        super().setText(visible_controls(text))
        self.setShortcut(QKeySequence())

    @guard
    def enterEvent(self, event: QEnterEvent) -> None:
        self._is_hovered = True
        self.update()
        super().enterEvent(event)

    @guard
    def leaveEvent(self, event: QEvent) -> None:
        self._is_hovered = False
        self.update()
        super().leaveEvent(event)

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self.paint_link(painter)
        if self.hasFocus():
            painter.setPen(self._theme.color("accent"))
            painter.drawRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))
        painter.end()

    def paint_link(self, painter: QPainter) -> None:
        """Paint the contents."""
        raise NotImplementedError

    def _font(self, role: FontRole) -> QFont:
        """The font of a role, underlined while the mouse is over the link."""
        font = self._theme.font(role)
        font.setUnderline(self._is_hovered)
        return font


class TextLink(SummaryLink):
    """One line of text. elided: it takes any width and cuts what does not fit.

    Text is cut at its end; a name without spaces in its middle, because names often differ at
    their ends.
    """

    def __init__(
        self,
        text: str,
        theme: Theme,
        role: FontRole = "cell",
        tone: str = "text1",
        hint: str = "",
        *,
        elided: bool = False,
    ) -> None:
        super().__init__(theme, hint)
        self._role, self._tone, self._elided = role, tone, elided
        self.setText(text)
        policy = QSizePolicy.Policy.Ignored if elided else QSizePolicy.Policy.Fixed
        self.setSizePolicy(policy, QSizePolicy.Policy.Fixed)

    @guard(QSize())
    def sizeHint(self) -> QSize:
        metrics = QFontMetricsF(self._theme.font(self._role))
        width = ceil(metrics.horizontalAdvance(measurable(self.text())))
        return QSize(width + 2, ceil(metrics.height()) + 2)

    @property
    def shown_text(self) -> str:
        """The visible part of the text."""
        if not self._elided:
            return self.text()
        metrics = QFontMetrics(self._theme.font(self._role))
        is_name = " " not in self.text()
        where = Qt.TextElideMode.ElideMiddle if is_name else Qt.TextElideMode.ElideRight
        return elided_text(metrics, self.text(), where, self.width() - 2)

    def paint_link(self, painter: QPainter) -> None:
        shown = self.shown_text
        if shown != self.text() and not self.toolTip():
            explain(self, self.text())
        painter.setFont(self._font(self._role))
        painter.setPen(self._theme.color(self._tone))
        place = self.rect().adjusted(1, 0, -1, 0)
        side = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(place, int(side), shown)


class FigureLink(SummaryLink):
    """A number with its unit above a caption."""

    def __init__(self, number: str, unit: str, caption: str, theme: Theme, hint: str = "") -> None:
        super().__init__(theme, hint)
        self.number, self.unit, self.caption = number, unit, caption
        self.setText(f"{number} {unit}".strip())
        self.setAccessibleName(f"{caption}: {self.text()}")
        self.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Fixed)

    @guard(QSize())
    def sizeHint(self) -> QSize:
        number, unit, caption = self._metrics()
        first = number.horizontalAdvance(self.number) + unit.horizontalAdvance(self.unit)
        width = max(first + self._theme.px(_UNIT_GAP), caption.horizontalAdvance(self.caption))
        return QSize(int(width) + 4, int(number.height() + caption.height()) + 2)

    def _metrics(self) -> tuple[QFontMetricsF, QFontMetricsF, QFontMetricsF]:
        number, unit, caption = (self._theme.font(r) for r in ("figure", "cell", "caption"))
        return QFontMetricsF(number), QFontMetricsF(unit), QFontMetricsF(caption)

    def paint_link(self, painter: QPainter) -> None:
        theme, (number, _, caption) = self._theme, self._metrics()
        baseline = 1 + number.ascent()
        painter.setFont(self._font("figure"))
        painter.setPen(theme.color("text1"))
        painter.drawText(1, int(baseline), self.number)
        painter.setFont(theme.font("cell"))
        painter.setPen(theme.color("text2"))
        x = 1 + number.horizontalAdvance(self.number) + theme.px(_UNIT_GAP)
        painter.drawText(int(x), int(baseline), self.unit)
        painter.setFont(theme.font("caption"))
        painter.drawText(1, int(1 + number.height() + caption.ascent()), self.caption)


class FindingLink(SummaryLink):
    """A finding: its gain as a figure, what to do, and what that saves; texts wrap."""

    def __init__(self, gain: str, title: str, detail: str, theme: Theme, hint: str = "") -> None:
        super().__init__(theme, hint)
        self.gain, self._detail = gain, visible_controls(detail)
        self.setText(title)
        self.setAccessibleName(", ".join(filter(None, (title, detail))))
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    @guard(True)
    def hasHeightForWidth(self) -> bool:
        return True

    @guard(0)
    def heightForWidth(self, width: int) -> int:
        return self._places(width)[1].bottom() + 3

    @guard(QSize())
    def sizeHint(self) -> QSize:
        width = max(self.width(), self._theme.px(200))
        return QSize(width, self.heightForWidth(width))

    @guard(QSize())
    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.heightForWidth(self.width()))

    def _places(self, width: int) -> tuple[QRect, QRect]:
        """Return where the title and the detail are."""
        left = self._theme.px(_GAIN_WIDTH)
        title = self._wrapped(self.text(), "cell", left, 2, width)
        if not self._detail:
            return title, title
        top = title.bottom() + self._theme.px(_LINE_GAP)
        return title, self._wrapped(self._detail, "caption", left, top, width)

    def _wrapped(self, text: str, role: FontRole, left: int, top: int, width: int) -> QRect:
        metrics, wide = QFontMetrics(self._theme.font(role)), max(width - left - 2, 40)
        height = metrics.boundingRect(QRect(0, 0, wide, 0), _WRAP, text).height()
        return QRect(left, top, wide, height)

    def paint_link(self, painter: QPainter) -> None:
        theme, (title, detail) = self._theme, self._places(self.width())
        painter.setFont(theme.font("cost"))
        painter.setPen(theme.color("text1"))
        side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop
        painter.drawText(QRect(0, 1, title.left() - theme.px(10), 100), int(side), self.gain)
        painter.setFont(self._font("cell"))
        painter.drawText(title, _WRAP, self.text())
        if self._detail:
            painter.setFont(theme.font("caption"))
            painter.setPen(theme.color("text2"))
            painter.drawText(detail, _WRAP, self._detail)
