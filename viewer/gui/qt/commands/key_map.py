"""Assigns keys to commands: their defaults, and the keys that the user chose.

A key is a text such as "Ctrl+Shift+P", one key with modifiers, as QKeySequence writes it on every
platform. The user's keys come from a file that is not trusted: entries that are not keys, belong to
unknown commands or are duplicates are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence

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
    """The valid keys among some values, without duplicates."""
    texts = dict.fromkeys(text for text in map(key_text, keys) if text)
    return tuple(texts)[:_MOST]
