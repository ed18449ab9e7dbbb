"""The picture of a whole model as an image, and as an SVG file; usable in any thread."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize
from PySide6.QtGui import QImage, QPainter

from viewer.gui.panels.graph.image_files import painted_image, svg_bytes
from viewer.gui.panels.graph.whole.painting import WholePainter
from viewer.gui.panels.graph.whole.picture import WholePicture
from viewer.gui.qt.theme.theme import Theme

_IMAGE_MARGIN = 16  # px around the picture in a file
_LARGEST_IMAGE = 8000  # px


def picture_image(picture: WholePicture, marked: frozenset[int], theme: Theme) -> QImage:
    """Return the whole picture, with 2 pixels per point unless it is very large."""
    size = _size(picture, theme)
    sharp = min(2.0, _LARGEST_IMAGE / max(size.width(), size.height()))
    return painted_image(
        QSize(max(round(size.width() * sharp), 1), max(round(size.height() * sharp), 1)), 1.0,
        lambda painter: _paint(painter, picture, marked, theme, sharp, exact=False),
    )  # fmt: skip


def picture_svg(
    picture: WholePicture, marked: frozenset[int], theme: Theme, title: str, description: str
) -> bytes:
    """Return the whole picture as the bytes of an SVG file."""
    size = _size(picture, theme)
    return svg_bytes(
        size, title, description,
        lambda painter: _paint(painter, picture, marked, theme, 1.0, exact=True),
    )  # fmt: skip


def _size(picture: WholePicture, theme: Theme) -> QSize:
    layout, margin = picture.answer.layout, 2 * theme.px(_IMAGE_MARGIN)
    return QSize(round(layout.width) + margin, round(layout.height) + margin)


def _paint(
    painter: QPainter,
    picture: WholePicture,
    marked: frozenset[int],
    theme: Theme,
    scale: float,
    *,
    exact: bool,
) -> None:
    size, margin = _size(picture, theme), theme.px(_IMAGE_MARGIN) * scale
    room = QRectF(0, 0, size.width() * scale, size.height() * scale)
    painter.fillRect(room, theme.color("canvas"))
    WholePainter(theme).paint(
        painter, picture, QPointF(margin, margin), scale, room, marked, exact=exact
    )
