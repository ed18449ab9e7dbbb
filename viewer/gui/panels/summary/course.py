"""A strip of the durations of inferences in their order; a click shows one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.analysis.findings.sequence import noun_of, rate_text
from viewer.analysis.sequence.wall_time import WallPart
from viewer.analysis.summary.medians import MedianInference
from viewer.arrays import Floats, Ints
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import explain
from viewer.model.inferences.logged_methods import series_of
from viewer.model.times import counted, format_time, group_digits, tick_to_ns
from viewer.model.trace import Trace
from viewer.view.open_trace import OpenTrace

_HEIGHT = 48
_FEWEST_PIXELS = 2  # of a bar
# Durations that differ more are drawn on a logarithmic scale, or the short ones are flat.
_LOGARITHMIC = 6
# The phases take turns with these colors; their names are in the rows below.
TOKENS = ("accent", "slab")
_WALL_TOKENS = ("slab", "accent", "unit_compute", "unit_both", "unit_host", "unit_dma")
HINT = "Durations of inferences in their order. Click one to show it."


@dataclass(frozen=True, slots=True)
class CourseBar:
    """One inference: its position in `Trace.runs`, its ns, the number of its phase, and a text."""

    run: int
    ns: int
    phase: int
    text: str


def course_bars(shown: OpenTrace) -> tuple[CourseBar, ...]:
    """Return the finished inferences of a trace in order of time."""
    trace: Trace = shown.file
    rate = shown.axis.ns_per_tick
    at = [i for i, run in enumerate(trace.runs) if run.number and run.finished]
    at.sort(key=lambda i: trace.runs[i].start)
    series = list(dict.fromkeys(series_of(trace, trace.runs[i]) for i in at))
    place = {one: number for number, one in enumerate(series)}
    return tuple(
        CourseBar(
            i,
            (ns := tick_to_ns(run.end - run.start, rate)),
            place[series_of(trace, run)],
            ", ".join(filter(None, (f"Inference {run.number}", run.phase, format_time(ns)))),
        )
        for i in at
        for run in (trace.runs[i],)
    )


def course_texts(shown: OpenTrace, of: Sequence[MedianInference]) -> Iterator[tuple[str, int]]:
    """Yield the levels and the rate of each phase, with the inference that a text leads to, or -1.

    of: the median of each phase or method.
    """
    rate, runs = shown.axis.ns_per_tick, shown.file.runs
    for one in of:
        own = series_of(shown.file, runs[one.run])
        for level in one.levels:
            name = f"{one.name} from" if one.name else "From"
            time = format_time(tick_to_ns(level.ticks, rate))
            text = f"{name} inference {group_digits(level.first)} on: {time}"
            text += f" ({level.factor:.2f} times)" if level.factor != 1 else ""
            at = (i for i, run in enumerate(runs) if run.number == level.first)
            yield text, next(i for i in at if series_of(shown.file, runs[i]) == own)
        if one.rate is not None and (text := rate_text(one.rate, rate, noun_of(one.name))):
            yield (f"{one.name}: {text}" if one.name else text), -1


def wall_parts(wall: Sequence[WallPart], rate: Fraction) -> list[tuple[str, str, int]]:
    """Return the name, color token and ns of each part of the wall time; idle ones are hatched."""
    busy = [part.name for part in wall if not part.is_idle]
    tokens = {name: _WALL_TOKENS[at % len(_WALL_TOKENS)] for at, name in enumerate(busy)}
    return [(one.name, tokens.get(one.name, ""), tick_to_ns(one.ticks, rate)) for one in wall]


class CourseStrip(QWidget):
    """The strip. `picked(position in Trace.runs)`: an inference was clicked, or reached by keys.

    With more inferences than pixels, a bar is the longest one of several.
    """

    picked = Signal(int)

    def __init__(self, bars: Sequence[CourseBar], current: int, theme: Theme) -> None:
        """current: the position of the inference that is shown, -1 for none."""
        super().__init__()
        self._bars, self._theme = tuple(bars), theme
        self._ns: Ints = np.array([bar.ns for bar in bars], np.int64)
        self._current = next((i for i, bar in enumerate(bars) if bar.run == current), -1)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        explain(self, HINT)
        low, high = (format_time(int(ns)) for ns in (self._ns.min(), self._ns.max()))
        self.setAccessibleName(f"{counted(len(bars), 'inference')}, {low} to {high}")

    @guard(QSize())
    def sizeHint(self) -> QSize:
        return QSize(self._theme.px(200), self._theme.px(_HEIGHT))

    def heights(self) -> Floats:
        """Return the height of each bar, 0 to 1; the scale starts at 0 unless it is logarithmic."""
        most, least = int(self._ns.max()), max(int(self._ns.min()), 1)
        if most <= _LOGARITHMIC * least:
            return np.asarray(self._ns / most)
        # The shortest has a tenth of the height.
        span = np.log(most / least)
        return np.asarray(0.1 + 0.9 * np.log(np.maximum(self._ns, 1) / least) / span)

    def bar_at(self, x: float) -> int:
        """Return the bar under a place: of several in one pixel the longest."""
        count, width = len(self._bars), max(self.width(), 1)
        first = min(max(int(x / width * count), 0), count - 1)
        last = min(max(int(np.ceil((x + 1) / width * count)), first + 1), count)
        return first + int(np.argmax(self._ns[first:last]))

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self._theme, QPainter(self)
        width, height, count = self.width(), self.height() - 1, len(self._bars)
        heights = self.heights()
        step = width / count
        drawn: Sequence[int] = range(count)
        if step < _FEWEST_PIXELS:
            drawn = list({self.bar_at(x): None for x in range(0, width, _FEWEST_PIXELS)})
            step = _FEWEST_PIXELS
        for i in drawn:
            bar = self._bars[i]
            tall = max(float(heights[i]) * height, 1)
            left = i / count * width
            token = TOKENS[bar.phase % len(TOKENS)]
            color = theme.color("text1" if i == self._current else token)
            gap = 1 if step > 2 * _FEWEST_PIXELS else 0
            painter.fillRect(QRectF(left, height - tall, max(step - gap, 1), tall), color)
        painter.fillRect(QRectF(0, height, width, 1), theme.color("hairline"))
        if self.hasFocus():
            painter.setPen(theme.color("accent"))
            painter.drawRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))
        painter.end()

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self._pick(self.bar_at(event.position().x()))

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        moves = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        move = moves.get(Qt.Key(event.key()))
        if move is None:
            super().keyPressEvent(event)
            return
        self._pick(min(max(self._current + move, 0), len(self._bars) - 1))

    def _pick(self, at: int) -> None:
        self._current = at
        self.update()
        self.picked.emit(self._bars[at].run)
