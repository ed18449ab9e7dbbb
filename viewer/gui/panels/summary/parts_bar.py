"""One bar whose parts add up exactly to a time."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.analysis.summary.summary import Summary
from viewer.gui.panels.base.swatches import paint_part, paint_parts
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.model.times import format_time, tick_to_ns

_BAR, _MARK = 8, 8


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the bar. token: its color, "" for hatched. panel: the panel that lists it."""

    name: str
    token: str
    ns: int
    panel: str


def parts_of(summary: Summary, rate: Fraction) -> tuple[Part, ...]:
    """Return the parts of the total of a summary, in ns; () if none of it is known.

    rate: ns per tick. As in Delegation and Operators, each part is rounded down and the last one is
    the remainder, so that the sum is exact.
    """
    report, costs = summary.delegation, summary.costs
    if report is not None:
        first = ("Delegated", "accent", report.delegated, "delegation")
        second = ("Not delegated", "slab", report.not_delegated, "delegation")
        whole, panel = report.whole, "delegation"
    elif summary.is_linked and costs.whole:
        first = ("Operators", "accent", costs.single, "operators")
        second = ("Shared", "slab", costs.shared, "operators")
        whole, panel = costs.whole, "operators"
    else:
        return ()
    parts = [Part(name, token, tick_to_ns(t, rate), at) for name, token, t, at in (first, second)]
    rest = tick_to_ns(whole, rate) - sum(part.ns for part in parts)
    return (*parts, Part("No operator", "", rest, panel))


class PartsBar(QWidget):
    """The bar; a legend tells its colors."""

    def __init__(self, parts: tuple[Part, ...], theme: Theme) -> None:
        super().__init__()
        self._parts, self._theme = parts, theme
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(", ".join(f"{one.name} {format_time(one.ns)}" for one in parts))

    @guard(QSize())
    def sizeHint(self) -> QSize:
        return QSize(self._theme.px(100), self._theme.px(_BAR))

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter, sizes = QPainter(self), [(part.token, part.ns) for part in self._parts]
        whole = sum(ns for _, ns in sizes)
        paint_parts(painter, QRectF(self.rect()), sizes, whole, self._theme)
        painter.end()


class PartMark(QWidget):
    """The color of one part, in the legend."""

    def __init__(self, part: Part, theme: Theme) -> None:
        super().__init__()
        self._part, self._theme = part, theme
        self.setFixedSize(theme.px(12), theme.px(_MARK))

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter, side = QPainter(self), self._theme.px(_MARK)
        paint_part(painter, QRectF(0, 0, side, side), self._part.token, self._theme)
        painter.end()
