"""Converts wheel and touchpad events to one measure for scrolling and zooming.

Wheels report eighths of a degree, and high-resolution wheels report fractions of a notch. Touchpads
also report px. Some platforms turn the wheel sideways while Alt is held; that is undone here.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtGui import QGuiApplication, QWheelEvent

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
