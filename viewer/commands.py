"""Every action of the window once: its name, its keys, when it makes sense, and what it does.

Menus, toolbar, the command palette and the sheet of keys are all made from these records. A key has
a fallback text beside its standard meaning, since some platforms leave standard keys empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget

Check = Callable[[], bool]

# A menu item that separates groups.
SEPARATOR = "-"


@dataclass(frozen=True, slots=True)
class Command:
    """One action. `keys` are texts as QKeySequence reads them, the first is shown in menus.

    enabled: whether it makes sense now. checked: for a switch, whether it is on.
    """

    id: str
    title: str
    menu: str
    run: Callable[[], object]
    keys: tuple[str, ...] = ()
    enabled: Check | None = None
    checked: Check | None = None
    icon: str = ""

    @property
    def plain_title(self) -> str:
        """The title without its menu mnemonic."""
        return self.title.replace("&", "")


class CommandTable:
    """All commands of a window as QActions, kept in step with what can be done."""

    def __init__(self, owner: QWidget, commands: Iterable[Command]) -> None:
        self.commands: dict[str, Command] = {}
        self.actions: dict[str, QAction] = {}
        taken: dict[str, str] = {}
        for command in commands:
            if command.id in self.commands:
                raise ValueError(f"command {command.id} exists twice")
            for key in command.keys:
                if key in taken:
                    raise ValueError(f"{key} is the key of {taken[key]} and of {command.id}")
                taken[key] = command.id
            action = QAction(command.title, owner)
            action.setObjectName(command.id)
            action.setShortcuts([QKeySequence(key) for key in command.keys])
            action.setCheckable(command.checked is not None)
            action.triggered.connect(_runner(command))
            owner.addAction(action)
            self.commands[command.id] = command
            self.actions[command.id] = action

    def refresh(self) -> None:
        """Enable and check what applies now."""
        for id, command in self.commands.items():
            action = self.actions[id]
            action.setEnabled(command.enabled is None or command.enabled())
            if command.checked is not None:
                action.setChecked(command.checked())

    def fill(self, bar: QMenuBar, order: Iterable[tuple[str, tuple[str, ...]]]) -> dict[str, QMenu]:
        """Make the menus: (title, command ids or SEPARATOR). A command is in one menu only."""
        menus = {}
        for title, ids in order:
            menu = bar.addMenu(title)
            menus[title.replace("&", "")] = menu
            self.add_to(menu, ids)
        return menus

    def add_to(self, menu: QMenu, ids: Iterable[str]) -> None:
        """Add commands, or a line where an id is SEPARATOR, to a menu."""
        for id in ids:
            if id == SEPARATOR:
                menu.addSeparator()
            else:
                menu.addAction(self.actions[id])


def _runner(command: Command) -> Callable[[bool], None]:
    def run(checked: bool = False) -> None:
        command.run()

    return run
