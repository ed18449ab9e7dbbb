"""Copies rows and pictures to the clipboard, and saves pictures as PNG and SVG files.

The first window imports this module, so nothing in it may need numpy. Pictures are drawn in any
thread. QSvgGenerator writes control characters as they are. XML forbids them, so no browser would
open the picture of a file with such a name in it: `well_formed` replaces them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Protocol, runtime_checkable

from PySide6.QtCore import QBuffer, QPoint, QRect, QSize
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QWidget


@runtime_checkable
class ShowsMessages(Protocol):
    """A window that shows messages in its status bar."""

    def show_text(self, text: str) -> None:
        """Show a message for a while."""


@runtime_checkable
class SavesPictures(Protocol):
    """A window that writes pictures."""

    def save_picture(self, bytes_of: Callable[[str], bytes]) -> None:
        """Ask for a file, and write a picture. bytes_of: its contents, by ".png" or ".svg"."""


def can_save(source: QWidget) -> bool:
    """Return whether a widget is in a window that writes pictures."""
    return isinstance(source.window(), SavesPictures)


def save_picture(source: QWidget, bytes_of: Callable[[str], bytes]) -> None:
    """Let the window of a widget write a picture of it."""
    window = source.window()
    if isinstance(window, SavesPictures):
        window.save_picture(bytes_of)


def say(source: QWidget, text: str) -> None:
    window = source.window()
    if isinstance(window, ShowsMessages):
        window.show_text(text)


def copy_text(source: QWidget, text: str, what: str) -> None:
    """Copy a text, and say what it is, such as "3 findings"."""
    QGuiApplication.clipboard().setText(text)
    say(source, f"Copied {what}")


def copy_picture(source: QWidget, picture: QImage, what: str) -> None:
    """Copy a picture, and say what it is."""
    QGuiApplication.clipboard().setImage(picture)
    say(source, f"Copied {what}")


class CopyFormat(Enum):
    """How rows are copied; text is tab-separated."""

    TEXT = "Text"
    MARKDOWN = "Markdown"
    JSON = "JSON"


def formatted(tsv: str, form: CopyFormat) -> str:
    """Return tab-separated rows in a format.

    A line with fewer cells than the heading, such as the note that rows are missing, follows the
    table in Markdown, and is an object with the key "note" in JSON.
    """
    if form is CopyFormat.TEXT:
        return tsv
    head, rows, notes = _parts(tsv)
    if form is CopyFormat.JSON:
        # A column without a heading, such as that of a bar, has nothing to say.
        objects: list[dict[str, object]] = [
            {title: _value(cell) for title, cell in zip(head, row, strict=True) if title}
            for row in rows
        ]
        objects += [{"note": note} for note in notes]
        return json.dumps(objects, indent=2, ensure_ascii=False) + "\n"
    table = [head, ["---"] * len(head), *rows]
    text = "".join(f"| {' | '.join(map(_escaped, row))} |\n" for row in table)
    return text + "".join(f"\n{note}\n" for note in notes)


def formatted_list(title: str, sentences: Sequence[str], form: CopyFormat) -> str:
    """Return sentences below a title in a format: a list in Markdown, an object in JSON."""
    if form is CopyFormat.JSON:
        document = {"title": title, "rows": list(sentences)}
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    if form is CopyFormat.MARKDOWN:
        return "\n".join(
            [_escaped(title), "", *(f"- {_escaped(sentence)}" for sentence in sentences), ""]
        )
    return "\n".join([title, *sentences, ""])


def row_count(tsv: str) -> int:
    """The number of tab-separated rows, without headings and notes."""
    return len(_parts(tsv)[1])


def _parts(tsv: str) -> tuple[list[str], list[list[str]], list[str]]:
    """The headings, rows and notes."""
    head, *lines = [line.split("\t") for line in tsv.splitlines() if line] or [[]]
    rows = [line for line in lines if len(line) == len(head)]
    return head, rows, ["\t".join(line) for line in lines if len(line) != len(head)]


def _value(cell: str) -> int | str:
    """A whole number as such, so that times in ns stay exact; all else as its text."""
    digits = cell.removeprefix("-")
    plain = digits.isascii() and digits.isdecimal() and (digits == "0" or digits[0] != "0")
    return int(cell) if plain and len(digits) < 19 else cell


def _escaped(cell: str) -> str:
    return cell.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


Paint = Callable[[QPainter], None]

# C0 without tab and line ends; U+FFFE and U+FFFF. In UTF-8, no other character has these bytes.
_FORBIDDEN = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|\xef\xbf[\xbe\xbf]")
_REPLACEMENT = "\ufffd".encode()


def well_formed(svg: bytes) -> bytes:
    """Return an SVG file in UTF-8 with U+FFFD in place of characters that XML forbids."""
    return _FORBIDDEN.sub(_REPLACEMENT, svg)


def painted_image(size: QSize, sharp: float, paint: Paint) -> QImage:
    """Return an image of a size in points. sharp: pixels per point."""
    image = QImage(size * sharp, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(sharp)
    painter = QPainter(image)
    paint(painter)
    painter.end()
    return image


def svg_bytes(size: QSize, title: str, description: str, paint: Paint) -> bytes:
    """Return a drawing as the bytes of an SVG file."""
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    svg = QSvgGenerator()
    svg.setOutputDevice(buffer)
    svg.setSize(size)
    svg.setViewBox(QRect(QPoint(0, 0), size))
    svg.setTitle(title)
    svg.setDescription(description)
    painter = QPainter(svg)
    paint(painter)
    painter.end()
    return well_formed(bytes(buffer.data().data()))


def png_bytes(image: QImage) -> bytes:
    """Return an image as the bytes of a PNG file."""
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    return bytes(buffer.data().data())
