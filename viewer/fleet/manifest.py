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
import sys
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from viewer.fleet.lake_folder import LakeFolder
from viewer.fleet.manifest_lines import (
    DONE,
    CompactLine,
    FilesLine,
    LakeFile,
    Line,
    UnitLine,
    UnitOutcome,
    parsed,
)

FOLDER = "_manifest"
# A compaction of a million profiles has a line of 70 MB. More would be a file to fill the memory.
_LONGEST = 256 << 20


@dataclass(slots=True)
class Manifest:
    """What the lines of a manifest add up to.

    units: source -> its last outcome. tables: key -> the batches that have each of its tables, with
    the number of its rows; more than one only if files were lost. batches: name -> its files by
    table. replaced: path -> the path of the file that replaced it. dropped: keys, each with a file
    that lacks their rows. ignored: how many lines are damaged, contradict others, or are of a later
    version; what they state does not count.
    """

    units: dict[str, UnitOutcome] = field(default_factory=dict)
    tables: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    batches: dict[str, dict[str, LakeFile]] = field(default_factory=dict)
    files: dict[str, LakeFile] = field(default_factory=dict)
    replaced: dict[str, str] = field(default_factory=dict)
    dropped: set[tuple[str, str]] = field(default_factory=set)
    ignored: int = 0
    _at: dict[str, float] = field(default_factory=dict)
    _key_of: dict[str, tuple[float, str]] = field(default_factory=dict)
    _waiting: dict[str, list[UnitLine]] = field(default_factory=dict)
    _compactions: list[CompactLine] = field(default_factory=list)
    _blocked: dict[str, list[CompactLine]] = field(default_factory=dict)
    _now_at: dict[str, str] = field(default_factory=dict)

    def add(self, line: Line) -> None:
        """Add one line. Raises ValueError for one that contradicts others."""
        if isinstance(line, UnitLine):
            if line.state == DONE:
                self._waiting.setdefault(line.batch, []).append(line)
            else:
                self._add_unit(line)
        elif isinstance(line, FilesLine):
            self._add_batch(line)
        elif isinstance(line, CompactLine):
            self._compactions.append(line)

    def settle(self) -> None:
        """Add the compactions that were read, each after all that it replaces: lines of several
        files have no order. Those whose files no line names wait; a circle waits for ever.
        """
        ready = deque(sorted(self._compactions, key=lambda compaction: compaction.at))
        self._compactions.clear()
        for path in self._blocked.keys() & self.files.keys():
            ready += self._blocked.pop(path)
        while ready:
            line = ready.popleft()
            unknown = next((path for path in line.replaces if path not in self.files), None)
            if unknown is not None:
                self._blocked.setdefault(unknown, []).append(line)
                continue
            try:
                self._add_compaction(line)
            except ValueError:
                self.ignored += 1
            else:
                ready += self._blocked.pop(line.file.path, ())

    @property
    def unsettled(self) -> int:
        """How many compactions replace files that no line names. They do not count either."""
        return sum(map(len, self._blocked.values()))

    def _add_batch(self, line: FilesLine) -> None:
        """Add a batch, whole or not at all: its units have exactly the rows of its files."""
        files = {file.table: file for file in line.files}
        units = self._waiting.pop(line.batch, [])
        rows: dict[str, int] = {}
        for unit in units:
            for table, count in unit.rows.items():
                rows[table] = rows.get(table, 0) + count
        if {table: count for table, count in rows.items() if count} != {
            file.table: file.rows for file in line.files
        }:
            raise ValueError(f"batch {line.batch}: rows of its profiles and files differ")
        keys = {unit.key for unit in units}
        if len(keys) < len(units) or "" in keys:
            raise ValueError(f"batch {line.batch}: its profiles have no keys of their own")
        if line.batch in self.batches or len(files) < len(line.files):
            raise ValueError(f"batch {line.batch} is twice in the manifest")
        if any(file.name != line.batch or file.path in self.files for file in line.files):
            raise ValueError(f"batch {line.batch} has files of another one")
        self.batches[line.batch] = files
        self.files |= {file.path: file for file in line.files}
        for unit in units:
            self._add_unit(unit)
            of_key = self.tables.setdefault(unit.key, {})
            for table, count in unit.rows.items():
                of_key.setdefault(table, {})[line.batch] = count

    def _add_compaction(self, line: CompactLine) -> None:
        """Add the file of a compaction. It replaces nothing twice, and has the rows of all."""
        file, replaces = line.file, line.replaces
        if file.path in self.files or any(path in self.replaced for path in replaces):
            raise ValueError(f"{file.path} replaces what another file has replaced")
        rows = sum(self.files[path].rows for path in set(replaces))
        rows -= self._rows_of(set(line.dropped), file.table, set(replaces))
        if file.rows != rows:
            raise ValueError(f"{file.path} has {file.rows} rows in place of {rows}")
        self.files[file.path] = file
        self.replaced |= dict.fromkeys(replaces, file.path)
        self._now_at |= dict.fromkeys(replaces, file.path)
        self.dropped |= {(key, file.path) for key in line.dropped}

    def _rows_of(self, keys: Iterable[str], table: str, paths: set[str]) -> int:
        """How many rows profiles have in files."""
        return sum(
            rows
            for key in keys
            for batch, rows in self.tables.get(key, {}).get(table, {}).items()
            if rows
            and self.path_of(self.batches[batch][table].path) in paths
            and self.is_in(key, batch, table)
        )

    def _add_unit(self, line: UnitLine) -> None:
        unit, moment = line.outcome, line.at
        if moment >= self._at.get(unit.source, 0.0):
            self.units[unit.source], self._at[unit.source] = unit, moment
        if unit.key and moment >= self._key_of.get(unit.source, (0.0, ""))[0]:
            self._key_of[unit.source] = moment, unit.key

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
        passed = []
        while path in self._now_at:
            passed.append(path)
            path = self._now_at[path]
        self._now_at |= dict.fromkeys(passed, path)  # the next time, it is one step
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

    def __init__(self, folder: LakeFolder) -> None:
        self.manifest = Manifest()
        self._folder = folder
        self._read: dict[str, int] = {}

    def refresh(self) -> Manifest:
        """Read new lines. Raises OSError."""
        for name, size in self._folder.entries(FOLDER).items():
            if size is None:  # a link, or a folder
                self.manifest.ignored += name not in self._read
                self._read[name] = 0
            elif name.endswith(".jsonl") and size > self._read.get(name, 0):
                self._read_file(name)
        self.manifest.settle()
        return self.manifest

    def _read_file(self, name: str) -> None:
        with self._folder.read(f"{FOLDER}/{name}") as file:
            file.seek(self._read.get(name, 0))
            while (text := file.readline(_LONGEST)).endswith(b"\n"):
                try:
                    self.manifest.add(parsed(text))
                except (ValueError, RecursionError):
                    self.manifest.ignored += 1
                self._read[name] = file.tell()
        if len(text) == _LONGEST:
            self.manifest.ignored += 1
            self._read[name] = sys.maxsize


class ManifestWriter:
    """Appends to one file of a manifest."""

    def __init__(self, folder: LakeFolder, name: str) -> None:
        """Create the file. Raises OSError."""
        self._descriptor = folder.append(f"{FOLDER}/{name}.jsonl")

    def append(self, lines: Iterable[Mapping[str, object]]) -> None:
        """Append lines at once and write them to the disk. Raises OSError."""
        data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)
