"""The last frame of a view: while it is panned, only what comes into view is painted."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF
from PySide6.QtGui import QPainter, QPixmap, QRegion
from PySide6.QtWidgets import QWidget

_AROUND = 24  # px repainted around what comes into view: rings and texts reach over edges
_NEAR = 0.01  # px

PaintPart = Callable[[QPainter, QRectF], None]


class PannedFrame:
    """Keeps the pixels of one frame."""

    def __init__(self) -> None:
        self._pixmap: QPixmap | None = None
        self._look: tuple[object, ...] = ()
        self._scale = 0.0
        self._origin = QPointF()

    def frame(
        self,
        widget: QWidget,
        look: tuple[object, ...],
        origin: QPointF,
        scale: float,
        paint: PaintPart,
    ) -> QPixmap:
        """Return the pixels of a widget.

        look: what determines them besides origin and scale. paint: paints a part of the widget.
        """
        ratio, before = widget.devicePixelRatioF(), self._pixmap
        size = widget.size() * ratio
        shift = (origin - self._origin) * ratio
        x, y = round(shift.x()), round(shift.y())
        is_whole = abs(shift.x() - x) < _NEAR and abs(shift.y() - y) < _NEAR
        same = len(look) == len(self._look) and all(
            one is other or one == other for one, other in zip(look, self._look, strict=True)
        )
        exposed = QRegion(QRect(QPoint(0, 0), size))
        is_kept = before is not None and before.size() == size and same and scale == self._scale
        if is_kept and is_whole and abs(x) < size.width() and abs(y) < size.height():
            exposed = QRegion()
            if before is not None and (x or y):
                before.scroll(x, y, before.rect(), exposed)
        pixmap = before if before is not None and before.size() == size else QPixmap(size)
        pixmap.setDevicePixelRatio(ratio)
        self._pixmap, self._look, self._scale, self._origin = pixmap, look, scale, QPointF(origin)
        if not exposed.isEmpty():
            painter = QPainter(pixmap)
            for part in exposed:  # type: ignore[attr-defined]  # PySide6's stub lacks it
                room = QRectF(
                    part.x() / ratio, part.y() / ratio, part.width() / ratio, part.height() / ratio
                )
                room.adjust(-_AROUND, -_AROUND, _AROUND, _AROUND)
                room = room.intersected(QRectF(widget.rect()))
                painter.setClipRect(room)
                paint(painter, room)
            painter.end()
        return pixmap
