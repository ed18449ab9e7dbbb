"""Defines commands: name, keys, precondition and function, each in one place.

Menus, toolbar, command palette and the list of shortcuts are built from these records. The keys of
a record are defaults; the table knows the current keys, as the user can change them. Standard keys
have an additional fallback text, because some platforms leave them undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QAction, QKeySequence, QShortcutEvent
from PySide6.QtWidgets import QMenu, QWidget

from viewer.gui.qt.commands.key_map import KeyMap, Keys, shown_key
from viewer.gui.qt.crash_report import guard

Check = Callable[[], bool]

# Separates groups in a list of menu items.
SEPARATOR = "-"


@dataclass(frozen=True, slots=True)
class Precondition:
    """When a command is available; `text` names what it requires, such as "an open file"."""

    text: str
    check: Check

    def __call__(self) -> bool:
        return self.check()


@dataclass(frozen=True, slots=True)
class Command:
    """One command.

    Attributes:
        menu: the menu that contains it.
        run: executes it once.
        keys: default shortcuts as QKeySequence parses them; menus show the first.
        enabled: what it requires; None if it is always available.
        checked: for a toggle, returns whether it is on.
        repeats: whether holding a key down repeats it.
        hold: for an action that lasts until the key is released; called with the key when it goes
            down.
        group: heading in other lists, if the menu is not specific enough.
        keywords: additional words for the search.
        after: for one of a panel, the id of the command that it follows in lists, "" for those
            that show panels.
        wording: returns the title for what is open, for one that differs between files.
    """

    id: str
    title: str
    menu: str
    run: Callable[[], object]
    keys: tuple[str, ...] = ()
    enabled: Precondition | None = None
    checked: Check | None = None
    icon: str = ""
    repeats: bool = True
    hold: Callable[[Qt.Key], object] | None = None
    group: str = ""
    keywords: str = ""
    after: str = ""
    wording: Callable[[str], str] | None = None

    @property
    def place(self) -> str:
        """The heading that lists it: its group, or else its menu."""
        return self.group or self.menu

    @property
    def path(self) -> str:
        """Its menu and the submenu there, as in "View > Clocks"."""
        return f"{self.menu} > {self.group}" if self.group else self.menu

    @property
    def plain_title(self) -> str:
        """The title without its menu mnemonic."""
        return self.current_title.replace("&", "")

    @property
    def current_title(self) -> str:
        """The title for what is open."""
        return self.title if self.wording is None else self.wording(self.title)

    @property
    def is_possible(self) -> bool:
        """Whether it is available now."""
        return self.enabled is None or self.enabled()

    @property
    def need(self) -> str:
        """What it requires, as text; "" for nothing."""
        return "" if self.enabled is None else self.enabled.text


class CommandTable(QObject):
    """All commands of a window as QActions, enabled and checked by `refresh`.

    `own_keys` are the user's keys by command id; they come from a file and are not trusted.
    `keys_changed` is emitted when any keys change.
    """

    keys_changed = Signal()

    def __init__(
        self,
        owner: QWidget,
        commands: Iterable[Command],
        own_keys: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(owner)
        self.commands: dict[str, Command] = {}
        self.actions: dict[str, QAction] = {}
        self._able: dict[str, bool] = {}  # the enabled state last set on each action
        self._owner, self._stored_keys = owner, own_keys or {}
        self.add(commands)

    def add(self, commands: Iterable[Command]) -> None:
        """Add commands, before any key is changed; ValueError if an id or key exists already.

        Commands that refer to the table itself are added this way.
        """
        owner = self._owner
        key_owners = {key: command.id for command in self.commands.values() for key in command.keys}
        for command in commands:
            if command.id in self.commands:
                raise ValueError(f"command {command.id} exists twice")
            for key in command.keys:
                if key in key_owners:
                    raise ValueError(f"{key} is the key of {key_owners[key]} and of {command.id}")
                key_owners[key] = command.id
            action = _HeldAction(command.title, owner) if command.hold else QAction(owner)
            action.setText(command.title)
            action.setObjectName(command.id)
            action.setCheckable(command.checked is not None)
            action.setAutoRepeat(
                command.repeats and command.checked is None and command.hold is None
            )
            action.triggered.connect(_runner(command))
            if isinstance(action, _HeldAction) and command.hold is not None:
                action.pressed.connect(command.hold)
            owner.addAction(action)
            self.commands[command.id] = command
            self.actions[command.id] = action
        self._keys = KeyMap({c.id: c.keys for c in self.commands.values()}, self._stored_keys)
        self._show_keys()

    # -- keys --------------------------------------------------------------------------------

    def keys(self, id: str) -> Keys:
        """The current keys of a command."""
        return self._keys.of(id)

    def owner(self, key: str) -> Command | None:
        """The command that uses a key, None if the key is free."""
        id = self._keys.owner(key)
        return None if id is None else self.commands[id]

    def has_own_keys(self, id: str) -> bool:
        """Whether a command's keys differ from its defaults."""
        return self._keys.is_own(id)

    def way_to(self, id: str) -> str:
        """How to run a command, for a sentence: its keys ("Ctrl+F or /"), or else its menu."""
        command = self.commands[id]
        keys = " or ".join(shown_key(key) for key in self.keys(id))
        return keys or f"“{command.plain_title.rstrip('…')}” in the menu {command.menu}"

    @property
    def own_keys(self) -> dict[str, Keys]:
        """The keys that the user changed, by command id, to be stored."""
        return dict(self._keys.chosen)

    def give_key(self, id: str, key: str) -> None:
        """Assign a key to a command, and remove it from any other."""
        self._keys.give(id, key)
        self._changed()

    def take_key(self, id: str, key: str) -> None:
        """Remove a key from a command."""
        self._keys.take(id, key)
        self._changed()

    def reset_keys(self, id: str | None = None) -> None:
        """Restore the default keys of one command, or of all."""
        if id is None:
            self._keys.reset_all()
        else:
            self._keys.reset(id)
        self._changed()

    def _changed(self) -> None:
        self._show_keys()
        self.keys_changed.emit()

    def _show_keys(self) -> None:
        sequences = {id: [QKeySequence(key) for key in self.keys(id)] for id in self.commands}
        changed = {id for id, keys in sequences.items() if self.actions[id].shortcuts() != keys}
        for id in changed:  # clear them all first, so that no two actions share a key meanwhile
            self.actions[id].setShortcuts([])
        for id in changed:
            self.actions[id].setShortcuts(sequences[id])

    # -- state -------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Enable and check all actions for the current state.

        A precondition shared by several commands is evaluated only once.
        """
        met: dict[int, bool] = {id(None): True}
        for name, command in self.commands.items():
            need, action = command.enabled, self.actions[name]
            if (key := id(need)) not in met:
                met[key] = command.is_possible
            if met[key] is not self._able.get(name):
                self._able[name] = met[key]
                action.setEnabled(met[key])
            if command.checked is not None:
                action.setChecked(command.checked())
            if command.wording is not None:
                action.setText(command.current_title)

    def run(self, id: str) -> bool:
        """Run a command once if it is available; returns whether it ran."""
        possible = self.commands[id].is_possible
        if possible:
            self.commands[id].run()
        return possible

    # -- menus -------------------------------------------------------------------------------

    def add_to(self, menu: QMenu, ids: Iterable[str], titles: Mapping[str, str] = {}) -> None:
        """Append commands to a menu, with a separator for each `SEPARATOR`.

        titles: those that differ from the command's, by id; such an entry lasts for one menu.
        """
        for id in ids:
            if id == SEPARATOR:
                menu.addSeparator()
            elif id in titles:
                action = menu.addAction(titles[id], self.actions[id].trigger)
                action.setEnabled(self.actions[id].isEnabled())
            else:
                menu.addAction(self.actions[id])


class _HeldAction(QAction):
    """An action that emits `pressed` with the key for a shortcut, and `triggered` for a click."""

    pressed = Signal(Qt.Key)

    @guard(False)
    def event(self, event: QEvent) -> bool:
        if isinstance(event, QShortcutEvent) and not event.isAmbiguous():
            self.pressed.emit(event.key()[0].key())  # type: ignore[index]
            return True
        return bool(super().event(event))


def _runner(command: Command) -> Callable[[bool], None]:
    def run(checked: bool = False) -> None:
        command.run()

    return run
