"""Exports the timeline as an image: names, rows, ruler with its scale, and legend.

The image shows what is visible, without the interactive parts (overview, filter, scroll bar,
mouse). In SVG and PDF, text and lines are vectors and sharp at any size; slices are a raster with
`SHARP` device pixels per pixel, the resolution of an office printer. Coordinates are those of the
window.
"""

from __future__ import annotations

from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, QPoint, QRect, QSize, QSizeF, Qt
from PySide6.QtGui import QImage, QPageSize, QPainter, QPdfWriter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QWidget

from viewer import __version__
from viewer.gui.timeline.painting.frame import FramePainter, Overlay
from viewer.gui.timeline.timeline import Timeline
from viewer.model.text import display_name
from viewer.model.times import format_span, format_time
from viewer.render.canvas import Canvas

SHARP = 3  # device pixels per logical pixel in rasters: 288 per inch
DPI = 96  # logical pixels per inch
_TITLE = 26  # px
_INSET = 10
SUFFIXES = (".png", ".svg", ".pdf")


class ViewPicture:
    """An image of what a timeline currently shows; draw it before anything changes."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        view, rows = timeline.view.viewport(), timeline.scene.layout.total_height
        self._left = timeline.headers.width()
        self._rows = QSize(view.width(), min(view.height(), max(rows - timeline.scene.scroll, 1)))
        self._marks = 0 if timeline.marks.isHidden() else timeline.marks.height()
        self._legend = 0 if timeline.legend.isHidden() else timeline.legend.height()

    @property
    def size(self) -> QSize:
        """The size of the image in logical pixels."""
        above = _TITLE + self._timeline.ruler.height() + self._marks
        return QSize(self._left + self._rows.width(), above + self._rows.height() + self._legend)

    def paint(self, painter: QPainter, ratio: int = SHARP) -> None:
        """Draw the image at (0, 0); rasters have `ratio` device pixels per logical pixel."""
        board, size, theme = self._timeline, self.size, self._timeline.view.theme
        painter.fillRect(QRect(QPoint(0, 0), size), theme.color("panel"))
        top = _TITLE + board.ruler.height() + self._marks
        painter.save()
        painter.translate(self._left, top)
        frames = FramePainter(board.scene, theme)
        frames.title_indent = board.view.frames.title_indent
        frames.paint(painter, Canvas(self._rows.width(), self._rows.height(), ratio), Overlay())
        painter.restore()
        # An SVG generator does not clip, so whatever exceeds an edge is painted over later.
        painter.setClipRect(QRect(QPoint(0, 0), size))
        _render(board.headers, painter, QPoint(0, top), QSize(self._left, self._rows.height()))
        painter.fillRect(0, 0, size.width(), top, theme.color("panel"))
        _render(board.ruler, painter, QPoint(self._left, _TITLE), board.ruler.size())
        if self._marks:
            place = QPoint(self._left, _TITLE + board.ruler.height())
            _render(board.marks, painter, place, board.marks.size())
        self._captions(painter)
        if self._legend:
            place = QPoint(0, top + self._rows.height())
            painter.fillRect(QRect(place, QSize(size.width(), self._legend)), theme.color("panel"))
            _render(board.legend, painter, place, QSize(size.width(), self._legend))

    def _captions(self, painter: QPainter) -> None:
        """Draw the file names, the time range, and the ruler's unit."""
        board, theme = self._timeline, self._timeline.view.theme
        session = board.scene.session
        names = ", ".join(display_name(path) for path in session.workspace.paths)
        t0, t1 = session.state.t0, session.state.t1
        span = f"{format_span(t0, t1)} · {format_time(t1 - t0)} · Opscope {__version__}"
        room = QRect(_INSET, 0, self.size.width() - 2 * _INSET, _TITLE)
        painter.setFont(theme.font("caption"))
        painter.setPen(theme.color("text2"))
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(room, right, span)
        wide = room.width() - painter.fontMetrics().horizontalAdvance(span) - 3 * _INSET
        painter.setFont(theme.font("section"))
        painter.setPen(theme.color("text1"))
        elided = painter.fontMetrics().elidedText(names, Qt.TextElideMode.ElideMiddle, wide)
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(room, left, elided)
        painter.setFont(theme.font("ruler"))
        painter.setPen(theme.color("text2"))
        at = QRect(_INSET, _TITLE, self._left - 2 * _INSET, board.ruler.height())
        painter.drawText(at, left, board.ruler.caption)

    # -- file formats ----------------------------------------------------------------------------

    def image(self, ratio: int = SHARP) -> QImage:
        """The image as pixels."""
        image = QImage(self.size * ratio, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(ratio)
        self._on(image, ratio)
        # Tells printing programs the physical size. Set at the end, because fonts would follow it.
        image.setDotsPerMeterX(round(DPI * ratio / 0.0254))
        image.setDotsPerMeterY(round(DPI * ratio / 0.0254))
        return image

    def bytes_of(self, suffix: str) -> bytes:
        """The contents of a file with one of `SUFFIXES`; PNG blocks the GUI thread for 0.3 s."""
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        if suffix == ".png":
            self.image().save(buffer, "PNG")  # type: ignore[call-overload]  # the stubs want bytes
        elif suffix == ".svg":
            generator = QSvgGenerator()
            generator.setOutputDevice(buffer)
            generator.setResolution(DPI)
            generator.setSize(self.size)
            generator.setViewBox(QRect(QPoint(0, 0), self.size))
            generator.setTitle("Opscope")
            self._on(generator)
        else:
            pages = QPdfWriter(buffer)
            pages.setResolution(DPI)
            inches = QSizeF(self.size) / DPI
            exact = QPageSize.SizeMatchPolicy.ExactMatch
            pages.setPageSize(QPageSize(inches, QPageSize.Unit.Inch, "", exact))
            pages.setPageMargins(QMarginsF(0, 0, 0, 0))
            pages.setCreator(f"Opscope {__version__}")
            self._on(pages)
        return bytes(buffer.data().data())

    def _on(self, device: QImage | QSvgGenerator | QPdfWriter, ratio: int = SHARP) -> None:
        painter = QPainter(device)
        self.paint(painter, ratio)
        painter.end()


def _render(widget: QWidget, painter: QPainter, at: QPoint, size: QSize) -> None:
    """Paint a part of the window at a position, clipped to a size."""
    flags = QWidget.RenderFlag.DrawChildren
    widget.render(painter, at, QRect(QPoint(0, 0), size), flags)
