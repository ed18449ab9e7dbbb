"""The colors of the fills of nodes, in a theme."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QPainter, QPen

from viewer.analysis.comparison.comparison import Verdict
from viewer.gui.panels.graph.node_figures import (
    CHANGE_STEPS,
    CallFill,
    ChangeFill,
    Fill,
    NoCostFill,
)
from viewer.gui.qt.theme.theme import Theme
from viewer.render.palette import edge_rgb, fills, label_colors, label_rgb, mix

# How much of its color a step has; the rest is the canvas.
_OF_COLOR = (0.32, 0.6, 1.0)
# How much of the slab a gray has: what did not change is dimmed.
_UNCHANGED, _UNKNOWN = 0.28, 0.6
# Palette indexes of the colors of delegates: unlike heat and unlike each other.
_BACKENDS = (1, 0, 6, 11, 8, 4)
_TINT = 0.12
_HATCH_STEP, _HATCH_ALPHA = 8, 0.5  # px, and faint behind texts


@dataclass(frozen=True, slots=True)
class NodeColors:
    """The colors of a node: fill, text and outline, and whether the outline is dashed."""

    fill: QColor
    text: QColor
    outline: QColor
    is_dashed: bool = False


def colors_of(fill: Fill, theme: Theme) -> NodeColors:
    """Return the colors of a node with a fill."""
    if isinstance(fill, ChangeFill):
        return _colors_of_change(fill, theme)
    if isinstance(fill, CallFill):
        outline = backend_color(fill.backend, theme)
        ground = QColor(outline)
        ground.setAlphaF(_TINT)
        return NodeColors(ground, theme.color("text1"), outline, is_dashed=True)
    if isinstance(fill, NoCostFill):
        ground = theme.color("raised" if fill is NoCostFill.PLAIN else "panel")
        is_dashed = fill is NoCostFill.UNLINKED
        return NodeColors(ground, theme.color("text1"), theme.color("text3"), is_dashed)
    label = QColor.fromRgb(label_colors(theme.dark)[fill])
    return NodeColors(QColor.fromRgb(fills(theme.dark)[fill]), label, theme.color("line"))


def backend_color(number: int, theme: Theme) -> QColor:
    """Return the color of a delegate, by its number among those of the program."""
    rgb = fills(theme.dark)[_BACKENDS[number % len(_BACKENDS)]]
    return QColor.fromRgb(rgb if theme.dark else edge_rgb(rgb))


def paint_hatch(painter: QPainter, rect: QRectF, theme: Theme) -> None:
    """Paint lines at 45 degrees over what only one arm has.

    They end inside the rectangle: SVG files ignore clipping.
    """
    painter.setPen(QPen(theme.color("text3", _HATCH_ALPHA), 1.0))
    bottom, height, step = rect.bottom(), rect.height(), theme.px(_HATCH_STEP)
    inset = theme.px(2)
    offset = float(step)
    while offset < rect.width() + height:
        # From the left or the bottom edge up to the top or the right one.
        start, end = max(offset - height, 0.0) + inset, min(offset, rect.width()) - inset
        if end > start:
            painter.drawLine(
                QPointF(rect.left() + start, bottom - start + offset - height),
                QPointF(rect.left() + end, bottom - end + offset - height),
            )
        offset += step


def _colors_of_change(fill: ChangeFill, theme: Theme) -> NodeColors:
    tokens = theme.tokens
    if fill.step:
        color = tokens.slower if fill.verdict is Verdict.SLOWER else tokens.faster
        share = _OF_COLOR[min(fill.step, CHANGE_STEPS) - 1]
        rgb = mix(_rgb(tokens.canvas), _rgb(color), share)
        label = QColor.fromRgb(label_rgb(rgb))
        return NodeColors(QColor.fromRgb(rgb), label, theme.color("line"))
    share = _UNCHANGED if fill.verdict is Verdict.NO_CHANGE else _UNKNOWN
    rgb = mix(_rgb(tokens.canvas), _rgb(tokens.slab), share)
    is_dimmed = fill.verdict is Verdict.NO_CHANGE
    text = theme.color("text2" if is_dimmed else "text1")
    return NodeColors(QColor.fromRgb(rgb), text, theme.color("line"))


def _rgb(token: str) -> int:
    return int(token[1:], 16)
