"""Copying to the clipboard, with a message in the status bar of the window.

Rows of tables are copied by `widgets.tables.copy_tsv`. The first window imports this module, so
nothing in it may need numpy.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QWidget


@runtime_checkable
class ShowsMessages(Protocol):
    """A window that shows messages in its status bar."""

    def show_text(self, text: str) -> None:
        """Show a message for a while."""


def _say(source: QWidget, text: str) -> None:
    window = source.window()
    if isinstance(window, ShowsMessages):
        window.show_text(text)


def copy_text(source: QWidget, text: str, what: str) -> None:
    """Copy a text, and say what it is, such as "3 findings"."""
    QGuiApplication.clipboard().setText(text)
    _say(source, f"Copied {what}")


def copy_picture(source: QWidget, picture: QImage, what: str) -> None:
    """Copy a picture, and say what it is."""
    QGuiApplication.clipboard().setImage(picture)
    _say(source, f"Copied {what}")
