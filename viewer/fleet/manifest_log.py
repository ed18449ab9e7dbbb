"""Reads and writes the lines of a manifest, from the newest sound snapshot on.

On a disk they are in one file for each build, in a bucket in numbered objects. A lake that was
copied from one to the other can have both.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, BinaryIO

from viewer.fleet.bucket_folder import BucketFolder
from viewer.fleet.lake_folder import LakeFolder
from viewer.fleet.manifest import Manifest
from viewer.fleet.manifest_lines import IS_SNAPSHOT, SNAPSHOTS, DamagedSnapshot, parsed

if TYPE_CHECKING:
    from viewer.fleet.manifest_snapshot import Snapshot

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
                    self._read_numbered(self._folder)
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
                self._read_file(name, file)

    def _read_file(self, name: str, file: BinaryIO) -> None:
        place = self.positions.get(name, 0)
        file.seek(place)
        self.positions[name] = place + self._add(_lines_of(file), place)

    def _read_numbered(self, folder: BucketFolder) -> None:
        paths = map(numbered, range(self.number + 1, sys.maxsize))
        for data in folder.read_first(paths):
            self.take(self.number + 1, data)

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
