"""The Compare panel: whether B is faster than A, what explains it, and how sure that is."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QFrame, QScrollArea

from viewer.gui.panels.base.page_panel import PagePanel
from viewer.gui.panels.base.panel_host import PanelHost
from viewer.gui.panels.compare.card import COPY, END, SWAP, CompareCard
from viewer.gui.qt.clipboard import copy_text
from viewer.gui.session.comparison import compare, select_row, swap_arms
from viewer.gui.session.feeds.comparison import ComparisonFeed
from viewer.reports.compare_text import compare_markdown

NOTHING = (
    "Compare the open profiles with others: is B faster, where, and is it sure? Each file is a "
    "session, that is, one process on the device. A verdict needs three sessions in each arm."
)
COMPUTING = "Comparing…"


class ComparePanel(PagePanel):
    """The answer of the comparison, or a button to begin one."""

    def __init__(self, host: PanelHost) -> None:
        session = host.session
        super().__init__(host)
        self._feed = ComparisonFeed.of(session)
        self.card: CompareCard | None = None
        self.page = QScrollArea()
        self.page.setWidgetResizable(True)
        self.page.setFrameShape(QFrame.Shape.NoFrame)
        self.page.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.page.setAccessibleName("Compare")
        self.page.viewport().setAutoFillBackground(False)
        self.set_page(self.page)
        self.refresh_on(self._feed.changed, session.compared)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show the comparison, why there is none, or a button to begin one."""
        open_comparison = self._feed.answer
        if open_comparison is not None and not open_comparison.problem:
            self.card = CompareCard(open_comparison, self._theme)
            self.card.row_picked.connect(self._pick)
            self.card.pressed.connect(self._press)
            self.page.setWidget(self.card)
            self.show_page()
        elif open_comparison is not None:
            self.show_sentence(f"Arm {open_comparison.problem}.", END, self._end)
        elif self._feed.pending:
            self.show_sentence(COMPUTING)
        else:
            self.show_sentence(NOTHING, "Compare with…", self.host.choose_comparison)

    def clear_page(self) -> None:
        self.card = None
        old = self.page.takeWidget()
        if old is not None:
            old.deleteLater()

    @Slot(int)
    def _pick(self, row: int) -> None:
        open_comparison = self._feed.answer
        if open_comparison is not None:
            select_row(self._session, open_comparison, row)

    @Slot(str)
    def _press(self, text: str) -> None:
        open_comparison = self._feed.answer
        if text == COPY and open_comparison is not None:
            copy_text(self, compare_markdown(open_comparison.calls), "the comparison")
        elif text == SWAP:
            swap_arms(self._session)
        elif text == END:
            self._end()

    @Slot()
    def _end(self) -> None:
        compare(self._session, None)
