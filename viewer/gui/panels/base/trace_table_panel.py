"""Base class of panels with one table about the current trace.

A filter and a subtitle are above the table. Ctrl+C copies the selected rows; a click on a row
selects a slice of the file.
"""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from viewer.gui.panels.base.page_panel import FadingWidget, head_row, plain_column, subtitle_label
from viewer.gui.panels.base.trace_panel import TracePanel
from viewer.gui.qt.copy_formats import CopyFormat
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.tables import FilterLine, NoRows, RowTable, let_copy
from viewer.gui.session.session import Session
from viewer.model.inferences.inference_views import Inferences
from viewer.render.palette import Palette
from viewer.view.open_trace import OpenTrace
from viewer.view.state import SliceRef

Answer = TypeVar("Answer")


class TraceTablePanel(TracePanel[Answer]):
    """The frame; a subclass fills the table and handles its rows."""

    def __init__(
        self,
        session: Session,
        table: RowTable,
        theme: Theme,
        hint: str,
        name: str,
        parent: QWidget | None = None,
        *,
        ranges: bool = False,
        fading: tuple[FadingWidget, ...] = (),
    ) -> None:
        """hint, name: the filter's placeholder and accessible name. fading: what can be stale.

        A subclass can add to `head`, the line above the table, and to `column`, the layout of the
        page.
        """
        super().__init__(session, theme, parent, ranges=ranges)
        self.table = table
        if not table.actions():  # some tables copy on their own
            let_copy(table, self.copy)
        self.filter = FilterLine(hint, name, table, theme)
        self.subtitle = subtitle_label(theme)
        self.head = head_row(theme)
        self.head.addWidget(self.filter, 1)
        self.head.addWidget(self.subtitle, 1)
        page = QWidget()
        self.column = plain_column(page)
        self.column.addLayout(self.head)
        self.column.addLayout(NoRows(table, self.filter, theme).over_table(), 1)
        self.set_page(page, fading=fading)
        self.refresh_on(session.workspace_changed)
        session.coloring_changed.connect(self._color)

    def copy(self, form: CopyFormat = CopyFormat.TEXT) -> None:
        """Copy the selected rows."""
        raise NotImplementedError

    @Slot()
    def _color(self) -> None:
        """Paint operators in the current colors of their slices."""
        raise NotImplementedError

    def _operator_colors(self) -> Palette | None:
        """Return the palette index of every operator of the shown trace."""
        shown = self._of[0]
        return None if shown is None else shown.operator_colors(self._session.state.scheme)

    def _show_table(self, subtitle: str) -> None:
        self.show_page()
        self.subtitle.setText(subtitle)

    def _select(self, shown: OpenTrace, index: int) -> None:
        """Select a slice of the file, and show the inferences as they ran."""
        self._session.show_inferences(Inferences.AS_RUN)
        number = self._session.number_of(shown)
        if number is not None:
            self._session.select_slice(SliceRef(number, index), reveal=True, keep_area=True)
