"""The Program panel: what ran, as a tree of the open program files (`.pte`)."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QWidget

from viewer.gui.panels.base.page_panel import PagePanel
from viewer.gui.panels.program.tree import ProgramModel, ProgramTree
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.session import Session

NOTHING = (
    "Open the program file (.pte) to see its instructions, delegates, tensors, memory and sizes."
)
_OPEN_LEVELS = 1  # files and methods


class ProgramPanel(PagePanel):
    """The open program files; `open_dialog_requested` is emitted to open one."""

    open_dialog_requested = Signal()

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.model = ProgramModel(self)
        self.tree = ProgramTree(self.model, theme)
        self.set_page(self.tree)
        self.refresh_on(session.workspace_changed)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show the open program files, or what to open."""
        executables = tuple(self._session.workspace.executables)
        if not executables:
            self.show_sentence(NOTHING, "Open files…", self.open_dialog_requested)
            return
        if executables != self.model.executables:  # what is expanded stays otherwise
            self.model.show(executables)
            self.tree.expandToDepth(_OPEN_LEVELS)
        self.show_page()

    def clear_page(self) -> None:
        self.model.show(())
