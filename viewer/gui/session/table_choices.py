"""What the user chose in tables of groups: their keys and columns, for the session file.

Panels are created late, so they ask for their choice, and follow `restored`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from PySide6.QtCore import QObject, Qt, Signal, Slot

from viewer.gui.session.session import Session
from viewer.view.sessions.session_file import SavedTable


class TableChoices(QObject):
    """The choices of one session. `changed`: the user chose; `restored`: a session file did."""

    changed = Signal()
    restored = Signal()

    @classmethod
    def of(cls, session: Session) -> TableChoices:
        """The choices of a session, created on first use."""
        choices = session.findChild(cls, options=Qt.FindChildOption.FindDirectChildrenOnly)
        return choices if isinstance(choices, cls) else cls(session)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self._by_name: dict[str, SavedTable] = {}
        session.workspace_changed.connect(self._forget_keys)

    @property
    def saved(self) -> tuple[SavedTable, ...]:
        """All choices that are not the default."""
        return tuple(each for each in self._by_name.values() if each != SavedTable(each.table))

    def choice_of(self, table: str) -> SavedTable:
        """Return what was chosen in a table."""
        return self._by_name.get(table, SavedTable(table))

    def choose(self, table: str, **fields: Any) -> None:
        """Replace parts of a choice."""
        before = self.choice_of(table)
        self._by_name[table] = msgspec.structs.replace(before, **fields)
        if self._by_name[table] != before:
            self.changed.emit()

    def restore(self, saved: Sequence[SavedTable]) -> None:
        """Take the choices of a session file."""
        self._by_name.update((each.table, each) for each in saved)
        self.restored.emit()

    @Slot()
    def _forget_keys(self) -> None:
        """Start with the default keys for other files; columns stay."""
        if not self._session.workspace.paths:
            for table, choice in self._by_name.items():
                self._by_name[table] = msgspec.structs.replace(choice, by="", then="")
