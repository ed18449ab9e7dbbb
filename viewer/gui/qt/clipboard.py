"""Copying to the clipboard, with a message in the status bar of the window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QWidget

from viewer.gui.qt.copy_formats import CopyFormat, formatted, row_count
from viewer.model.times import counted


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


def copy_tsv(source: QWidget, tsv: str, form: CopyFormat = CopyFormat.TEXT) -> None:
    """Copy tab-separated rows with headings in a format, and say how many."""
    name = "TSV" if form is CopyFormat.TEXT else form.value
    copy_text(source, formatted(tsv, form), f"{counted(row_count(tsv), 'row')} as {name}")


def copy_as(source: QWidget, copy: Callable[[], None], form: CopyFormat) -> None:
    """Copy in a format what `copy` copies as tab-separated rows, if that is anything."""
    clipboard = QGuiApplication.clipboard()
    before = clipboard.text()
    clipboard.clear()
    copy()
    if tsv := clipboard.text():
        copy_tsv(source, tsv, form)
    else:
        clipboard.setText(before)
