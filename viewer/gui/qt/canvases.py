"""What canvases have in common: pyqtgraph's view without the rest, the wheel, and the hover tip.

pyqtgraph imports all its plots, items and widgets at once: 145 modules, a fifth of the time from
the start to the first frame, for one class. Here its package exists first without its contents, and
the module of that class is imported from it. The first use of anything else of the package, such as
`pyqtgraph.PlotItem`, executes its contents.

The hover tip is a child of the window instead of the canvas, which often has few rows, and it is
transparent to the mouse. Qt's own tooltip has a delay, is a separate window, and interprets names
as markup.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QGuiApplication, QPainter, QPaintEvent, QPen, QWheelEvent
from PySide6.QtWidgets import QWidget

from viewer.dataclasses import dataclass
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import FontRole, Theme
from viewer.gui.qt.widgets.labels import elided_text

_NAME = "pyqtgraph"
_VIEW = f"{_NAME}.widgets.GraphicsView"


def _import_view() -> Any:
    """Import the module of the view, alone if possible."""
    spec = importlib.util.find_spec(_NAME)
    if _NAME in sys.modules or spec is None or spec.loader is None:
        return importlib.import_module(_VIEW)
    package = sys.modules[_NAME] = importlib.util.module_from_spec(spec)
    loader = spec.loader

    def contents(name: str) -> Any:
        """Execute the package, which has its names from then on."""
        if name.startswith("__"):
            raise AttributeError(name)  # of an import or a look at all modules
        del package.__getattr__
        loader.exec_module(package)
        return getattr(package, name)

    def option(name: str) -> Any:
        return package.CONFIG_OPTIONS[name]

    # What the module of the view takes from its package.
    package.getConfigOption = option  # type: ignore[attr-defined]
    package._connectCleanup = _nothing_to_clean_up  # type: ignore[attr-defined]
    try:
        view = importlib.import_module(_VIEW)
    except (ImportError, AttributeError):  # another version takes more
        _forget(package)
        return importlib.import_module(_VIEW)
    package.__getattr__ = contents  # type: ignore[method-assign]
    return view


def _nothing_to_clean_up() -> None:
    """pyqtgraph's own function stops its plots at the exit, of which there are none yet."""


def _forget(package: ModuleType) -> None:
    for name in [name for name in sys.modules if name == _NAME or name.startswith(f"{_NAME}.")]:
        del sys.modules[name]


GraphicsView = _import_view().GraphicsView


NOTCH = 120  # eighths of a degree that one wheel notch turns
SCROLL_PER_NOTCH = 60  # px
ZOOM_PER_NOTCH = 1.25
BOTH = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


@dataclass(frozen=True, slots=True)
class WheelTurn:
    """Distance in px to move the content right and down, and wheel notches away from the user."""

    right: float
    down: float
    notches: float

    @property
    def is_sideways(self) -> bool:
        """Whether the movement is mainly horizontal."""
        return abs(self.right) > abs(self.down)

    @property
    def sign(self) -> int:
        """1 for a turn away from the user, -1 towards the user, 0 for none."""
        return (self.notches > 0) - (self.notches < 0)

    @property
    def along(self) -> float:
        """Distance in px along the main direction."""
        return self.right if self.is_sideways else self.down


def keep_menu_closed(event: QWheelEvent) -> None:
    """Keep the menu bar from taking the focus when Alt is released after an Alt+wheel event.

    Qt prevents this after an Alt+click, but not after a wheel event. The menu bar forgets that Alt
    is down when any window is activated, so this sends such an event.
    """
    app = QCoreApplication.instance()
    if event.modifiers() & Qt.KeyboardModifier.AltModifier and app is not None:
        QCoreApplication.sendEvent(app, QEvent(QEvent.Type.ActivationChange))


