"""A card on the start page that shows one sample with an image of its actual slices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.resources import Sample

if TYPE_CHECKING:
    from viewer.gui.window.start_page.thumbnails import Thumbnail

CARD = QSize(268, 236)
PICTURE_INSET = 13
_PICTURE = 106


class SampleCard(QAbstractButton):
    """A clickable card with a sample's image, title, description and contents."""

    def __init__(self, sample: Sample, theme: Theme) -> None:
        super().__init__()
        self.sample = sample
        self._theme = theme
        self._picture: Thumbnail | None = None
        self.setText(sample.title)
        self.setAccessibleName(f"Open sample: {sample.title}")
        self.setAccessibleDescription(f"{sample.text} {sample.caption}")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    def set_picture(self, picture: Thumbnail | None) -> None:
        """Set the image; None while it is being drawn."""
        self._picture = picture
        self.update()

    @guard(QSize())
    def sizeHint(self) -> QSize:
        return QSize(self._theme.px(CARD.width()), self._theme.px(CARD.height()))

    @guard(QSize())
    def minimumSizeHint(self) -> QSize:
        return QSize(self._theme.px(200), self._theme.px(CARD.height()))

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
            return
        super().keyPressEvent(event)

    @guard(False)
    def event(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.update()
        return super().event(event)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        outline = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        shape = QPainterPath()
        shape.addRoundedRect(outline, 6, 6)
        over = self.underMouse() or self.isDown()
        ground = "hover" if over else ("chrome" if theme.dark else "canvas")
        painter.fillPath(shape, theme.color(ground))
        top = QRect(0, 0, self.width(), theme.px(_PICTURE))
        painter.save()
        painter.setClipPath(shape)
        painter.fillRect(top, theme.color("canvas"))
        painter.fillRect(QRect(0, top.height(), self.width(), 1), theme.color("hairline"))
        if self._picture is not None:
            # Imported here, because the card is shown before numpy is imported.
            from viewer.gui.window.start_page.thumbnails import paint_thumbnail

            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            inset = theme.px(PICTURE_INSET)
            area = top.adjusted(inset, theme.px(10), -inset, -theme.px(10))
            paint_thumbnail(painter, self._picture, area, theme)
        painter.restore()
        self._texts(painter, top.height())
        focus = self.hasFocus()
        painter.setPen(QPen(theme.color("accent" if focus else "line"), 2 if focus else 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        inner = outline.adjusted(0.5, 0.5, -0.5, -0.5) if focus else outline
        painter.drawRoundedRect(inner, 6, 6)
        painter.end()

    def _texts(self, painter: QPainter, top: int) -> None:
        theme = self._theme
        inset = theme.px(15)
        room = QRect(inset, top + theme.px(13), self.width() - 2 * inset, 0)
        title = theme.font("tab_active")
        painter.setFont(title)
        painter.setPen(theme.color("text1"))
        room.setHeight(QFontMetrics(title).height())
        painter.drawText(room, int(Qt.AlignmentFlag.AlignLeft), self.sample.title)
        caption = theme.font("caption")
        height = QFontMetrics(caption).height()
        under = QRect(inset, self.height() - theme.px(12) - height, room.width(), height)
        body = theme.font("label")
        body.setWeight(theme.font("body").weight())
        painter.setFont(body)
        painter.setPen(theme.color("text2"))
        text = QRect(inset, room.bottom() + theme.px(6), room.width(), 0)
        text.setBottom(under.top() - theme.px(4))
        painter.drawText(
            text, int(Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap), self.sample.text
        )
        painter.setFont(caption)
        painter.setPen(theme.color("text3"))
        painter.drawText(under, int(Qt.AlignmentFlag.AlignLeft), self.sample.caption)
