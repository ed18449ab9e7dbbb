"""Building blocks of a summary: sections with a title, rows of links, hairlines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from viewer.gui.panels.base.panel_host import PanelHost
from viewer.gui.panels.summary.links import FigureLink, SummaryLink, TextLink
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import ICON_SIZE, Theme
from viewer.gui.qt.widgets.labels import ElidedLabel, Hairline, label

Action = Callable[[], object]
_INSET, _SECTION_GAP, _ROW_GAP = 16, 10, 4


class IconMark(QWidget):
    """An icon in the color of a token, in light and dark."""

    def __init__(self, name: str, token: str, theme: Theme) -> None:
        super().__init__()
        self._name, self._token, self._theme = name, token, theme
        self.setFixedSize(ICON_SIZE, ICON_SIZE)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self._theme.icon(self._name, self._token).paint(painter, self.rect())
        painter.end()


class SectionColumn(QWidget):
    """A column of sections, from top to bottom."""

    def __init__(self, host: PanelHost) -> None:
        super().__init__()
        self._host = host
        theme = self._theme = host.theme
        self.column = QVBoxLayout(self)
        inset = theme.px(_INSET)
        self.column.setContentsMargins(inset, theme.px(14), inset, inset)
        self.column.setSpacing(theme.px(_ROW_GAP))

    def links(self) -> dict[str, SummaryLink]:
        """Return all links by their text; of equal texts the first."""
        links: dict[str, SummaryLink] = {}
        for link in self.findChildren(SummaryLink):
            links.setdefault(link.text(), link)
        return links

    def begin(self, title: str, caption: str = "") -> None:
        """Begin a section: a hairline, its title, and a caption at the right."""
        gap = self._theme.px(_SECTION_GAP)
        if self.column.count():
            self.column.addSpacing(gap - self._theme.px(_ROW_GAP))
            self.column.addWidget(Hairline(self._theme))
            self.column.addSpacing(gap - self._theme.px(_ROW_GAP))
        if title:
            row = QHBoxLayout()
            row.setSpacing(self._theme.px(8))
            row.addWidget(label(title, self._theme, "section", "text2"))
            elided_label = ElidedLabel(caption, self._theme, "caption", "text2")
            elided_label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            row.addWidget(elided_label, 1)
            self.column.addLayout(row)

    def figures(self, figures: Sequence[tuple[FigureLink, Action]]) -> None:
        """Add a row of key figures."""
        row = QHBoxLayout()
        row.setContentsMargins(0, self._theme.px(6), 0, 0)
        row.setSpacing(self._theme.px(12))
        for link, action in figures:
            link.clicked.connect(action)
            row.addWidget(link, 1)
        self.column.addLayout(row)

    def grid(self, rows: Sequence[Sequence[QWidget | None]], stretch: int) -> None:
        """Add rows of widgets in columns. stretch: the column that takes the remaining width."""
        grid = QGridLayout()
        grid.setHorizontalSpacing(self._theme.px(8))
        grid.setVerticalSpacing(self._theme.px(_ROW_GAP))
        grid.setColumnStretch(stretch, 1)
        for number, widgets in enumerate(rows):
            for place, widget in enumerate(widgets):
                if widget is not None and place == stretch:
                    grid.addWidget(widget, number, place)
                elif widget is not None:
                    side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
                    grid.addWidget(widget, number, place, side)
        self.column.addLayout(grid)

    def text(
        self,
        text: str,
        action: Action,
        tone: str = "text1",
        hint: str = "",
        *,
        elided: bool = False,
    ) -> TextLink:
        """Return a link of one line."""
        link = TextLink(text, self._theme, "cell", tone, hint, elided=elided)
        link.clicked.connect(action)
        return link

    def line(self, text: str, action: Action, tone: str = "accent") -> None:
        """Add a link on a line of its own."""
        row = QHBoxLayout()
        row.addWidget(self.text(text, action, tone, elided=True))
        self.column.addLayout(row)

    def end(self) -> None:
        """Keep the sections at the top."""
        self.column.addStretch(1)
