"""Animates jumps of the visible range, so that the eye can follow.

The session's range changes immediately; only what is drawn moves gradually. New input interrupts
the animation: it starts from the final range, and animations are never queued.
"""

from __future__ import annotations

import time

from PySide6.QtCore import QObject, QTimer, Signal

FRAME_MS = 8
DURATION_MS = 140
# Over more screens than this, an animation would only flicker, so the view jumps.
FARTHEST = 40

NsRange = tuple[int, int]


class RangeAnimation(QObject):
    """Interpolates between two ranges over time; disabled by default, as in screenshots."""

    moved = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.enabled = False
        self._between: tuple[NsRange, NsRange] | None = None
        self._began = 0.0
        self._timer = QTimer(self)
        self._timer.setInterval(FRAME_MS)
        self._timer.timeout.connect(self._step)

    @property
    def is_moving(self) -> bool:
        """Whether an animation is running."""
        return self._between is not None

    def start(self, begin: NsRange, end: NsRange) -> None:
        """Animate from one range to another; jumps if disabled or too far apart."""
        longest = max(begin[1] - begin[0], end[1] - end[0])
        too_far = max(abs(begin[0] - end[0]), abs(begin[1] - end[1])) > FARTHEST * longest
        if not self.enabled or begin == end or too_far:
            self.stop()
            return
        self._between = begin, end
        self._began = time.monotonic()
        self._timer.start()

    def stop(self) -> None:
        """Jump to the end of the animation."""
        self._between = None
        self._timer.stop()

    def keep_to(self, t0: int, t1: int) -> None:
        """Stop unless the animation leads to this range, because other input has arrived."""
        if self._between is not None and self._between[1] != (t0, t1):
            self.stop()

    def now(self) -> NsRange | None:
        """The range to draw now, None if no animation is running."""
        if self._between is None:
            return None
        share = (time.monotonic() - self._began) * 1000 / DURATION_MS
        return between(*self._between, share) if share < 1 else self._between[1]

    def _step(self) -> None:
        if (time.monotonic() - self._began) * 1000 >= DURATION_MS:
            self.stop()
        self.moved.emit()


def between(begin: NsRange, end: NsRange, share: float) -> NsRange:
    """The range at a fraction of the way from `begin` to `end`, slowing down towards the end.

    The length changes by a constant factor per unit of eased time, and both edges move with it. A
    time at the same position in both ranges therefore stays in place, as when zooming around it.
    """
    eased = 1 - (1 - share) ** 3
    first, last = begin[1] - begin[0], end[1] - end[0]
    # The quotient of nearly equal lengths loses all precision, so treat that as a pan.
    is_pan = abs(last - first) < first / 100
    part = eased if is_pan else (first * (last / first) ** eased - first) / (last - first)
    t0 = begin[0] + round((end[0] - begin[0]) * part)
    t1 = begin[1] + round((end[1] - begin[1]) * part)
    return t0, max(t1, t0 + 1)
