"""The dark theme, which all tests share: applying it again takes time."""

from dataclasses import dataclass
from functools import cache

from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication

from viewer.gui.qt.theme.theme import Theme


@dataclass(frozen=True)
class _Applied:
    theme: Theme
    palette: QPalette


@cache
def _applied() -> _Applied:
    app = QApplication.instance()
    theme = Theme(app, "dark")
    return _Applied(theme, app.palette())


def dark_theme() -> Theme:
    """Return the theme; it is applied again only if an earlier test has changed the look."""
    applied = _applied()
    if QApplication.instance().palette() != applied.palette:
        applied.theme.set_choice("light")
    applied.theme.set_choice("dark")
    applied.theme.set_font_size("normal")
    return applied.theme
