"""Held keys as motion: W and S zoom, A and D pan, faster the longer they are held.

The first step is at once; then one step a frame, a little larger each time, until the key is up.
Every frame is final: nothing eases out after the release.
"""

from __future__ import annotations

import time

from PySide6.QtCore import QElapsedTimer, QObject, Qt, QTimer, Signal

FRAME_MS = 16
_FIRST_PAN, _FIRST_ZOOM = 50.0, 0.10
_PAN, _ZOOM = 8.0, 0.008  # a frame
_DOUBLES_AFTER = 350.0  # ms of holding until a step is twice the first
_FASTEST = 8.0

ZOOM_KEYS = {Qt.Key.Key_W: -1, Qt.Key.Key_S: 1}
PAN_KEYS = {Qt.Key.Key_A: -1, Qt.Key.Key_D: 1, Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}


class HeldKeys(QObject):
    """Turns pressed keys into steps. `zoomed` carries a factor, `panned` pixels."""

    zoomed = Signal(float, float)  # factor, time of the step in s
    panned = Signal(float, float)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._held: dict[int, QElapsedTimer] = {}
        self._timer = QTimer(self)
        self._timer.setInterval(FRAME_MS)
        self._timer.timeout.connect(self._step)

    def press(self, key: int) -> bool:
        """A key went down; False if it is none of ours."""
        if key not in ZOOM_KEYS and key not in PAN_KEYS:
            return False
        if key not in self._held:
            watch = QElapsedTimer()
            watch.start()
            self._held[key] = watch
            self._move(key, _FIRST_PAN, _FIRST_ZOOM)
            self._timer.start()
        return True

    def release(self, key: int) -> None:
        """A key went up."""
        self._held.pop(key, None)
        if not self._held:
            self._timer.stop()

    def release_all(self) -> None:
        """The window lost the keyboard: no release will be told."""
        self._held.clear()
        self._timer.stop()

    def _step(self) -> None:
        for key, watch in list(self._held.items()):
            speed = min(2.0 ** (watch.elapsed() / _DOUBLES_AFTER), _FASTEST)
            self._move(key, _PAN * speed, _ZOOM * speed)

    def _move(self, key: int, pixels: float, share: float) -> None:
        now = time.monotonic()
        if key in ZOOM_KEYS:
            self.zoomed.emit(1.0 + share if ZOOM_KEYS[Qt.Key(key)] > 0 else 1 / (1 + share), now)
        else:
            self.panned.emit(pixels * PAN_KEYS[Qt.Key(key)], now)
