"""The Program panel: what ran, as a tree of the open program files (`.pte`)."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Slot
from PySide6.QtWidgets import QMenu

from viewer.gui.panels.base.page_panel import PagePanel
from viewer.gui.panels.base.panel_host import PanelHost
from viewer.gui.panels.program.rows import ProgramRows
from viewer.gui.qt.clipboard import CopyFormat
from viewer.gui.qt.widgets.tables import offer_markdown, pop_up
from viewer.gui.qt.widgets.tree_model import TreeModel
from viewer.gui.qt.widgets.tree_view import TreeView

NOTHING = (
    "Open the program file (.pte) to see its instructions, delegates, tensors, memory and sizes."
)
MOST_COPIED = 5000  # rows
_OPEN_LEVELS = 1  # files and methods
_INDENT = 16  # px per level
_LEAST_CONTENTS = 150  # px
_COPY = "Copy rows as TSV"


class ProgramTree(TreeView[ProgramRows]):
    """The tree widget; only its rows are copied that are selected."""

    most_copied = MOST_COPIED

    def copy(self, form: CopyFormat = CopyFormat.TEXT) -> None:
        rows = self.selectionModel().selectedRows()
        self.copy_nodes([self._model.node(index) for index in rows], form)

    @Slot(QPoint)
    def _menu(self, point: QPoint) -> None:
        menu = QMenu(self)
        menu.addAction(_COPY, self.copy)
        offer_markdown(menu, _COPY, self.copy)
        pop_up(menu, self, point)


class ProgramPanel(PagePanel):
    """The open program files."""

    def __init__(self, host: PanelHost) -> None:
        session, theme = host.session, host.theme
        super().__init__(host)
        self.model = TreeModel[ProgramRows](self)
        self.tree = ProgramTree(self.model, "Program", theme, _INDENT, _LEAST_CONTENTS)
        self.tree.setSortingEnabled(False)
        self.set_page(self.tree)
        self.refresh_on(session.workspace_changed)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show the open program files, or what to open."""
        executables, rows = tuple(self._session.workspace.executables), self.model.rows
        if not executables:
            self.show_sentence(NOTHING, "Open files…", self.host.open_files)
            return
        if rows is None or executables != rows.executables:  # else what is expanded stays
            self.tree.show_rows(ProgramRows(executables))
            self.tree.expandToDepth(_OPEN_LEVELS)
        self.show_page()

    def clear_page(self) -> None:
        self.tree.show_rows(None)
