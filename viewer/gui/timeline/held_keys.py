"""Turns held keys into motion: zoom, pan and scroll that accelerate while a key is down.

The first step is immediate. After that, the distance depends only on how long the key is held, not
on the number of events or frames. `traveled` gives the speed of Perfetto's timeline, integrated: 8
px or 0.8 % per frame at first, and as much again every 50 ms. Motion stops at the release. Perfetto
spreads the first step over several frames and continues after the release; that is omitted here,
because the view would lag behind the hand.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent

from viewer.gui.qt.crash_report import guard

STEP_MS = 8
FRAME_MS = 1000 / 60  # duration of the frame that speeds refer to
ACCELERATION = 1 / 50  # per ms, relative to the initial speed
# Longer steps are cut to this, since the key may have been released while the program was blocked.
LONGEST_STEP_MS = 100.0
# X11 sends a release for every repeat of a held key, and under load it can look like a real one.
# Repeats start only after a delay, and nobody presses a key again this soon after holding it.
REPEATS_AFTER_MS = 200.0
REPEAT_MS = 60.0


class HeldAxis(Enum):
    """What a key moves; the value is (first step, initial speed per frame).

    Pan and scroll are in px. Zoom is the natural logarithm of the factor by which the span grows.
    """

    ZOOM = (0.09531, 0.008)  # ln 1.1
    PAN = (50.0, 8.0)
    SCROLL = (60.0, 8.0)


@dataclass(frozen=True, slots=True)
class HeldWay:
    """An axis and a direction; sign 1 means later, further down, or zoomed out."""

    axis: HeldAxis
    sign: int

    @property
    def first_step(self) -> float:
        """The signed distance of the first step."""
        return self.sign * self.axis.value[0]


def traveled(ms: float) -> float:
    """Distance after holding a key for `ms`, in units of its initial speed per frame."""
    return (ms + ACCELERATION * ms * ms / 2) / FRAME_MS


class HeldKeys(QObject):
    """Emits `moved` (a `HeldAxis`, the distance, the time in s) as long as keys are down.

    While a key is held, it filters the events of the whole application, so it sees the release
    wherever it goes, and anything that takes the keyboard focus away. `clock` returns the time in
    s.
    """

    moved = Signal(object, float, float)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.clock: Callable[[], float] = time.monotonic
        self._held: dict[Qt.Key, _Hold] = {}
        self._let_go: dict[Qt.Key, tuple[_Hold, float]] = {}  # with the time of release in s
        self._timer = QTimer(self)
        self._timer.setInterval(STEP_MS)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self.step)

    @property
    def is_moving(self) -> bool:
        """Whether any key is held."""
        return bool(self._held)

    def tap(self, way: HeldWay) -> None:
        """Move by one step."""
        self.moved.emit(way.axis, way.first_step, self.clock())

    def press(self, key: Qt.Key, way: HeldWay) -> None:
        """Handle a key press: move one step, and keep moving until the release."""
        if key in self._held:
            return
        if not self._held:
            self._watch(True)
        now = self.clock()
        hold, when = self._let_go.pop(key, (None, now))
        self._timer.start()
        if hold is not None and hold.goes_on(way, when, now):
            self._held[key] = hold
        else:
            self._held[key] = _Hold(way, now)
            self.tap(way)

    def release(self, key: Qt.Key) -> None:
        """Handle a key release."""
        released = {key} if _keeps_its_name(key) else set(self._held)
        for name in released & self._held.keys():
            self._let_go[name] = self._held.pop(name), self.clock()
        if not self._held:
            self._stop()

    def release_all(self) -> None:
        """Stop moving when no release events will arrive."""
        self._held.clear()
        self._let_go.clear()
        self._stop()

    def _stop(self) -> None:
        self._timer.stop()
        self._watch(False)

    def step(self) -> None:
        """Move each held key's axis to its current distance."""
        now = self.clock()
        for hold in list(self._held.values()):
            distance = hold.go_to(now)
            self.moved.emit(hold.way.axis, distance, now)

    def _watch(self, watched: bool) -> None:
        app = QCoreApplication.instance()
        if app is not None:
            app.removeEventFilter(self)
            if watched:
                app.installEventFilter(self)

    @guard(False)
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Detect key releases, and events after which none will arrive."""
        kind = event.type()
        if kind == QEvent.Type.KeyRelease and isinstance(event, QKeyEvent):
            if not event.isAutoRepeat():
                self.release(Qt.Key(event.key()))
        elif kind in _LEAVING:
            self.release_all()
        return False


_LEAVING = {
    QEvent.Type.FocusOut, QEvent.Type.WindowDeactivate, QEvent.Type.WindowBlocked,
    QEvent.Type.ApplicationStateChange,
}  # fmt: skip


@dataclass(slots=True)
class _Hold:
    """A held key: start of its motion in s (later if steps were cut), and distance so far."""

    way: HeldWay
    since: float
    last: float = 0.0
    far: float = 0.0

    def go_to(self, now: float) -> float:
        """The signed distance from the last position, which is updated."""
        ms = (now - self.since) * 1000
        late = max(ms - self.last - LONGEST_STEP_MS, 0.0)
        self.since += late / 1000
        self.last = max(ms - late, self.last)
        far = traveled(self.last)
        moved, self.far = far - self.far, far
        return self.way.sign * moved * float(self.way.axis.value[1])

    def goes_on(self, way: HeldWay, let_go: float, now: float) -> bool:
        """Whether a press at `now` is only a repeat of this key, released at `let_go`."""
        long_enough = (let_go - self.since) * 1000 >= REPEATS_AFTER_MS
        return long_enough and self.way == way and (now - let_go) * 1000 < REPEAT_MS


def _keeps_its_name(key: Qt.Key) -> bool:
    """Whether a key's release reports the same key as its press.

    Signs do not: + becomes = once Shift is released. Neither do letters of other scripts: the key
    of a command for W is Ц there.
    """
    return Qt.Key.Key_A <= key <= Qt.Key.Key_Z or key >= Qt.Key.Key_Escape
