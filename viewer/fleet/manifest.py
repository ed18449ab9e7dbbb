"""The manifest of a lake: append-only lines that state what every file is, and what was read.

Every build and every compaction appends to a file of its own, `_manifest/<id>.jsonl`, so two
processes never write to one file. A line that a killed process left incomplete is ignored. Kinds of
lines:

    build     a build starts: its id, version and options
    unit      the outcome of one profile; one with rows names its batch
    files     a batch is complete: its Parquet files. Without it, its units do not count
    compact   one file replaces others
    end       a build ends: its numbers

A batch is one `write` of its unit lines and then its files line. So it counts as a whole or not at
all, wherever a process is killed.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from viewer import __version__
from viewer.fleet.unit_outcome import DONE, FAILED, KEPT, REFUSED, UnitOutcome

FOLDER = "_manifest"
_STATES = (DONE, KEPT, FAILED, REFUSED)


@dataclass(frozen=True, slots=True)
class LakeFile:
    """One Parquet file. path: below the lake. part: where it is until it is renamed to `path`."""

    table: str
    schema: int
    path: str
    part: str
    size: int
    rows: int


@dataclass(slots=True)
class Manifest:
    """What the lines of a manifest add up to.

    units: source -> its last outcome. tables: key -> the batches that have each of its tables, more
    than one only if files were lost. batches: name -> its files by table. replaced: path -> the
    path of the file that replaced it. dropped: keys, each with a file that lacks their rows.
    unreadable_lines: damaged ones, or of a later version; what they state does not count.
    """

    units: dict[str, UnitOutcome] = field(default_factory=dict)
    tables: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    batches: dict[str, dict[str, LakeFile]] = field(default_factory=dict)
    files: dict[str, LakeFile] = field(default_factory=dict)
    replaced: dict[str, str] = field(default_factory=dict)
    dropped: set[tuple[str, str]] = field(default_factory=set)
    unreadable_lines: int = 0
    _at: dict[str, float] = field(default_factory=dict)
    _key_of: dict[str, tuple[float, str]] = field(default_factory=dict)
    _waiting: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def add(self, line: Mapping[str, Any]) -> None:
        """Add one line. Raises KeyError, TypeError or ValueError for a wrong one."""
        kind = line["kind"]
        if kind == "unit":
            if line["state"] == DONE:
                self._waiting.setdefault(line["batch"], []).append(dict(line))
            else:
                self._add_unit(line)
        elif kind == "files":
            files = [LakeFile(**one) for one in line["files"]]
            own = {file.table: file for file in files}
            self.batches[line["batch"]] = own
            self.files |= {file.path: file for file in files}
            for unit in self._waiting.pop(line["batch"], []):
                self._add_unit(unit)
                of_key = self.tables.setdefault(unit["key"], {})
                for table in unit["rows"]:
                    of_key.setdefault(table, set()).add(line["batch"])
        elif kind == "compact":
            file = LakeFile(**line["file"])
            self.files[file.path] = file
            self.replaced |= dict.fromkeys(line["replaces"], file.path)
            self.dropped |= {(key, file.path) for key in line["dropped"]}

    def _add_unit(self, line: Mapping[str, Any]) -> None:
        if line["state"] not in _STATES:
            raise ValueError(line["state"])
        names = UnitOutcome.__dataclass_fields__
        unit = UnitOutcome(**{name: line[name] for name in names if name in line})
        at = float(line["at"])
        if at >= self._at.get(unit.source, 0.0):
            self.units[unit.source], self._at[unit.source] = unit, at
        if unit.key and at >= self._key_of.get(unit.source, (0.0, ""))[0]:
            self._key_of[unit.source] = at, unit.key

    @property
    def outdated(self) -> set[str]:
        """The keys whose sources have another key by now: changed files, or changed labels."""
        current = {key for _, key in self._key_of.values()}
        return {key for key in self.tables.keys() - current if self.has_rows(key)}

    def has_rows(self, key: str) -> bool:
        """Whether any file still has rows of a profile."""
        return any(
            table in self.batches[batch] and self.is_in(key, batch, table)
            for table, batches in self.tables.get(key, {}).items()
            for batch in batches
        )

    def is_in(self, key: str, batch: str, table: str) -> bool:
        """Whether the rows of a profile that a batch wrote were not dropped since."""
        if not self.dropped:
            return True
        file = self.batches[batch].get(table)
        path = "" if file is None else file.path
        while path:
            if (key, path) in self.dropped:
                return False
            path = self.replaced.get(path, "")
        return True

    def path_of(self, path: str) -> str:
        """The path of the file that has the rows of a file now."""
        while path in self.replaced:
            path = self.replaced[path]
        return path

    def live_files(self, table: str | None = None) -> list[LakeFile]:
        """The files that hold rows now, of one table or of all; none is replaced by another."""
        return [
            file
            for path, file in self.files.items()
            if path not in self.replaced and table in (None, file.table)
        ]


class ManifestReader:
    """Reads the manifest of a lake; `refresh` adds what was appended since."""

    def __init__(self, folder: str) -> None:
        self.manifest = Manifest()
        self._folder = folder
        self._read: dict[str, int] = {}

    def refresh(self) -> Manifest:
        """Read new lines. Raises OSError."""
        with os.scandir(self._folder) as entries:
            names = sorted(e.name for e in entries if e.name.endswith(".jsonl") and e.is_file())
        for name in names:
            path, start = os.path.join(self._folder, name), self._read.get(name, 0)
            if os.path.getsize(path) <= start:
                continue
            with open(path, "rb") as file:
                file.seek(start)
                data = file.read()
            whole, end, _ = data.rpartition(b"\n")
            self._read[name] = start + len(whole) + len(end)
            for text in whole.split(b"\n") if whole else ():
                try:
                    self.manifest.add(json.loads(text))
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                    self.manifest.unreadable_lines += 1
        return self.manifest


class ManifestWriter:
    """Appends to one file of a manifest."""

    def __init__(self, folder: str, name: str) -> None:
        """Create the file. Raises OSError."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(os.path.join(folder, f"{name}.jsonl"), flags, 0o644)

    def append(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Append lines at once and write them to the disk. Raises OSError."""
        data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def build_line(build: str, options: Mapping[str, object]) -> dict[str, object]:
    """The line of a build that starts."""
    return {
        "kind": "build", "build": build, "at": time.time(), "version": __version__,
        "options": options,
    }  # fmt: skip


def unit_line(unit: UnitOutcome, build: str, batch: str = "") -> dict[str, object]:
    """The line of an outcome. batch: with its rows."""
    facts = asdict(unit) | {"seconds": round(unit.seconds, 4), "rows": dict(unit.rows)}
    return {
        "kind": "unit", "build": build, "batch": batch, "at": time.time(),
        "version": __version__, **facts,
    }  # fmt: skip


def files_line(batch: str, files: Sequence[LakeFile]) -> dict[str, object]:
    """The line that completes a batch."""
    return {"kind": "files", "batch": batch, "at": time.time(), "files": [asdict(f) for f in files]}


def compact_line(
    file: LakeFile, replaces: Sequence[str], dropped: Iterable[str]
) -> dict[str, object]:
    """The line of a file that replaces others. replaces: their paths. dropped: keys left out."""
    return {
        "kind": "compact", "at": time.time(), "version": __version__, "file": asdict(file),
        "replaces": list(replaces), "dropped": sorted(dropped),
    }  # fmt: skip
