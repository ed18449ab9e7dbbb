"""The text of a help page, with its pictures at a size that fits the window.

Pages name pictures relative to their own folder, `pictures/timeline.png`. They are scaled down
smoothly for the screen's resolution, because a text document would scale them without smoothing.
"""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QImage, QTextDocument
from PySide6.QtWidgets import QTextBrowser

from viewer.gui.qt.theme.theme import Theme
from viewer.resources import resource

PICTURE_WIDTH = 640  # design px; wider pictures are scaled down


class PageText(QTextBrowser):
    """Shows the Markdown of a help page; loads only the pictures of the help."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setOpenLinks(False)

    def loadResource(self, kind: int, url: QUrl | str) -> Any:
        """Load a picture of the help at the size shown; None for everything else."""
        name = QUrl(url).toString()
        if kind != QTextDocument.ResourceType.ImageResource.value or not name.startswith(
            "pictures/"
        ):
            return None
        image = QImage(str(resource("help", *name.split("/"))))
        if image.isNull():
            return None
        ratio = self.devicePixelRatioF()
        width = min(image.width(), round(self._theme.px(PICTURE_WIDTH) * ratio))
        shown = image.convertToFormat(QImage.Format.Format_RGB32).scaledToWidth(
            width, Qt.TransformationMode.SmoothTransformation
        )
        shown.setDevicePixelRatio(ratio)
        return shown
