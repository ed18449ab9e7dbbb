"""Thumbnails of profiles: a few rows of actual slices, or the first lines of a text file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QRect
from PySide6.QtGui import QImage, QPainter

from viewer.analysis.links.link_table import LinkTable
from viewer.codecs.reading import UnreadableFile
from viewer.dataclasses import dataclass
from viewer.gui.qt.theme.theme import Theme
from viewer.model.trace import Trace
from viewer.render.color_schemes import DEFAULT, classes_of, scheme_for
from viewer.render.lod import Cells
from viewer.render.palette import cell_colors
from viewer.render.raster import RowRaster
from viewer.render.time_axis import Axis, XMap
from viewer.workspace.workspace import Workspace

_MOST_ROWS = 4
_MOST_LINES = 4
# Drawn, this CSV would look the same as another sample; as text, it shows its simple format.
_SHOWN_AS_TEXT = "Profile CSV"


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """The content of a thumbnail: cells of rows, of shape (rows, width), or lines of text."""

    cells: Cells
    lines: tuple[str, ...] = ()


def thumbnail(paths: Sequence[str], width: int) -> Thumbnail:
    """The thumbnail of the first profile among some files; empty if none can be read."""
    space = Workspace()
    empty = Thumbnail(np.zeros((0, width), np.uint16))
    try:
        for path in paths:
            space.open(path)
    except UnreadableFile:
        return empty
    if not space.traces:
        return empty
    trace = space.traces[0]
    if trace.format == _SHOWN_AS_TEXT:
        return Thumbnail(empty.cells, _first_lines(trace.path))
    return Thumbnail(_cells(space.links(trace), width))


def _cells(table: LinkTable, width: int) -> Cells:
    trace = table.trace
    slices = trace.slices
    first, last = _span(trace)
    scheme = scheme_for(DEFAULT, table)
    classes = classes_of(scheme, table)
    long = slices.end > slices.start
    rows = [
        row
        for row in range(len(slices.row_ptr) - 1)
        if long[slices.row_ptr[row] : slices.row_ptr[row + 1]].any()
    ]
    raster = RowRaster.of(slices, classes.palette(trace))
    xmap = XMap(first, max(last, first + 1), width, Axis())
    return raster.draw(rows[:_MOST_ROWS], xmap)


def _span(trace: Trace) -> tuple[int, int]:
    """The time range of the second inference, which is warm, else of the only one, else of all."""
    runs = list(trace.inferences())[:2]
    if not runs:
        return trace.start, trace.end
    return runs[-1].start, runs[-1].end


def _first_lines(path: str) -> tuple[str, ...]:
    with open(path, encoding="utf-8", errors="replace") as file:
        return tuple(file.readline(300).rstrip() for _ in range(_MOST_LINES))


def paint_thumbnail(painter: QPainter, picture: Thumbnail, area: QRect, theme: Theme) -> None:
    """Paint a thumbnail in the colors of the theme; text lines are clipped at the edge."""
    if picture.lines:
        painter.setFont(theme.font("zero_length"))
        font = theme.font("code")
        font.setPointSizeF(font.pointSizeF() * 0.85)
        painter.setFont(font)
        height = painter.fontMetrics().height() + 1
        top = area.top() + max((area.height() - height * len(picture.lines)) // 2, 0)
        painter.setClipRect(area)
        for i, line in enumerate(picture.lines):
            painter.setPen(theme.color("text3" if i == 0 else "text1"))
            painter.drawText(area.left(), top + i * height + painter.fontMetrics().ascent(), line)
        return
    rows = len(picture.cells)
    if rows == 0:
        return
    image = _image(picture.cells, theme.dark)
    gap = theme.px(3)
    height = min((area.height() - gap * (rows - 1)) // rows, theme.px(14))
    top = area.top() + (area.height() - rows * height - (rows - 1) * gap) // 2
    for row in range(rows):
        target = QRect(area.left(), top + row * (height + gap), area.width(), height)
        painter.drawImage(target, image, QRect(0, row, image.width(), 1))


def _image(cells: Cells, dark: bool) -> QImage:
    pixels = np.ascontiguousarray(cell_colors(dark).body[cells])
    # Copied, because the image does not keep the array alive.
    return QImage(
        pixels.data, cells.shape[1], cells.shape[0], 4 * cells.shape[1], QImage.Format.Format_RGB32
    ).copy()
