"""Building blocks of a details card: title, rows of figures, key-value sections, links."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from viewer.analysis.links.labels import set_label
from viewer.gui.panels.base.panel_host import PanelHost
from viewer.gui.panels.base.slice_facts import Figure
from viewer.gui.panels.base.swatches import Swatch, colors_of
from viewer.gui.qt.theme.theme import FontRole
from viewer.gui.qt.widgets.labels import (
    LONG_WORD,
    ClampedText,
    Hairline,
    KeyFigure,
    KeyValueGrid,
    label,
    span,
)
from viewer.program.program import Operator
from viewer.view.open_trace import OpenTrace
from viewer.view.selected_slices import place_among
from viewer.view.slice_colors import ramp_of, slice_colors
from viewer.view.state import SliceRef

# A row with a longer number, such as a start of 12 digits, needs smaller ones.
_LONG_NUMBER = 9


class CardFrame(QWidget):
    """A column of parts, from top to bottom; links to operators and slices select them."""

    def __init__(self, host: PanelHost) -> None:
        super().__init__()
        self._host = host
        self._session, self._theme = host.session, host.theme
        self._grids: dict[str, KeyValueGrid] = {}
        self._column = QVBoxLayout(self)
        theme = host.theme
        inset = theme.px(16)
        self._column.setContentsMargins(inset, theme.px(14), inset, inset)
        self._column.setSpacing(theme.px(8))

    def rows(self, section: str) -> dict[str, str]:
        """Return keys and values of a section, as text or HTML; {} if there is no such section."""
        return dict(self._grids[section].rows) if section in self._grids else {}

    def _colors(self, open_trace: OpenTrace, operators: Sequence[int]) -> tuple[int, ...]:
        """Return the palette index of each operator in the current color scheme."""
        return colors_of(operators, open_trace.operator_colors(self._session.state.scheme))

    def _title(
        self,
        open_trace: OpenTrace,
        members: Sequence[Operator],
        fallback: str = "",
        slice_: SliceRef | None = None,
    ) -> None:
        """Add swatch, name and module; for a slice also which of the selected ones it is.

        fallback: the name of a slice without operators.
        """
        theme = self._theme
        row = QHBoxLayout()
        row.setSpacing(theme.px(8))
        swatch_column = QVBoxLayout()
        swatch_column.setContentsMargins(0, theme.px(3), 0, 0)
        session, operators = self._session, [m.index for m in members]
        colors = self._colors(open_trace, operators)
        note = ""
        if slice_ is not None:
            scheme = session.state.scheme
            ramp = ramp_of(session.traces, scheme)
            colors = slice_colors(open_trace, slice_.index, operators, scheme, ramp)
            note = place_among(session.traces, slice_, session.state.slices)
        self.swatch = Swatch(colors, theme)
        swatch_column.addWidget(self.swatch)
        swatch_column.addStretch(1)
        row.addLayout(swatch_column)
        name, subtitle = fallback, ""
        if len(members) == 1:
            name = members[0].name
            texts = members[0].module_path, members[0].module_type
            tones = theme.tokens.text1, theme.tokens.text2
            pairs = zip(texts, tones, strict=True)
            subtitle = " ".join(span(text, tone) for text, tone in pairs if text)
        elif members:
            name = set_label(open_trace.table, operators)
            subtitle = span(f"shared by {len(members)} operators", theme.tokens.text2)
        column = QVBoxLayout()
        column.setSpacing(theme.px(2))
        # A label does not break a long word, and would be cut.
        is_long = max(map(len, name.split()), default=0) > LONG_WORD
        title = ClampedText if is_long else partial(label, wrap=True)
        row.addWidget(title(name, theme, "operator"), 1)
        column.addLayout(row)
        for text in filter(None, (subtitle, note and span(note, theme.tokens.text2))):
            line = label(text, theme, "cell", html=True)
            line.setContentsMargins(theme.px(20), 0, 0, 0)
            column.addWidget(line)
        self._column.addLayout(column)

    def _time_figures(self, figures: Sequence[Figure]) -> None:
        """Add the duration in large digits, the other figures next to it, and the start below."""
        row = QHBoxLayout()
        row.setSpacing(self._theme.px(24))
        row.setContentsMargins(0, self._theme.px(4), 0, 0)
        below = QVBoxLayout()
        for number, each in enumerate(figures):
            role: FontRole = "figure" if number else "duration"
            if each.caption == "start":
                role = "caption"
            key_figure = KeyFigure(
                each.number, each.unit, each.caption, self._theme, role, each.copied
            )
            if role == "caption":
                below.addWidget(key_figure)
            else:
                row.addWidget(key_figure, 0, Qt.AlignmentFlag.AlignBottom)
        row.addStretch(1)
        self._column.addLayout(row)
        self._column.addLayout(below)

    def _align_keys(self) -> None:
        """Give all sections key columns of one width, so that their values are in one line."""
        width = max((grid.key_width for grid in self._grids.values()), default=0)
        for grid in self._grids.values():
            grid.set_key_width(width)

    def _figures(self, figures: Sequence[Figure], role: FontRole, columns: int = 0) -> None:
        """Add a row of figures. columns: how many columns to align with, as in the row above."""
        if any(len(each.number) > _LONG_NUMBER for each in figures):
            role = "cost"
        row = QHBoxLayout()
        row.setSpacing(self._theme.px(12))  # with less, two captions read as one
        row.setContentsMargins(0, self._theme.px(4), 0, self._theme.px(2))
        for each in figures:
            texts = each.number, each.unit, each.caption
            row.addWidget(KeyFigure(*texts, self._theme, role, each.copied), 1)
        for _ in range(columns - len(figures)):
            row.addStretch(1)
        self._column.addLayout(row)

    def _section(self, title: str, hint: str = "") -> KeyValueGrid:
        """Start a section with its own grid."""
        self._head(title, hint)
        grid = KeyValueGrid(self._theme)
        grid.linked.connect(self._follow)
        self._grids[title] = grid
        self._column.addWidget(grid)
        return grid

    def _head(self, title: str, hint: str = "", html: str = "") -> None:
        theme = self._theme
        self._column.addSpacing(theme.px(6))
        self._column.addWidget(Hairline(theme))
        self._column.addSpacing(theme.px(4))
        text = span(title, theme.tokens.text1, bold=True)
        if html or hint:
            text += f"&nbsp;&nbsp;{html or span(hint, theme.tokens.text3)}"
        self._column.addWidget(label(text, theme, "section", html=True))

    @Slot(str)
    def _follow(self, href: str) -> None:
        kind, _, rest = href.partition(":")
        number, _, what = rest.partition(":")
        if kind == "operator":
            self._session.select_operators(int(number), (int(what),))
        elif kind == "slice":
            ref = SliceRef(int(number), int(what))
            self._session.select_slice(ref, reveal=True, keep_area=True)
        elif kind == "source":
            self._host.show_source(what, int(number))