def turn_of(event: QWheelEvent) -> WheelTurn:
    """The movement that a wheel event reports."""
    angle, pixels = event.angleDelta(), event.pixelDelta()
    if event.modifiers() & Qt.KeyboardModifier.AltModifier and not (angle.y() or pixels.y()):
        angle, pixels = angle.transposed(), pixels.transposed()
    # Pixel deltas of X11 drivers are meaningless.
    unreliable = QGuiApplication.platformName() == "xcb" and not angle.isNull()
    if pixels.isNull() or unreliable:
        right, down = (part * SCROLL_PER_NOTCH / NOTCH for part in (angle.x(), angle.y()))
    else:
        right, down = float(pixels.x()), float(pixels.y())
    turned = angle.y() or angle.x()
    notches = turned / NOTCH if turned else (down or right) / SCROLL_PER_NOTCH
    return WheelTurn(right, down, notches)


_OFFSET = QPoint(14, 18)  # px, from the mouse to the box
_ABOVE = 8
_INSET = 8
_WIDEST = 520
_LONGEST = 300  # characters; more would not fit, and names come from files


class HoverTip(QWidget):
    """Shows lines of text at the mouse, the first one as a title; hidden without lines."""

    def __init__(self, owner: QWidget, theme: Theme) -> None:
        super().__init__(owner)
        self._owner, self._theme = owner, theme
        self.lines: tuple[str, ...] = ()
        self._texts: list[str] = []
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()
        theme.changed.connect(self.update)
        owner.destroyed.connect(self.deleteLater)  # `show_lines` makes it a child of the window

    def show_lines(self, lines: Sequence[str], mouse: QPoint) -> None:
        """Show these lines at a point of the owner; hide the tip if there are none."""
        if not lines:
            self.lines = ()
            self.hide()
            return
        window = self._owner.window()
        if self.parentWidget() is not window:
            self.setParent(window)
        if tuple(lines) != self.lines:
            self.lines = tuple(lines)
            self._fit(min(_WIDEST, window.width() - 2 * _INSET - 4))
            self.update()
        point = self._owner.mapTo(window, mouse)
        self.setGeometry(_box_at(point, self.size(), window.rect()))
        if self.isHidden():
            self.raise_()
            self.show()

    def _fit(self, widest: int) -> None:
        """Elide the lines to the widest allowed width, and resize to fit them."""
        self._texts, needed = [], 0
        for role, text in zip(self._roles, self.lines, strict=True):
            metrics = QFontMetrics(self._theme.font(role))
            one_line = " ".join(text[:_LONGEST].split())
            self._texts.append(elided_text(metrics, one_line, Qt.TextElideMode.ElideMiddle, widest))
            needed = max(needed, metrics.horizontalAdvance(self._texts[-1]))
        self.resize(needed + 2 * _INSET + 1, sum(self._heights) + 2 * _INSET - 2)

    @property
    def _roles(self) -> list[FontRole]:
        return ["process" if line == 0 else "cell" for line in range(len(self.lines))]

    @property
    def _heights(self) -> list[int]:
        return [QFontMetrics(self._theme.font(role)).height() + 1 for role in self._roles]

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), self._theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.color("line"), 1))
        painter.setBrush(theme.color("raised"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 5, 5)
        y = _INSET - 1
        for text, role, height in zip(self._texts, self._roles, self._heights, strict=True):
            painter.setFont(theme.font(role))
            painter.setPen(theme.color("text1" if role == "process" else "text2"))
            room = QRect(_INSET, y, self.width() - 2 * _INSET, height)
            painter.drawText(room, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)
            y += height
        painter.end()


def _box_at(mouse: QPoint, size: QSize, room: QRect) -> QRect:
    """The box below and to the right of the mouse, or on its other side if space is missing."""
    left, top = mouse.x() + _OFFSET.x(), mouse.y() + _OFFSET.y()
    if left + size.width() > room.width():
        left = max(mouse.x() - _OFFSET.x() - size.width(), 0)
    if top + size.height() > room.height():
        top = max(mouse.y() - _ABOVE - size.height(), 0)
    return QRect(QPoint(left, top), size)
