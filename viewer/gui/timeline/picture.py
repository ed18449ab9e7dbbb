"""Exports the timeline as an image: names, rows, ruler with its scale, and legend.

The image shows what is visible of each clock's strip, without the interactive parts (overview,
filter, scroll bar, mouse). In SVG and PDF, text and lines are vectors and sharp at any size; slices
are a raster with `SHARP` device pixels per pixel, the resolution of an office printer. Coordinates
are those of the window.
"""

from __future__ import annotations

from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, QPoint, QRect, QSize, QSizeF, Qt
from PySide6.QtGui import QImage, QPageSize, QPainter, QPdfWriter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QWidget

from viewer import __version__
from viewer.gui.qt.clipboard import well_formed
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import elided_text
from viewer.gui.timeline.painting.frame import FramePainter, Overlay
from viewer.gui.timeline.strip import ClockStrip
from viewer.gui.timeline.timeline import Timeline
from viewer.model.text import display_name
from viewer.model.times import format_span, format_time
from viewer.render.layout import Canvas

SHARP = 3  # device pixels per logical pixel in rasters: 288 per inch
DPI = 96  # logical pixels per inch
_TITLE = 26  # px
_INSET = 10
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class StripPicture:
    """The image of one strip; if it is joined to the one above, ribbons replace its ruler."""

    def __init__(self, strip: ClockStrip, theme: Theme) -> None:
        self._strip, self._theme = strip, theme
        self._left = strip.headers.width()
        view, rows = strip.view.viewport(), strip.scene.layout.total_height
        height = min(view.height(), max(rows - strip.scene.scroll, 1))
        self._rows = QSize(view.width(), 0 if strip.is_collapsed else height)
        above = [strip.header, strip.ruler, strip.bookmarks_bar]
        self._above = [part for part in above if not part.isHidden()]

    @property
    def size(self) -> QSize:
        """The size of the image in logical pixels."""
        return QSize(self._strip.width(), self._top + self._rows.height() + self._below)

    @property
    def _below(self) -> int:
        """The height of the tracks of queries."""
        return 0 if self._strip.derived.isHidden() else self._strip.derived.height()

    @property
    def _top(self) -> int:
        return sum(part.height() for part in self._above)

    def paint(self, painter: QPainter, point: QPoint, ratio: int) -> None:
        """Draw the image with its upper left corner at a point."""
        strip, theme, top = self._strip, self._theme, point.y() + self._top
        if self._rows.height():
            painter.save()
            painter.translate(self._left, top)
            frames = FramePainter(strip.scene, theme)
            frames.title_indent = strip.view.frames.title_indent
            frames.tails.is_b = strip.view.frames.tails.is_b
            frames.ruler_scene = strip.view.frames.ruler_scene
            frames.paint(painter, Canvas(self._rows.width(), self._rows.height(), ratio), Overlay())
            painter.restore()
            names = QSize(self._left, self._rows.height())
            _render(strip.headers, painter, QPoint(0, top), names)
        if self._below:
            place = QPoint(point.x(), top + self._rows.height())
            painter.fillRect(QRect(place, QSize(self.size.width(), self._below)),
                             theme.color("panel"))  # fmt: skip
            _render(strip.derived, painter, place, strip.derived.size())
        # An SVG generator does not clip, so whatever exceeds the upper edge is painted over.
        painter.fillRect(0, point.y(), self.size.width(), self._top, theme.color("panel"))
        y = point.y()
        if strip.is_joined:
            room = QSize(self._rows.width(), strip.band.height())
            _render(strip.band, painter, QPoint(self._left, y), room)
        for part in self._above:
            x = 0 if part is strip.header else self._left
            wide = self._left if strip.is_joined and not x else self.size.width() - x
            room = QSize(wide, part.height())
            _render(part, painter, QPoint(x, y), room, buttons=part is not strip.header)
            if part is strip.ruler:
                self._caption(painter, y)
            y += part.height()

    def _caption(self, painter: QPainter, y: int) -> None:
        painter.setFont(self._theme.font("ruler"))
        painter.setPen(self._theme.color("text2"))
        room = QRect(_INSET, y, self._left - 2 * _INSET, self._strip.ruler.height())
        painter.drawText(room, _LEFT, self._strip.ruler.caption)


class ViewPicture:
    """An image of what a timeline currently shows; draw it before anything changes."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline, self._theme = timeline, timeline.view.theme
        self._strips = [StripPicture(strip, self._theme) for strip in timeline.strips]
        self._legend = 0 if timeline.legend.isHidden() else timeline.legend.height()

    @property
    def size(self) -> QSize:
        """The size of the image in logical pixels."""
        sizes = [strip.size for strip in self._strips]
        height = _TITLE + sum(size.height() for size in sizes) + self._legend
        return QSize(max(size.width() for size in sizes), height)

    def paint(self, painter: QPainter, ratio: int = SHARP) -> None:
        """Draw the image at (0, 0); rasters have `ratio` device pixels per logical pixel."""
        size, theme = self.size, self._theme
        painter.fillRect(QRect(QPoint(0, 0), size), theme.color("panel"))
        painter.setClipRect(QRect(QPoint(0, 0), size))
        y = _TITLE
        for strip in self._strips:  # each covers what exceeds the lower edge of the one before
            strip.paint(painter, QPoint(0, y), ratio)
            y += strip.size.height()
        painter.fillRect(0, 0, size.width(), _TITLE, theme.color("panel"))
        self._title(painter)
        if self._legend:
            place = QPoint(0, size.height() - self._legend)
            painter.fillRect(QRect(place, QSize(size.width(), self._legend)), theme.color("panel"))
            _render(self._timeline.legend, painter, place, QSize(size.width(), self._legend))

    def _title(self, painter: QPainter) -> None:
        theme, session = self._theme, self._timeline.scene.session
        names = ", ".join(display_name(path) for path in session.workspace.paths)
        t0, t1 = session.state.times
        span = f"{format_span(t0, t1)} · {format_time(t1 - t0)} · Opscope {__version__}"
        if len(self._strips) > 1:
            span = f"Opscope {__version__}"  # ranges are in the headers of the strips
        room = QRect(_INSET, 0, self.size.width() - 2 * _INSET, _TITLE)
        painter.setFont(theme.font("caption"))
        painter.setPen(theme.color("text2"))
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(room, right, span)
        wide = room.width() - painter.fontMetrics().horizontalAdvance(span) - 3 * _INSET
        painter.setFont(theme.font("section"))
        painter.setPen(theme.color("text1"))
        elided = elided_text(painter.fontMetrics(), names, Qt.TextElideMode.ElideMiddle, wide)
        painter.drawText(room, _LEFT, elided)

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
        """The contents of a file: ".png", ".svg" or ".pdf"; PNG blocks the GUI thread for 0.3 s."""
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
        data = bytes(buffer.data().data())
        return well_formed(data) if suffix == ".svg" else data

    def _on(self, device: QImage | QSvgGenerator | QPdfWriter, ratio: int = SHARP) -> None:
        painter = QPainter(device)
        self.paint(painter, ratio)
        painter.end()


def _render(
    widget: QWidget, painter: QPainter, point: QPoint, size: QSize, *, buttons: bool = True
) -> None:
    """Paint a part of the window at a position, clipped to a size, with or without its buttons."""
    flags = QWidget.RenderFlag.DrawChildren if buttons else QWidget.RenderFlag(0)
    widget.render(painter, point, QRect(QPoint(0, 0), size), flags)
