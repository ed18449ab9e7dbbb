"""A jump of the visible range as a short motion, so that the eye can follow where it went.

The session's range is the truth and is final at once; only what is drawn glides there. Whatever
comes next cuts the motion short: it starts from the final range, never from a queue.
"""

from __future__ import annotations

import time

from PySide6.QtCore import QObject, QTimer, Signal

FRAME_MS = 8
DURATION_MS = 140
# A motion to another end of a long trace would only flicker: so many screens apart it is a cut.
FARTHEST = 40

NsRange = tuple[int, int]


class RangeAnimation(QObject):
    """Ranges between two, by time. Off until it is enabled, as under tests and in pictures."""

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
        """Whether what is drawn has not arrived yet."""
        return self._between is not None

    def start(self, begin: NsRange, end: NsRange) -> None:
        """Go from one range to another."""
        longest = max(begin[1] - begin[0], end[1] - end[0])
        far = max(abs(begin[0] - end[0]), abs(begin[1] - end[1])) > FARTHEST * longest
        if not self.enabled or begin == end or far:
            self.stop()
            return
        self._between = begin, end
        self._began = time.monotonic()
        self._timer.start()

    def stop(self) -> None:
        """Be where it goes to."""
        self._between = None
        self._timer.stop()

    def keep_to(self, t0: int, t1: int) -> None:
        """Stop unless it goes to this range: another input has come."""
        if self._between is not None and self._between[1] != (t0, t1):
            self.stop()

    def now(self) -> NsRange | None:
        """The range to draw at this moment, None at rest."""
        if self._between is None:
            return None
        share = (time.monotonic() - self._began) * 1000 / DURATION_MS
        return between(*self._between, share) if share < 1 else self._between[1]

    def _step(self) -> None:
        if (time.monotonic() - self._began) * 1000 >= DURATION_MS:
            self.stop()
        self.moved.emit()


def between(begin: NsRange, end: NsRange, share: float) -> NsRange:
    """The range at a share of the way, 0 to 1, slowing down towards the end.

    Lengths change by a constant factor per time, and both edges move with them: so the time that
    has the same place in both ranges rests, as when one zooms around it.
    """
    eased = 1 - (1 - share) ** 3
    first, last = begin[1] - begin[0], end[1] - end[0]
    # Of lengths that are nearly the same the quotient has no digits left: that is a pan.
    is_pan = abs(last - first) < first / 100
    part = eased if is_pan else (first * (last / first) ** eased - first) / (last - first)
    t0 = begin[0] + round((end[0] - begin[0]) * part)
    t1 = begin[1] + round((end[1] - begin[1]) * part)
    return t0, max(t1, t0 + 1)
