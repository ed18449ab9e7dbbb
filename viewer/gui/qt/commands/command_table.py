"""Every action of the window once: its name, its keys, when it makes sense, and what it does.

Menus, toolbar, the command palette and the sheet of keys are all made from these records. The keys
of a record are those that it comes with; which it has now is asked of the table, since the user can
choose others. A key has a fallback text beside its standard meaning, since some platforms leave
standard keys empty.
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

# A menu item that separates groups.
SEPARATOR = "-"


@dataclass(frozen=True, slots=True)
class Precondition:
    """When a command makes sense, and what has to be there for that, in words: "an open file"."""

    text: str
    check: Check

    def __call__(self) -> bool:
        return self.check()


@dataclass(frozen=True, slots=True)
class Command:
    """One action. `keys` are texts as QKeySequence reads them, the first is shown in menus.

    menu: where it stands. group: what it is listed under elsewhere, where its menu does not say
    enough. enabled: what it needs to make sense; None: always does. checked: for a switch, whether
    it is on. repeats: whether a held key does it again and again. hold: what a key
    does when it goes down, if it goes on until the key is up; it is told the key, and `run` is one
    step of it. keywords: other words that it is found by.
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

    @property
    def place(self) -> str:
        """What it is listed under: its group, or else its menu."""
        return self.group or self.menu

    @property
    def plain_title(self) -> str:
        """The title without its menu mnemonic."""
        return self.title.replace("&", "")

    @property
    def is_possible(self) -> bool:
        """Whether it makes sense now."""
        return self.enabled is None or self.enabled()

    @property
    def need(self) -> str:
        """What has to be there for it, "" where nothing has to."""
        return "" if self.enabled is None else self.enabled.text


class CommandTable(QObject):
    """All commands of a window as QActions, kept in step with what can be done.

    own_keys: the keys that the user chose, by command id, from a file that anybody may have
    written. `keys_changed`: commands have other keys now.
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
        self._able: dict[str, bool] = {}  # as the actions were told
        self._owner, self._stored_keys = owner, own_keys or {}
        self.add(commands)

    def add(self, commands: Iterable[Command]) -> None:
        """Add commands that need the table themselves, before any key of it was changed."""
        owner = self._owner
        taken = {key: command.id for command in self.commands.values() for key in command.keys}
        for command in commands:
            if command.id in self.commands:
                raise ValueError(f"command {command.id} exists twice")
            for key in command.keys:
                if key in taken:
                    raise ValueError(f"{key} is the key of {taken[key]} and of {command.id}")
                taken[key] = command.id
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
        """The keys that a command has now."""
        return self._keys.of(id)

    def owner(self, key: str) -> Command | None:
        """The command that has a key, None if it is free."""
        id = self._keys.owner(key)
        return None if id is None else self.commands[id]

    def has_own_keys(self, id: str) -> bool:
        """Whether a command has other keys than it came with."""
        return self._keys.is_own(id)

    def way_to(self, id: str) -> str:
        """How a command is run now, as a word in a sentence: "Ctrl+F or /", or where it stands."""
        command = self.commands[id]
        keys = " or ".join(shown_key(key) for key in self.keys(id))
        return keys or f"“{command.plain_title.rstrip('…')}” in the menu {command.menu}"

    @property
    def own_keys(self) -> dict[str, Keys]:
        """What the user chose, to be stored."""
        return dict(self._keys.own)

    def give_key(self, id: str, key: str) -> None:
        """Let a key run a command, and no other."""
        self._keys.give(id, key)
        self._changed()

    def take_key(self, id: str, key: str) -> None:
        """Let a key run a command no more."""
        self._keys.take(id, key)
        self._changed()

    def reset_keys(self, id: str | None = None) -> None:
        """Give a command, or every one, the keys that it came with."""
        if id is None:
            self._keys.reset_all()
        else:
            self._keys.reset(id)
        self._changed()

    def _changed(self) -> None:
        self._show_keys()
        self.keys_changed.emit()

    def _show_keys(self) -> None:
        wanted = {id: [QKeySequence(key) for key in self.keys(id)] for id in self.commands}
        changed = {id for id, keys in wanted.items() if self.actions[id].shortcuts() != keys}
        for id in changed:  # first free them all: for a moment a key would be of two
            self.actions[id].setShortcuts([])
        for id in changed:
            self.actions[id].setShortcuts(wanted[id])

    # -- what can be done --------------------------------------------------------------------

    def refresh(self) -> None:
        """Enable and check what applies now: in every frame of a zoom, so that a need that many
        commands share is asked once."""
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

    def run(self, id: str) -> bool:
        """Do a command once, unless it makes no sense now; whether it was done."""
        possible = self.commands[id].is_possible
        if possible:
            self.commands[id].run()
        return possible

    # -- menus -------------------------------------------------------------------------------

    def add_to(self, menu: QMenu, ids: Iterable[str]) -> None:
        """Add commands, or a line where an id is SEPARATOR, to a menu."""
        for id in ids:
            if id == SEPARATOR:
                menu.addSeparator()
            else:
                menu.addAction(self.actions[id])


class _HeldAction(QAction):
    """Tells a key from a click: `pressed` carries the key that went down."""

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
