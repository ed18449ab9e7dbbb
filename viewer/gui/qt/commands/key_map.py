"""Which keys run which command: those that commands come with, and those that the user chose.

A key is a text such as "Ctrl+Shift+P", one key with its modifiers, as QKeySequence writes it on
every platform. What the user chose comes from a file that anybody may have written: what is no key,
is of no command or is there twice is left out, and never stops the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence

Keys: TypeAlias = tuple[str, ...]

# Keys that widgets need for themselves, with what they do: no command can be given one of these.
FIXED: Mapping[str, str] = {
    "Tab": "moves the keyboard on",
    "Shift+Tab": "moves the keyboard back",
    "Shift+Backtab": "moves the keyboard back",
    "Backtab": "moves the keyboard back",
    "Space": "presses buttons",
    "Ctrl+C": "copies",
}
_LONGEST = 60  # characters of a key's text
_MOST = 8  # keys of one command
_NOT_ALONE = {
    Qt.Key.Key_unknown, Qt.Key.Key_Shift, Qt.Key.Key_Control, Qt.Key.Key_Alt, Qt.Key.Key_AltGr,
    Qt.Key.Key_Meta, Qt.Key.Key_CapsLock, Qt.Key.Key_NumLock, Qt.Key.Key_ScrollLock,
}  # fmt: skip


def key_text(key: object) -> str:
    """The text of a key in its one form, "" for what is no key: a modifier alone, two keys."""
    if not isinstance(key, str) or not 0 < len(key) <= _LONGEST:
        return ""
    sequence = QKeySequence(key)
    if sequence.count() != 1 or sequence[0].key() in _NOT_ALONE:  # type: ignore[index]
        return ""
    text = sequence.toString(QKeySequence.SequenceFormat.PortableText)
    return text if text.isprintable() and QKeySequence(text) == sequence else ""


def shown_key(key: str) -> str:
    """A key as this platform writes it: ⌘P on a Mac."""
    return QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)


def shown_keys(keys: Iterable[str]) -> str:
    """Several keys in one line."""
    return ", ".join(shown_key(key) for key in keys)


class KeyMap:
    """The keys of all commands, by command id; no key is of two commands.

    defaults: what commands come with. own: what the user chose instead, per command all its keys;
    these go before the defaults of other commands.
    """

    def __init__(self, defaults: Mapping[str, Keys], own: Mapping[str, object]) -> None:
        self.defaults = {id: _clean(keys) for id, keys in defaults.items()}
        self.own: dict[str, Keys] = {}
        taken: set[str] = set()
        for id, keys in own.items():
            if id in self.defaults and isinstance(keys, list | tuple):
                self.own[id] = tuple(
                    key for key in _clean(keys) if key not in taken and key not in FIXED
                )
                taken.update(self.own[id])
        self._settle()

    def of(self, id: str) -> Keys:
        """The keys of a command."""
        return self._keys[id]

    def owner(self, key: str) -> str | None:
        """The command that has a key, None if it is free."""
        return self._owner.get(key)

    def is_own(self, id: str) -> bool:
        """Whether a command has other keys than it came with."""
        return self._keys[id] != self.defaults[id]

    def give(self, id: str, key: str) -> None:
        """Let a key be of a command, and of no other."""
        before = self.owner(key)
        if before == id:
            return
        if before is not None:
            self.take(before, key)
        # It may have come with that key, and has it again as soon as the other has not.
        if key not in self._keys[id]:
            self._choose(id, (*self._keys[id], key)[-_MOST:])

    def take(self, id: str, key: str) -> None:
        """Let a key be of a command no more."""
        self._choose(id, tuple(k for k in self._keys[id] if k != key))

    def reset(self, id: str) -> None:
        """Give a command the keys that it came with, whoever has them now."""
        for key in self.defaults[id]:
            owner = self.owner(key)
            if owner not in (id, None):
                self.take(owner, key)
        self._choose(id, self.defaults[id])

    def reset_all(self) -> None:
        """Give every command the keys that it came with."""
        self.own.clear()
        self._settle()

    def _choose(self, id: str, keys: Keys) -> None:
        self.own[id] = keys
        if keys == self.defaults[id]:
            del self.own[id]
        self._settle()

    def _settle(self) -> None:
        taken = {key for keys in self.own.values() for key in keys}
        self._keys = {
            id: self.own.get(id, tuple(key for key in keys if key not in taken))
            for id, keys in self.defaults.items()
        }
        self._owner = {key: id for id, keys in self._keys.items() for key in keys}


def _clean(keys: Iterable[object]) -> Keys:
    """Of some texts those that are keys, each once."""
    texts = dict.fromkeys(text for text in map(key_text, keys) if text)
    return tuple(texts)[:_MOST]
