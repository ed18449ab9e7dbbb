"""All settings with name, type, default and label, and typed access to their stored values.

A stored value that is damaged or has the wrong type is ignored, and the default is used. The type
is always passed to QSettings, which would otherwise read a one-item list as a string and False as
"false".
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from PySide6.QtCore import QByteArray, QSettings, QStandardPaths

from viewer import APPLICATION_ID
from viewer.codecs.atomic_file import write_whole
from viewer.dataclasses import dataclass

T = TypeVar("T", str, bool, int, list[str], QByteArray)

RECENT_SETS = 10
LARGEST_SET = 100  # files; larger sets are rarely worth reopening
# Limits: profile forms whose identifier column is remembered, and characters in a column name.
REMEMBERED_COLUMNS = 50
LONGEST_COLUMN = 200
LONGEST_HEADER = 10_000  # characters; a longer one is not remembered
RECENT_COUNT = 20  # commands
# A number that fits 32 bits.
_WHOLE = re.compile("-?[0-9]{1,9}")
# "@V" of "@Variant(", also escaped or split over lines: PySide unpickles Python objects in
# variants, which can run code. No setting is one.
_VARIANT = re.compile(rb"(?:@|\\x0*40|\\0*100)(?:\\\r?\n)*(?:V|\\x0*56|\\0*126)", re.IGNORECASE)


@dataclass(frozen=True)
class Setting(Generic[T]):
    """One setting; if `choices` is given, a text must be one of them."""

    name: str
    type: type[T]
    default: T
    label: str
    choices: tuple[str, ...] = ()


THEME = Setting("theme", str, "system", "Colors", ("system", "light", "dark"))
# The size of the interface's text; "normal" is that of the system.
FONT_SIZE = Setting("font_size", str, "normal", "Font size", ("small", "normal", "large", "larger"))
DENSITY = Setting(
    "density", str, "automatic", "Row density", ("comfortable", "compact", "automatic")
)
DRAG_PANS = Setting("drag_pans", bool, False, "Dragging in the timeline pans it")
SMOOTH_MOTION = Setting("smooth_motion", bool, True, "Jumps in the timeline are animated")
FLOWS = Setting("flows", bool, True, "Flows of the selected slice are drawn as arrows")
LEGEND = Setting("legend", bool, True, "Legend of colors below the timeline")
# The name of a member of `Inferences`, in lower case; "median" is what "typical" was called.
FIRST_INFERENCES = Setting(
    "inferences/shown", str, "as_run", "Inferences of files that are opened",
    ("as_run", "aligned", "typical", "mean", "median"),
)  # fmt: skip
WARM_UP = Setting("inferences/warm_up", bool, False, "Figures include the warm-up")
EDITOR = Setting("source/editor", str, "", "Command that opens a source line in an editor")
HEADER_WIDTH = Setting("timeline/header_width", int, 196, "Width of the column of track names")
EXPORT_FLOWS = Setting("export/flows", bool, True, "Perfetto exports have flows")
EXPORT_COUNTERS = Setting("export/counters", bool, True, "Perfetto exports have counters")
EXPORT_OWN_NAMES = Setting("export/own_names", bool, False, "Perfetto exports keep file names")
EXPORT_ANNOTATIONS = Setting("export/annotations", bool, True, "Perfetto exports have annotations")
EXPORT_MARKS = Setting("export/marks", bool, True, "Perfetto exports have bookmarks")
EXPORT_DERIVED = Setting("export/derived", bool, True, "Perfetto exports have tracks of queries")
EXPORT_GZIP = Setting("export/gzip", bool, False, "Perfetto exports are gzipped")
RECENT = Setting[list[str]]("recent_files", list, [], "Recent files")
RECENT_ARMS = Setting[list[str]]("recent_comparisons", list, [], "Arms of recent comparisons")
LAST_FOLDER = Setting("last_folder", str, "", "Folder of the last opened file")
COLUMNS = Setting[list[str]](
    "identifier_columns", list, [], "Columns of identifiers by profile form"
)
TABLE_COLUMNS = Setting[list[str]](
    "table_columns", list, [], "What the columns of CSVs are, by their headers"
)
KEYS = Setting("keys", str, "", "Changed shortcuts")
RECENT_COMMANDS = Setting[list[str]]("recent_commands", list, [], "Recently used commands")
SOURCE_PATHS = Setting[list[str]]("source_paths", list, [], "Local folders of recorded sources")
WINDOW_GEOMETRY = Setting("window/geometry", QByteArray, QByteArray(), "Position of the window")
# The arrangement that the user made the default, as JSON; "" for that of the design.
PANEL_LAYOUT = Setting("panels/layout", str, "", "Default layout of the panels")


@dataclass(frozen=True, slots=True)
class RecentFiles:
    """Files that were open together. a, b: the profiles of both arms, if they were compared."""

    paths: tuple[str, ...]
    a: tuple[str, ...] = ()
    b: tuple[str, ...] = ()


class Settings:
    """The stored settings of the user."""

    def __init__(self, store: QSettings | None = None) -> None:
        organization, _, application = APPLICATION_ID.rpartition(".")
        self._store = store or QSettings(
            QSettings.Format.IniFormat, QSettings.Scope.UserScope, organization, application
        )
        _disarm(self._store)
        if store is None:
            _make_private(self.folder)

    def get(self, setting: Setting[T]) -> T:
        """The stored value, or the default if nothing valid is stored."""
        if not self._store.contains(setting.name):
            return _copy(setting.default)
        checked = _checked(self._stored(setting), setting)
        return _copy(setting.default) if checked is None else checked

    def set(self, setting: Setting[T], value: T) -> None:
        """Store a value; raises TypeError or ValueError if it is not valid for the setting."""
        if _checked(value, setting) is None:
            if type(value) is setting.type:
                raise ValueError(f"{setting.name} cannot be {value!r}")
            raise TypeError(f"{setting.name} is a {setting.type.__name__}, not {value!r}")
        self._store.setValue(setting.name, value)

    def reset(self, setting: Setting[T]) -> None:
        """Restore the default."""
        self._store.remove(setting.name)

    @property
    def folder(self) -> str:
        """The folder that contains the settings file."""
        return str(Path(self._store.fileName()).absolute().parent)

    def recent_sets(self) -> list[tuple[str, ...]]:
        """Sets of files that were open together, the latest first; at most 10, some may be gone."""
        return [paths for text in self.get(RECENT)[:RECENT_SETS] if (paths := _paths_of(text))]

    def recent_files(self) -> list[RecentFiles]:
        """The same sets, with the arms of those that were compared."""
        compared = [_arms_of(text) for text in self.get(RECENT_ARMS)[:RECENT_SETS]]
        rows = []
        for paths in self.recent_sets():
            fitting = (arms for arms in compared if arms and {*arms[0], *arms[1]} <= {*paths})
            rows.append(RecentFiles(paths, *next(fitting, ((), ()))))
        return rows

    def add_recent_arms(self, a: Sequence[str], b: Sequence[str]) -> None:
        """Remember that profiles were compared. Both arms of one file are not."""
        text = json.dumps([[str(Path(path).absolute()) for path in arm] for arm in (a, b)])
        if a and b and not {*a} & {*b}:
            others = [other for other in self.get(RECENT_ARMS) if other != text]
            self.set(RECENT_ARMS, [text, *others][:RECENT_SETS])

    def add_recent_set(self, paths: Sequence[str]) -> None:
        """Put files that are open together at the top, and remember the folder of the last one.

        The previous set is replaced if all its files are in the new one: files were added to it.
        Sets of more than `LARGEST_SET` files are not listed.
        """
        absolute = tuple(dict.fromkeys(str(Path(path).absolute()) for path in paths))
        if not absolute:
            return
        self.set(LAST_FOLDER, str(Path(absolute[-1]).parent))
        if len(absolute) > LARGEST_SET:
            return
        others = self.recent_sets()
        if others and set(others[0]) <= set(absolute):
            others = others[1:]
        others = [paths for paths in others if set(paths) != set(absolute)]
        sets = [absolute, *others][:RECENT_SETS]
        self.set(RECENT, [json.dumps(paths) for paths in sets])

    def clear_recent_sets(self) -> None:
        """Clear the list of recent files."""
        self.reset(RECENT)
        self.reset(RECENT_ARMS)

    def identifier_columns(self) -> dict[str, str]:
        """Map from profile form to its chosen identifier column, "" for no column."""
        cut = (entry.partition("=") for entry in self.get(COLUMNS)[-REMEMBERED_COLUMNS:])
        return {form: column for form, equals, column in cut if form and equals}

    def set_identifier_columns(self, chosen: Mapping[str, str]) -> None:
        """Store the last 50 choices; skips column names longer than `LONGEST_COLUMN`."""
        entries = [f"{form}={name}" for form, name in chosen.items() if len(name) <= LONGEST_COLUMN]
        self.set(COLUMNS, entries[-REMEMBERED_COLUMNS:])

    def table_columns(self, names: Sequence[str]) -> str:
        """What the columns of a CSV with this header are, as was chosen before; "" if never."""
        for text in reversed(self.get(TABLE_COLUMNS)):
            try:
                header, columns = json.loads(text)
            except (ValueError, TypeError, RecursionError):
                continue
            if header == list(names) and isinstance(columns, str):
                return columns
        return ""

    def set_table_columns(self, names: Sequence[str], columns: str) -> None:
        """Remember what the columns of CSVs with this header are: the last 50 of them."""
        new = json.dumps([list(names), columns])
        if len(new) > LONGEST_HEADER:
            return
        start = json.dumps([list(names)]).removesuffix("]")
        others = [text for text in self.get(TABLE_COLUMNS) if not text.startswith(start)]
        self.set(TABLE_COLUMNS, [*others, new][-REMEMBERED_COLUMNS:])

    def source_paths(self) -> list[tuple[str, str]]:
        """Pairs (recorded path, path on this machine) of folders or files, in the order added."""
        pairs = []
        for text in self.get(SOURCE_PATHS):
            try:
                recorded, local = json.loads(text)
            except (ValueError, TypeError, RecursionError):
                continue
            if isinstance(recorded, str) and isinstance(local, str):
                pairs.append((recorded, local))
        return pairs

    def set_source_paths(self, paths: Sequence[tuple[str, str]]) -> None:
        """Replace all source path substitutions."""
        self.set(SOURCE_PATHS, [json.dumps(pair) for pair in paths])

    def keys(self) -> dict[str, object]:
        """Map from command id to the stored keys, unvalidated; empty if unreadable."""
        try:
            keys = json.loads(self.get(KEYS) or "{}")
        except (ValueError, RecursionError):
            return {}
        return keys if isinstance(keys, dict) else {}

    def set_keys(self, keys: Mapping[str, Sequence[str]]) -> None:
        """Replace all stored keys."""
        self.set(KEYS, json.dumps({id: list(texts) for id, texts in keys.items()}))

    def add_recent_command(self, id: str) -> None:
        """Put a command at the top of the recently used ones."""
        others = [other for other in self.get(RECENT_COMMANDS) if other != id]
        self.set(RECENT_COMMANDS, [id, *others][:RECENT_COUNT])

    def _stored(self, setting: Setting[T]) -> object:
        kind = setting.type if setting.type in (list, QByteArray) else str
        try:
            value: object = self._store.value(setting.name, None, kind)
        except (TypeError, ValueError, RuntimeError, EOFError):
            return None
        # Read bool and int as text: Qt turns any text except "false" and "0" into True, and any
        # word into 0.
        if isinstance(value, str) and setting.type is bool:
            return {"true": True, "false": False}.get(value)
        if isinstance(value, str) and setting.type is int:
            return int(value) if _WHOLE.fullmatch(value) else None
        return value

    def sync(self) -> None:
        """Write pending changes to disk now."""
        self._store.sync()


def columns_folder() -> str:
    """The folder for the columns of large profiles, among the caches of the user; "" if none."""
    caches = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.GenericCacheLocation)
    return os.path.join(caches, "opscope", "columns") if caches else ""


def _make_private(folder: str) -> None:
    """Let nobody else read the settings folder: its files have paths, notes and bookmarks."""
    with contextlib.suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.chmod(folder, 0o700)


def _disarm(store: QSettings) -> None:
    """Remove the mark of variants from a settings file, so that they are read as plain texts."""
    path = Path(store.fileName())
    with contextlib.suppress(OSError):
        data = path.read_bytes()
        if _VARIANT.search(data):
            write_whole(path, _VARIANT.sub(b"-", data), is_private=True)
            store.sync()


def _paths_of(text: str) -> tuple[str, ...]:
    """Return the paths of a stored set: a JSON list, or one path as earlier versions stored it."""
    if not text.startswith("["):
        return (text,)
    try:
        paths = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    if not isinstance(paths, list) or not all(isinstance(path, str) and path for path in paths):
        return ()
    return tuple(paths)


def _arms_of(text: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the arms of a stored comparison; None for another text."""
    try:
        arms = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(arms, list) or len(arms) != 2:
        return None
    a, b = (_paths_of(json.dumps(arm)) if isinstance(arm, list) else () for arm in arms)
    return (a, b) if a and b else None


def is_missing(path: str) -> bool:
    """Whether a recent file no longer exists or is unreachable."""
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
