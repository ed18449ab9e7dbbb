"""Commands: name, keys, precondition and function, each in one place; their keys and their search.

Menus, toolbar, command palette and the list of shortcuts are built from these records. A key is a
text such as "Ctrl+Shift+P", as QKeySequence writes it on every platform. Standard keys have a
fallback text, because some platforms leave them undefined.

In a search, every typed word must match: its letters occur in the name in order, possibly with
others in between. Consecutive letters and letters at the start of a word score higher, so "zi"
ranks "Zoom in" above "Scroll tracks in file".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QAction, QKeySequence, QShortcutEvent
from PySide6.QtWidgets import QMenu, QWidget

from viewer.dataclasses import dataclass, field
from viewer.gui.qt.crash_report import guard

Keys: TypeAlias = tuple[str, ...]

# Keys that widgets need themselves, and what they do; they cannot be assigned to commands.
FIXED: Mapping[str, str] = {
    "Tab": "moves the focus forward",
    "Shift+Tab": "moves the focus back",
    "Shift+Backtab": "moves the focus back",
    "Backtab": "moves the focus back",
    "Space": "presses buttons",
    "Ctrl+C": "copies",
}
_LONGEST = 60  # characters in the text of a key
_MOST = 8  # keys per command
_NOT_ALONE = {
    Qt.Key.Key_unknown, Qt.Key.Key_Shift, Qt.Key.Key_Control, Qt.Key.Key_Alt, Qt.Key.Key_AltGr,
    Qt.Key.Key_Meta, Qt.Key.Key_CapsLock, Qt.Key.Key_NumLock, Qt.Key.Key_ScrollLock,
}  # fmt: skip


def key_text(key: object) -> str:
    """The normalized text of a key; "" if it is not one key, such as a lone modifier."""
    if not isinstance(key, str) or not 0 < len(key) <= _LONGEST:
        return ""
    sequence = QKeySequence(key)
    if sequence.count() != 1 or sequence[0].key() in _NOT_ALONE:  # type: ignore[index]
        return ""
    text = sequence.toString(QKeySequence.SequenceFormat.PortableText)
    return text if text.isprintable() and QKeySequence(text) == sequence else ""


def shown_key(key: str) -> str:
    """A key as this platform displays it, such as ⌘P on a Mac."""
    return QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)


def shown_keys(keys: Iterable[str]) -> str:
    """Several keys as this platform displays them, separated by commas."""
    return ", ".join(shown_key(key) for key in keys)


class KeyMap:
    """The keys of all commands by command id; no two commands share a key.

    `defaults` are the default keys of all commands. `chosen` maps some commands to the keys that
    the user chose instead, which take precedence over the defaults of other commands.
    """

    def __init__(self, defaults: Mapping[str, Keys], chosen: Mapping[str, object]) -> None:
        self.defaults = {id: _clean(keys) for id, keys in defaults.items()}
        self.chosen: dict[str, Keys] = {}
        taken: set[str] = set()
        for id, keys in chosen.items():
            if id in self.defaults and isinstance(keys, list | tuple):
                self.chosen[id] = tuple(
                    key for key in _clean(keys) if key not in taken and key not in FIXED
                )
                taken.update(self.chosen[id])
        self._settle()

    def of(self, id: str) -> Keys:
        """The current keys of a command."""
        return self._keys[id]

    def owner(self, key: str) -> str | None:
        """The id of the command that uses a key, None if the key is free."""
        return self._owner.get(key)

    def is_own(self, id: str) -> bool:
        """Whether a command's keys differ from its defaults."""
        return self._keys[id] != self.defaults[id]

    def give(self, id: str, key: str) -> None:
        """Assign a key to a command, and remove it from any other."""
        previous = self.owner(key)
        if previous == id:
            return
        if previous is not None:
            self.take(previous, key)
        # If the key is a default of this command, removing it from the other has already restored
        # it.
        if key not in self._keys[id]:
            self._choose(id, (*self._keys[id], key)[-_MOST:])

    def take(self, id: str, key: str) -> None:
        """Remove a key from a command."""
        self._choose(id, tuple(k for k in self._keys[id] if k != key))

    def reset(self, id: str) -> None:
        """Restore the default keys of a command, taking them from other commands if needed."""
        for key in self.defaults[id]:
            owner = self.owner(key)
            if owner not in (id, None):
                self.take(owner, key)
        self._choose(id, self.defaults[id])

    def reset_all(self) -> None:
        """Restore the default keys of every command."""
        self.chosen.clear()
        self._settle()

    def _choose(self, id: str, keys: Keys) -> None:
        self.chosen[id] = keys
        if keys == self.defaults[id]:
            del self.chosen[id]
        self._settle()

    def _settle(self) -> None:
        taken = {key for keys in self.chosen.values() for key in keys}
        self._keys = {
            id: self.chosen.get(id, tuple(key for key in keys if key not in taken))
            for id, keys in self.defaults.items()
        }
        self._owner = {key: id for id, keys in self._keys.items() for key in keys}


def _clean(keys: Iterable[object]) -> Keys:
    texts = dict.fromkeys(text for text in map(key_text, keys) if text)
    return tuple(texts)[:_MOST]


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
        keys: default shortcuts as QKeySequence parses them; menus show the first.
        enabled: what it requires; None if it is always available.
        checked: for a toggle, returns whether it is on.
        repeats: whether holding a key down repeats it.
        hold: for an action that lasts until the key is released; called with the key when it goes
            down.
        group: heading in other lists, if the menu is not specific enough.
        after: for one of a panel, the id of the command that it follows in lists, "" for those
            that show panels.
        wording: returns the title for what is open, for one that differs between files.
    """

    id: str
    title: str
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
    menu: str = field(kw_only=True)

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
        """Enable and check all actions; what several of them need is evaluated only once."""
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


_BEGIN, _IN_A_ROW, _LETTER = 8, 8, 1
_GAP = 0.05  # penalty per skipped letter
_NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class NameMatch:
    """The score of a name, and the positions of its matched letters."""

    score: float
    places: frozenset[int] = frozenset()


def match(typed: str, name: str) -> NameMatch | None:
    """Match a name against the typed words, None if one does not match; an empty text matches."""
    result = NameMatch(0.0)
    for word in typed.lower().split():
        best = _match_word(word, name.lower())
        if best is None:
            return None
        result = NameMatch(result.score + best.score, result.places | best.places)
    return result


def _match_word(word: str, name: str) -> NameMatch | None:
    """The best match of a word's letters, by dynamic programming over end positions.

    `ends` maps the position of the last matched letter to (score, positions of all matched
    letters).
    """
    ends: dict[int, tuple[float, tuple[int, ...]]] = {-1: (0.0, ())}
    for number, letter in enumerate(word):
        reached: dict[int, tuple[float, tuple[int, ...]]] = {}
        for position, other in enumerate(name):
            if other != letter:
                continue
            worth = _LETTER + (_BEGIN if position == 0 or not name[position - 1].isalnum() else 0)
            best: tuple[float, tuple[int, ...]] = (_NEVER, ())
            for last, (score, places) in ends.items():
                if last >= position:
                    continue
                row = _IN_A_ROW if number and last == position - 1 else 0
                gap = _GAP * (position - last - 1) if number else 0.0
                best = max(best, (score + worth + row - gap, (*places, position)))
            if best[1]:
                reached[position] = best
        ends = reached
    if not ends:
        return None
    score, places = max(ends.values())
    return NameMatch(score - _GAP * len(name) / 10, frozenset(places))
