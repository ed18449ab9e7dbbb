"""Held keys as motion: zoom, pan and scroll, faster the longer the key is down.

The first step is at once. From then on the way is a function of the time that the key is held, not
of how many events or frames there were: `traveled` is the speed of Perfetto's timeline, 8 px or
0.8 % a frame at first and as much more after every 50 ms, added up. Every frame is final: nothing
eases out after the release. Perfetto spreads the first step over some frames and lets the rest of
it run on after the release; here neither is done, since the view would lag behind the hand.
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
FRAME_MS = 1000 / 60  # the frame that speeds are given for
ACCELERATION = 1 / 50  # of the first speed, per ms
# A step over more than this counts as this: while the program stood still the key may have come up.
LONGEST_STEP_MS = 100.0
# Under load the release that X11 sends for every repeat of a held key is taken for a real one.
# Repeats do not begin before a while, and no hand presses a key again so soon after holding it.
REPEATS_AFTER_MS = 200.0
REPEAT_MS = 60.0


class HeldAxis(Enum):
    """What moves, and its value: the first step, and the speed at first per frame.

    Pan and scroll are in px; a zoom is the natural logarithm of the factor by which the span grows.
    """

    ZOOM = (0.09531, 0.008)  # ln 1.1
    PAN = (50.0, 8.0)
    SCROLL = (60.0, 8.0)


@dataclass(frozen=True, slots=True)
class HeldWay:
    """An axis and a sign: 1 is later, further down, or more of the trace in view."""

    axis: HeldAxis
    sign: int

    @property
    def first_step(self) -> float:
        """How far the first step goes, with its sign."""
        return self.sign * self.axis.value[0]


def traveled(ms: float) -> float:
    """How far a key has moved after so many ms, in units of its first speed per frame."""
    return (ms + ACCELERATION * ms * ms / 2) / FRAME_MS


class HeldKeys(QObject):
    """Moves as long as keys are down. `moved`: an Axis, how far, and when that is, in s.

    While a key is held all events are looked at: wherever its release goes, and whatever takes the
    keyboard away, is seen. `clock` tells the time in s.
    """

    moved = Signal(object, float, float)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.clock: Callable[[], float] = time.monotonic
        self._held: dict[Qt.Key, _Hold] = {}
        self._let_go: dict[Qt.Key, tuple[_Hold, float]] = {}  # when, in s
        self._timer = QTimer(self)
        self._timer.setInterval(STEP_MS)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self.step)

    @property
    def is_moving(self) -> bool:
        """Whether a key is held."""
        return bool(self._held)

    def tap(self, way: HeldWay) -> None:
        """Go one step."""
        self.moved.emit(way.axis, way.first_step, self.clock())

    def press(self, key: Qt.Key, way: HeldWay) -> None:
        """A key went down: go one step, and on until it is up."""
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
        """A key went up."""
        gone = {key} if _keeps_its_name(key) else set(self._held)
        for one in gone & self._held.keys():
            self._let_go[one] = self._held.pop(one), self.clock()
        if not self._held:
            self._stop()

    def release_all(self) -> None:
        """Stop moving: no release will be told."""
        self._held.clear()
        self._let_go.clear()
        self._stop()

    def _stop(self) -> None:
        self._timer.stop()
        self._watch(False)

    def step(self) -> None:
        """Go where held keys have come to by now."""
        now = self.clock()
        for hold in list(self._held.values()):
            far = hold.go_to(now)
            self.moved.emit(hold.way.axis, far, now)

    def _watch(self, watched: bool) -> None:
        app = QCoreApplication.instance()
        if app is not None:
            app.removeEventFilter(self)
            if watched:
                app.installEventFilter(self)

    @guard(False)
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """See that a key comes up, or that nobody will tell of it."""
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
    """One held key: since when it moves (s, later where steps were cut), and how far it went."""

    way: HeldWay
    since: float
    last: float = 0.0
    far: float = 0.0

    def go_to(self, now: float) -> float:
        """How far it is from where it was last, with its sign."""
        ms = (now - self.since) * 1000
        late = max(ms - self.last - LONGEST_STEP_MS, 0.0)
        self.since += late / 1000
        self.last = max(ms - late, self.last)
        far = traveled(self.last)
        gone, self.far = far - self.far, far
        return self.way.sign * gone * float(self.way.axis.value[1])

    def goes_on(self, way: HeldWay, let_go: float, now: float) -> bool:
        """Whether a press now is but a repeat of it, though it was let go."""
        long_enough = (let_go - self.since) * 1000 >= REPEATS_AFTER_MS
        return long_enough and self.way == way and (now - let_go) * 1000 < REPEAT_MS


def _keeps_its_name(key: Qt.Key) -> bool:
    """Whether a key comes up under the name that its command knows. A sign does not: + is = once
    Shift is up. Nor does a letter of another script: what a command knows as W is Ц there.
    """
    return Qt.Key.Key_A <= key <= Qt.Key.Key_Z or key >= Qt.Key.Key_Escape
