"""What the painter of a whole model keeps between frames: fonts, cut texts and grounds."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF

from viewer.gui.panels.graph.colors.fill_colors import backend_color
from viewer.gui.panels.graph.whole.picture import WholePicture
from viewer.gui.qt.theme.theme import FontRole, Theme
from viewer.gui.qt.widgets.elided_text import elided_text
from viewer.render.palette import mix

_MOST_KEPT = 20_000  # texts
_LIGHTER, _TINT = 0.03, 0.12  # of the ground of a module, and of a delegate call
_RGB = 0xFFFFFF


class Kept:
    """Fonts, texts and grounds in one theme."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self._fonts: dict[tuple[str, int], tuple[QFont, QFontMetricsF]] = {}
        self._texts: dict[tuple[str, str, int, int, bool], str] = {}
        self._grounds: tuple[WholePicture, dict[int, QColor]] | None = None

    def grounds(self, picture: WholePicture) -> dict[int, QColor]:
        """Return the ground of every frame, a little lighter than that of the one around it.

        They are opaque: to fill much with a color that is not takes many times as long.
        """
        if self._grounds is None or self._grounds[0] is not picture:
            theme = self._theme
            found = {-1: theme.color("canvas")}
            for node in picture.frames.tolist():
                backend = picture.looks[node].backend
                tint, share = theme.color("text1"), _LIGHTER
                if backend >= 0:
                    tint, share = backend_color(backend, theme), _TINT
                below = found[int(picture.tree.parent[node])]
                found[node] = QColor.fromRgb(mix(below.rgb() & _RGB, tint.rgb() & _RGB, share))
            self._grounds = picture, found
        return self._grounds[1]

    @property
    def theme(self) -> Theme:
        """The theme of all pictures."""
        return self._theme

    def font(self, role: FontRole, size: int) -> tuple[QFont, QFontMetricsF]:
        """Return the font of a role with letters of some px, and its metrics."""
        found = self._fonts.get((role, size))
        if found is None:
            font = self._theme.font(role)
            font.setPixelSize(size)
            found = self._fonts[role, size] = font, QFontMetricsF(font)
        return found

    def fitted(self, text: str, role: FontRole, size: int, room: float, *, left: bool) -> str:
        """Return as much of a text as fits into some px. left: cut its start."""
        key = text, role, size, int(room), left
        found = self._texts.get(key)
        if found is None:
            if len(self._texts) >= _MOST_KEPT:
                self._texts.clear()
            side = Qt.TextElideMode.ElideLeft if left else Qt.TextElideMode.ElideRight
            found = elided_text(self.font(role, size)[1], text, side, int(room))
            found = self._texts[key] = "" if found == "…" else found
        return found
