"""A turn of the wheel, or two fingers on a touchpad, as one measure for all that they move.

Wheels tell eighths of a degree, fine ones in fractions of a notch; touchpads tell px too. Some
platforms turn a wheel sideways while Alt is held; here Alt changes nothing.
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
    """px by which the content should go right and down, and notches away from the user."""

    right: float
    down: float
    notches: float

    @property
    def is_sideways(self) -> bool:
        """Whether it goes more to a side than up or down."""
        return abs(self.right) > abs(self.down)

    @property
    def sign(self) -> int:
        """1 away from the user, -1 towards, 0 for none."""
        return (self.notches > 0) - (self.notches < 0)

    @property
    def along(self) -> float:
        """px in the direction that it mainly goes."""
        return self.right if self.is_sideways else self.down


def keep_menu_closed(event: QWheelEvent) -> None:
    """Let Alt come up after a wheel event without giving the keyboard to the menu bar.

    Qt does so after a click with Alt, not after a wheel; the menu bar forgets that Alt is down when
    any window changes.
    """
    app = QCoreApplication.instance()
    if event.modifiers() & Qt.KeyboardModifier.AltModifier and app is not None:
        QCoreApplication.sendEvent(app, QEvent(QEvent.Type.ActivationChange))


def turn_of(event: QWheelEvent) -> WheelTurn:
    """What a wheel event says."""
    angle, pixels = event.angleDelta(), event.pixelDelta()
    if event.modifiers() & Qt.KeyboardModifier.AltModifier and not (angle.y() or pixels.y()):
        angle, pixels = angle.transposed(), pixels.transposed()
    # X11 drivers tell px that mean nothing.
    unreliable = QGuiApplication.platformName() == "xcb" and not angle.isNull()
    if pixels.isNull() or unreliable:
        right, down = (part * SCROLL_PER_NOTCH / NOTCH for part in (angle.x(), angle.y()))
    else:
        right, down = float(pixels.x()), float(pixels.y())
    turned = angle.y() or angle.x()
    notches = turned / NOTCH if turned else (down or right) / SCROLL_PER_NOTCH
    return WheelTurn(right, down, notches)
