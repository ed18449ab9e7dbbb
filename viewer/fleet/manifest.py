"""The manifest of a lake: append-only lines that state what every file is, and what was read.

On a disk, every build and every compaction appends to a file of its own, `_manifest/<id>.jsonl`, so
two processes never write to one file. In a bucket, each commit is an object with the next number,
`_manifest/log/<number>.jsonl`, written only if that number is free. A line that a killed process
left incomplete is ignored. Kinds of lines:

    build     a build starts: its id, version and options
    unit      the outcome of one profile; one with rows names its batch
    files     a batch is complete: its Parquet files. Without it, its units do not count
    compact   one file replaces others
    end       a build ends: its numbers

A snapshot (`manifest_snapshot`) has what the lines up to some place add up to; then only those
after it, the tail, are read.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, BinaryIO

from viewer.dataclasses import dataclass, field
from viewer.fleet.lake_folder import BucketFolder, LakeFolder
from viewer.fleet.manifest_lines import (
    DONE,
    FAILED,
    IS_SNAPSHOT,
    REFUSED,
    SNAPSHOTS,
    CompactLine,
    DamagedSnapshot,
    EndLine,
    FilesLine,
    LakeFile,
    Line,
    SourceState,
    UnitLine,
    UnitOutcome,
    parsed,
)

if TYPE_CHECKING:
    from viewer.fleet.manifest_snapshot import Snapshot


@dataclass(slots=True)
class Manifest:
    """What the lines of a manifest add up to, after those that a snapshot has.

    files: path -> each file, of a snapshot only those that are not replaced. replaced: path -> the
    path of the file that replaced it. dropped: keys, each with a file that lacks their rows.
    states: the number of sources by the state of their last outcome. lines: how many were read,
    also for the snapshot. ignored: how many of them are damaged, contradict others, or are of a
    later version; what they state does not count. fenced: builds that another one took for dead.
    """

    base: Snapshot | None = None
    files: dict[str, LakeFile] = field(default_factory=dict)
    replaced: dict[str, str] = field(default_factory=dict)
    dropped: set[tuple[str, str]] = field(default_factory=set)
    states: Counter[str] = field(default_factory=Counter)
    fenced: set[str] = field(default_factory=set)
    lines: int = 0
    ignored: int = 0
    # Those that the lines of the tail name: sources, the net number of sources by their key, the
    # rows of keys by batch, and the files of batches by table.
    sources: dict[str, SourceState] = field(default_factory=dict)
    balance: Counter[str] = field(default_factory=Counter)
    rows: dict[str, list[tuple[str, Mapping[str, int]]]] = field(default_factory=dict)
    batches: dict[str, dict[str, LakeFile]] = field(default_factory=dict)
    _waiting: dict[str, list[UnitLine]] = field(default_factory=dict)
    _compactions: list[CompactLine] = field(default_factory=list)
    _blocked: dict[str, list[CompactLine]] = field(default_factory=dict)
    _now_at: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.base is not None:
            self.files |= self.base.files
            self.states += self.base.states
            self.lines, self.ignored = self.base.header.lines, self.base.header.ignored

    def add(self, line: Line) -> None:
        """Add one line. Raises ValueError for one that contradicts others, and DamagedSnapshot."""
        if isinstance(line, UnitLine):
            if line.state == DONE:
                self._waiting.setdefault(line.batch, []).append(line)
            else:
                self._add_unit(line)
        elif isinstance(line, FilesLine):
            self._add_batch(line)
        elif isinstance(line, CompactLine):
            self._compactions.append(line)
        elif isinstance(line, EndLine) and line.build:
            self.fenced.add(line.build)

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
            unknown = next((path for path in line.replaces if not self.is_named(path)), None)
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
    def tail(self) -> int:
        """How many lines no snapshot has."""
        return self.lines - (0 if self.base is None else self.base.header.lines)

    @property
    def unsettled(self) -> int:
        """How many compactions replace files that no line names. They do not count either."""
        return sum(map(len, self._blocked.values()))

    def is_named(self, path: str) -> bool:
        """Whether any line names a file, also one that is replaced."""
        return path in self.files or (self.base is not None and path in self.base.replaced)

    def is_replaced(self, path: str) -> bool:
        """Whether another file has the rows of a file."""
        return path in self.replaced or (self.base is not None and path in self.base.replaced)

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
        is_present = self.base is not None and self.base.has_name(line.batch)
        if is_present or line.batch in self.batches or len(files) < len(line.files):
            raise ValueError(f"batch {line.batch} is twice in the manifest")
        if any(file.name != line.batch or file.path in self.files for file in line.files):
            raise ValueError(f"batch {line.batch} has files of another one")
        self.batches[line.batch] = files
        self.files |= {file.path: file for file in line.files}
        for unit in units:
            self._add_unit(unit)
            self.rows.setdefault(unit.key, []).append((line.batch, unit.rows))

    def _add_compaction(self, line: CompactLine) -> None:
        """Add the file of a compaction. It replaces nothing twice, and has the rows of all."""
        file, replaces = line.file, line.replaces
        is_present = self.base is not None and self.base.has_name(file.name)
        if is_present or file.path in self.files or any(map(self.is_replaced, replaces)):
            raise ValueError(f"{file.path} replaces what another file has replaced")
        rows = sum(self.files[path].rows for path in set(replaces))
        rows -= self._rows_in(set(line.dropped), file.table, set(replaces))
        if file.rows != rows:
            raise ValueError(f"{file.path} has {file.rows} rows in place of {rows}")
        self.files[file.path] = file
        self.replaced |= dict.fromkeys(replaces, file.path)
        self._now_at |= dict.fromkeys(replaces, file.path)
        self.dropped |= {(key, file.path) for key in line.dropped}

    def _rows_in(self, keys: Iterable[str], table: str, paths: set[str]) -> int:
        """How many rows profiles have in files."""
        return sum(
            rows
            for key in keys
            for of_table, batch, rows in self.rows_of(key)
            if rows and of_table == table and self.place_of(batch, table) in paths
        )

    def _add_unit(self, line: UnitLine) -> None:
        former, outcome = self.source(line.source), line.outcome
        state = SourceState(outcome, line.at, outcome.key, line.at)
        if former is not None:
            if line.at < former.moment:
                state = SourceState(former.outcome, former.moment, state.key, state.key_moment)
            if not outcome.key or line.at < former.key_moment:
                state = SourceState(state.outcome, state.moment, former.key, former.key_moment)
            self.states[former.outcome.state] -= 1
            self.balance[former.key] -= 1
        self.states[state.outcome.state] += 1
        self.balance[state.key] += 1
        self.sources[line.source] = state

    # -- what the lines state --------------------------------------------------------------------

    def source(self, source: str) -> SourceState | None:
        """What is known of a source. Raises DamagedSnapshot."""
        state = self.sources.get(source)
        return self.base.source(source) if state is None and self.base is not None else state

    def unit(self, source: str) -> UnitOutcome | None:
        """The last outcome of a source; of a snapshot, without a reason. Raises DamagedSnapshot."""
        state = self.source(source)
        return None if state is None else state.outcome

    def failures(self) -> list[UnitOutcome]:
        """The last outcomes that are failures. Raises DamagedSnapshot."""
        former = () if self.base is None else self.base.failures()
        failures = [outcome for outcome in former if outcome.source not in self.sources]
        last = (state.outcome for state in self.sources.values())
        return failures + [outcome for outcome in last if outcome.state in (FAILED, REFUSED)]

    def key_count(self) -> int:
        """How many profiles have ever had rows. Raises DamagedSnapshot."""
        if self.base is None:
            return len(self.rows)
        return self.base.header.keys + sum(not self.base.has_key(key) for key in self.rows)

    def has_key(self, key: str) -> bool:
        """Whether a profile has ever had rows. Raises DamagedSnapshot."""
        return key in self.rows or (self.base is not None and self.base.has_key(key))

    def rows_of(self, key: str) -> Iterator[tuple[str, str, int]]:
        """Yield table, batch and number of rows of what the files have of a profile.

        Raises DamagedSnapshot.
        """
        former = () if self.base is None else self.base.rows_of(key)
        for batch, rows in (*former, *self.rows.get(key, ())):
            for table, count in rows.items():
                if self._is_in(key, batch, table):
                    yield table, batch, count

    def source_count(self, key: str) -> int:
        """How many sources have this key now. Raises DamagedSnapshot."""
        return self.balance[key] + (0 if self.base is None else self.base.source_count(key))

    def outdated(self) -> set[str]:
        """The keys whose sources have another key by now: changed files, or changed labels.

        Raises DamagedSnapshot.
        """
        former = set() if self.base is None else self.base.outdated
        touched = self.balance.keys() | self.rows.keys()
        outdated = {key for key in former - touched if not self.dropped or self.has_rows(key)}
        outdated |= {key for key in touched if self.source_count(key) <= 0 and self.has_rows(key)}
        return outdated

    def has_rows(self, key: str) -> bool:
        """Whether any file still has rows of a profile. Raises DamagedSnapshot."""
        return any(self.place_of(batch, table) for table, batch, _ in self.rows_of(key))

    def of_several_batches(self) -> set[str]:
        """The keys that may have rows of one table in several batches, as after a loss."""
        if self.base is None:
            return {key for key, rows in self.rows.items() if len(rows) > 1}
        return self.base.several | self.rows.keys()

    def places(self) -> Iterator[tuple[str, str, str]]:
        """Yield each batch and table, and the path of the file that has its rows now."""
        if self.base is not None:
            for batch, tables in self.base.place_of.items():
                for table, path in tables.items():
                    yield batch, table, self.path_of(path)
        for batch, files in self.batches.items():
            for table, file in files.items():
                yield batch, table, self.path_of(file.path)

    def place_of(self, batch: str, table: str) -> str:
        """The path of the file that has the rows of a batch now; "" if it has none."""
        return self.path_of(self._first_place(batch, table))

    def _first_place(self, batch: str, table: str) -> str:
        """As `place_of`, at the time of the snapshot."""
        if batch in self.batches:
            file = self.batches[batch].get(table)
            return "" if file is None else file.path
        return "" if self.base is None else self.base.place_of.get(batch, {}).get(table, "")

    def _is_in(self, key: str, batch: str, table: str) -> bool:
        """Whether the rows of a profile that a batch wrote were not dropped since."""
        if not self.dropped:
            return True
        path = self._first_place(batch, table)
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


FOLDER, _LOG = "_manifest", "log"
# A compaction of a million profiles has a line of 70 MB. More would be a file to fill the memory.
_LONGEST = 256 << 20
_NUMBERED = re.compile(r"([0-9]{12})\.jsonl")
Lines = Iterable[Mapping[str, object]]


def numbered(number: int) -> str:
    """The path of an object of lines."""
    return f"{FOLDER}/{_LOG}/{number:012}.jsonl"


class ManifestReader:
    """Reads the manifest of a lake; `refresh` adds what was appended since.

    positions: how many bytes of each file were read. number: of the last numbered object. objects:
    how many were read one by one.
    """

    def __init__(self, folder: LakeFolder | BucketFolder) -> None:
        self.manifest = Manifest()
        self._folder = folder
        self._damaged: set[str] = set()
        self._is_started = False
        self.positions: dict[str, int] = {}
        self.number = self.objects = 0

    def refresh(self, *, require: bool = False) -> Manifest:
        """Read new lines. Raises OSError.

        require: also verify what only lookups of sources and keys need.
        """
        while True:
            try:
                if not self._is_started:
                    self._start()
                if isinstance(self._folder, BucketFolder):
                    paths = map(numbered, range(self.number + 1, sys.maxsize))
                    for data in self._folder.read_first(paths):
                        self.take(self.number + 1, data)
                else:
                    self._read_files()
                self.manifest.settle()
                base = self.manifest.base
                if base is not None and require:
                    base.require()
            except DamagedSnapshot:
                if self.manifest.base is None:
                    raise
                self._damaged.add(self.manifest.base.name)
                self._is_started = False
            else:
                return self.manifest

    def rebase(self, name: str) -> None:
        """Go on from a snapshot of what was read. Raises DamagedSnapshot."""
        manifest = Manifest(self._snapshot(name))
        manifest.fenced = self.manifest.fenced
        self.manifest, self.objects = manifest, 0

    def take(self, number: int, data: bytes) -> None:
        """Add an object of lines."""
        self.number, self.objects = number, self.objects + 1
        self._add(data.splitlines(keepends=True), 0)

    def _start(self) -> None:
        """Begin with the newest snapshot that is sound, or without one."""
        base = self._newest()
        self.manifest = Manifest(base)
        self.positions, self.number, self.objects = {}, 0, 0
        if base is not None:
            self.positions, self.number = dict(base.header.read), base.header.number
        self._is_started = True
        if self._folder.is_bucket:
            self._read_files()  # of builds before it was copied to a bucket
            while f"{_LOG}/{self.number + 1:012}.jsonl" in self.positions:  # and of some after
                self.number += 1

    def _snapshot(self, name: str) -> Snapshot:
        from viewer.fleet.manifest_snapshot import Snapshot  # needs pyarrow

        return Snapshot(self._folder, name)

    def _newest(self) -> Snapshot | None:
        try:
            names = self._folder.entries(SNAPSHOTS)
        except OSError:  # there are none, or a link in the place of their folder
            return None
        for name in sorted(names, reverse=True):
            if IS_SNAPSHOT.fullmatch(name) and name not in self._damaged:
                try:
                    return self._snapshot(name)
                except DamagedSnapshot:
                    self._damaged.add(name)
        return None

    def _read_files(self) -> None:
        """Read the files of builds on a disk; and there, numbered ones that were copied there."""
        folder = self._folder
        for name, size in folder.entries(FOLDER).items():
            if name != _LOG or size is not None:
                self._read_if_new(name, size)
            elif not folder.is_bucket:
                try:
                    inside = folder.entries(f"{FOLDER}/{_LOG}")
                except OSError:  # a link
                    self._read_if_new(name, None)
                    continue
                for inner, inner_size in inside.items():
                    match = _NUMBERED.fullmatch(inner)
                    if match is None or int(match[1]) > self.number:
                        self._read_if_new(f"{_LOG}/{inner}", inner_size)

    def _read_if_new(self, name: str, size: int | None) -> None:
        if size is None:  # a link, or a folder
            self.manifest.ignored += name not in self.positions
            self.positions[name] = 0
        elif name.endswith(".jsonl") and size > self.positions.get(name, 0):
            with self._folder.read(f"{FOLDER}/{name}") as file:
                place = self.positions.get(name, 0)
                file.seek(place)
                self.positions[name] = place + self._add(_lines_of(file), place)

    def _add(self, lines: Iterable[bytes], place: int) -> int:
        """Add lines, up to one without an end; returns the bytes of those that were read."""
        size = 0
        for text in lines:
            if not text.endswith(b"\n"):
                if len(text) < _LONGEST:
                    break
                self.manifest.ignored += 1
                return sys.maxsize - place
            size += len(text)
            self.manifest.lines += 1
            try:
                self.manifest.add(parsed(text))
            except (ValueError, RecursionError):
                self.manifest.ignored += 1
        return size


def _lines_of(file: BinaryIO) -> Iterator[bytes]:
    while text := file.readline(_LONGEST):
        yield text


class FileWriter:
    """Appends to one file of a manifest, on a disk."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def append(self, lines: Lines) -> bool:
        """Append lines at once and write them to the disk. Raises OSError."""
        view = memoryview(packed(lines))
        while view:
            view = view[os.write(self._descriptor, view) :]
        os.fsync(self._descriptor)
        return True

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


class ObjectWriter:
    """Writes numbered objects of a manifest, in a bucket."""

    def __init__(self, folder: BucketFolder, reader: ManifestReader) -> None:
        self._folder, self._reader = folder, reader

    def append(self, lines: Lines) -> bool:
        """Append lines to what the reader has read; False if there are others. Raises OSError."""
        number, data = self._reader.number + 1, packed(lines)
        if not self._folder.create_only(numbered(number), data):
            return False
        self._reader.take(number, data)
        return True

    def close(self) -> None:
        """There is nothing to close."""


def writer_of(
    folder: LakeFolder | BucketFolder, reader: ManifestReader, name: str
) -> FileWriter | ObjectWriter:
    """What a build or a compaction of this name writes with. Raises OSError."""
    if isinstance(folder, BucketFolder):
        return ObjectWriter(folder, reader)
    return FileWriter(folder.append(f"{FOLDER}/{name}.jsonl"))


def packed(lines: Lines) -> bytes:
    """Lines as a file has them."""
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)
