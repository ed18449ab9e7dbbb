"""Texts, numbers and colors of SVG files, whose fonts are not known when they are written."""

from __future__ import annotations

from html import escape
from unicodedata import east_asian_width

# Average widths of letters in a sans-serif font, in parts of the font's size. Fonts differ, so
# these are rather those of wide ones.
_LETTER, _CAPITAL, _FULL_WIDTH = 0.6, 0.74, 1.02
_LEAST_LETTERS = 2  # a label that would be shorter is left out


def escaped(text: str) -> str:
    """Text as it is written between two tags."""
    return escape(text, quote=False)


def cut_to(text: str, width: float, size: float) -> str:
    """Return as much of a text as fits into some px, with "…" if it is cut; "" if too little.

    size: of the font, in px.
    """
    room, ends, kept = width / size, width / size - _LETTER, 0
    used = 0.0
    for at, letter in enumerate(text):
        used += _letter_width(letter)
        if used <= ends:
            kept = at + 1
        if used > room:
            return f"{text[:kept]}…" if kept >= _LEAST_LETTERS else ""
    return text


def _letter_width(letter: str) -> float:
    if letter.isascii():
        return _CAPITAL if letter.isupper() or letter in "mw%@&" else _LETTER
    return _FULL_WIDTH if east_asian_width(letter) in "WF" else _CAPITAL


def px_text(value: float) -> str:
    """Return a length for an attribute: "12.5"."""
    return f"{value:.3f}".rstrip("0").rstrip(".")


def rgb_text(color: int) -> str:
    """Return 0xRRGGBB as "#rrggbb"."""
    return f"#{color:06x}"
