"""Every setting once: name, type, default and label; read and written with its type.

A stored value that is damaged or of another type counts as not there: the default is answered.
Without a type QSettings reads a list of one as a text and False as "false", so it is always given.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from PySide6.QtCore import QByteArray, QSettings

from viewer import APPLICATION_ID

T = TypeVar("T", str, bool, int, list[str], QByteArray)

RECENT_FILES = 10
# Forms of profiles whose column of identifiers is remembered, and the longest name of a column.
REMEMBERED_COLUMNS = 50
LONGEST_COLUMN = 200
RECENT_COUNT = 20  # commands
# Raise it when docks or toolbars change their names: a stored state of others is not restored.
WINDOW_STATE_VERSION = 2


@dataclass(frozen=True)
class Setting(Generic[T]):
    """One setting. `choices` are the only values of a text, where given."""

    name: str
    type: type[T]
    default: T
    label: str
    choices: tuple[str, ...] = ()


THEME = Setting("theme", str, "system", "Colours", ("system", "light", "dark"))
DRAG_PANS = Setting("drag_pans", bool, False, "Dragging in the timeline moves it")
SMOOTH_MOTION = Setting("smooth_motion", bool, True, "Jumps in the timeline are short motions")
FLOWS = Setting("flows", bool, True, "Flows of the selected slice are drawn as arrows")
LEGEND = Setting("legend", bool, True, "Legend of colours below the timeline")
HEADER_WIDTH = Setting("timeline/header_width", int, 196, "Width of the column of track names")
EXPORT_FLOWS = Setting("export/flows", bool, True, "Perfetto exports have flows")
EXPORT_COUNTERS = Setting("export/counters", bool, True, "Perfetto exports have counters")
EXPORT_ANNOTATIONS = Setting("export/annotations", bool, True, "Perfetto exports have annotations")
EXPORT_MARKS = Setting("export/marks", bool, True, "Perfetto exports have the marks")
EXPORT_GZIP = Setting("export/gzip", bool, False, "Perfetto exports are gzipped")
RECENT = Setting[list[str]]("recent_files", list, [], "Recent files")
LAST_FOLDER = Setting("last_folder", str, "", "Folder of the last opened file")
COLUMNS = Setting[list[str]](
    "identifier_columns", list, [], "Columns of identifiers by profile form"
)
KEYS = Setting("keys", str, "", "Keys of commands that are not those they come with")
RECENT_COMMANDS = Setting[list[str]]("recent_commands", list, [], "Commands that were run last")
SOURCE_PATHS = Setting[list[str]]("source_paths", list, [], "Where recorded sources lie here")
WINDOW_GEOMETRY = Setting("window/geometry", QByteArray, QByteArray(), "Place of the window")
WINDOW_STATE = Setting("window/state", QByteArray, QByteArray(), "Layout of the window")
WINDOW_VERSION = Setting("window/version", int, 0, "Version of the layout of the window")


class Settings:
    """The stored settings of this user."""

    def __init__(self, store: QSettings | None = None) -> None:
        organization, _, application = APPLICATION_ID.rpartition(".")
        self._store = store or QSettings(
            QSettings.Format.IniFormat, QSettings.Scope.UserScope, organization, application
        )

    def get(self, setting: Setting[T]) -> T:
        """The stored value, or the default where none (or none that makes sense) is stored."""
        if not self._store.contains(setting.name):
            return _copy(setting.default)
        checked = _checked(self._stored(setting), setting)
        return _copy(setting.default) if checked is None else checked

    def set(self, setting: Setting[T], value: T) -> None:
        """Store a value. Raises TypeError or ValueError for one that the setting cannot have."""
        if _checked(value, setting) is None:
            if type(value) is setting.type:
                raise ValueError(f"{setting.name} cannot be {value!r}")
            raise TypeError(f"{setting.name} is a {setting.type.__name__}, not {value!r}")
        self._store.setValue(setting.name, value)

    def reset(self, setting: Setting[T]) -> None:
        """Go back to the default."""
        self._store.remove(setting.name)

    @property
    def folder(self) -> str:
        """Where they are stored."""
        return str(Path(self._store.fileName()).absolute().parent)

    def recent_files(self) -> list[str]:
        """Absolute paths, most recent first, at most 10; also those that are gone by now."""
        return self.get(RECENT)[:RECENT_FILES]

    def add_recent_file(self, path: str) -> None:
        """Put a file first among the recent ones and remember its folder."""
        absolute = Path(path).absolute()
        others = [p for p in self.recent_files() if p != str(absolute)]
        self.set(RECENT, [str(absolute), *others][:RECENT_FILES])
        self.set(LAST_FOLDER, str(absolute.parent))

    def clear_recent_files(self) -> None:
        """Forget the recent files."""
        self.reset(RECENT)

    def identifier_columns(self) -> dict[str, str]:
        """Form of a profile -> the column that was chosen for its identifiers, "" for none."""
        cut = (entry.partition("=") for entry in self.get(COLUMNS)[-REMEMBERED_COLUMNS:])
        return {form: column for form, equals, column in cut if form and equals}

    def set_identifier_columns(self, chosen: Mapping[str, str]) -> None:
        """Store these choices, of very many the last; a name without end is not kept."""
        kept = [f"{form}={name}" for form, name in chosen.items() if len(name) <= LONGEST_COLUMN]
        self.set(COLUMNS, kept[-REMEMBERED_COLUMNS:])

    def source_paths(self) -> list[tuple[str, str]]:
        """(recorded path, path on this machine) of folders or files, in the order of adding."""
        found = []
        for text in self.get(SOURCE_PATHS):
            try:
                recorded, local = json.loads(text)
            except (ValueError, TypeError, RecursionError):
                continue
            if isinstance(recorded, str) and isinstance(local, str):
                found.append((recorded, local))
        return found

    def set_source_paths(self, paths: Sequence[tuple[str, str]]) -> None:
        """Replace them all."""
        self.set(SOURCE_PATHS, [json.dumps(pair) for pair in paths])

    def keys(self) -> dict[str, object]:
        """Command id -> what was stored as its keys, which may be anything."""
        try:
            found = json.loads(self.get(KEYS) or "{}")
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def set_keys(self, keys: Mapping[str, Sequence[str]]) -> None:
        """Replace them all."""
        self.set(KEYS, json.dumps({id: list(texts) for id, texts in keys.items()}))

    def add_recent_command(self, id: str) -> None:
        """Put a command first among those that were run last."""
        others = [other for other in self.get(RECENT_COMMANDS) if other != id]
        self.set(RECENT_COMMANDS, [id, *others][:RECENT_COUNT])

    def window(self) -> tuple[QByteArray, QByteArray]:
        """Geometry and layout of the window; the layout is empty if an older version wrote it."""
        current = self.get(WINDOW_VERSION) == WINDOW_STATE_VERSION
        state = self.get(WINDOW_STATE) if current else QByteArray()
        return self.get(WINDOW_GEOMETRY), state

    def set_window(self, geometry: QByteArray, state: QByteArray) -> None:
        """Store what saveGeometry and saveState(WINDOW_STATE_VERSION) gave."""
        self.set(WINDOW_GEOMETRY, geometry)
        self.set(WINDOW_STATE, state)
        self.set(WINDOW_VERSION, WINDOW_STATE_VERSION)

    def _stored(self, setting: Setting[T]) -> object:
        kind = setting.type if setting.type in (list, QByteArray) else str
        try:
            value: object = self._store.value(setting.name, None, kind)
        except (TypeError, ValueError, RuntimeError, EOFError):
            return None
        # Qt turns any text but "false" and "0" into True and any word into 0, so these two are
        # read as text.
        if isinstance(value, str) and setting.type is bool:
            return {"true": True, "false": False}.get(value)
        if isinstance(value, str) and setting.type is int:
            return int(value) if value.lstrip("-").isdecimal() else None
        return value

    def sync(self) -> None:
        """Write to disk now."""
        self._store.sync()


def is_missing(path: str) -> bool:
    """Whether a recent file is gone, or cannot be reached now."""
    try:
        return not Path(path).is_file()
    except (OSError, ValueError):
        return True


def _checked(value: object, setting: Setting[T]) -> T | None:
    if not isinstance(value, setting.type):
        return None
    if setting.type is int and isinstance(value, bool):
        return None
    if isinstance(value, list) and not all(isinstance(v, str) and v for v in value):
        return None
    if setting.choices and value not in setting.choices:
        return None
    return value


def _copy(value: T) -> T:
    return list(value) if isinstance(value, list) else value
