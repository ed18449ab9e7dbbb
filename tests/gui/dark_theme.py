"""The dark theme, which all tests share: styling the application again takes 25 ms."""

from dataclasses import dataclass
from functools import cache

from PySide6.QtWidgets import QApplication

from viewer.gui.qt.theme.theme import Theme


@dataclass(frozen=True)
class _Applied:
    theme: Theme
    style_sheet: str


@cache
def _applied() -> _Applied:
    app = QApplication.instance()
    theme = Theme(app, "dark")
    return _Applied(theme, app.styleSheet())


def dark_theme() -> Theme:
    """Return the theme; it is applied again only if an earlier test has changed the look."""
    applied = _applied()
    if QApplication.instance().styleSheet() != applied.style_sheet:
        applied.theme.set_choice("light")
    applied.theme.set_choice("dark")
    return applied.theme
