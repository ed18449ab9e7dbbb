"""Snapshots of a manifest: what its lines up to some place add up to, as sorted Parquet files.

To read ten million lines takes minutes, and most answers need a few of them. So a build or a
compaction writes `_snapshots/<lines>-<random>/`: the parts below, and then `snapshot.json`, which
states how far the lines were read, and the size and CRC-32 of each part. One that is damaged,
or of another version, is left out: the one before it counts, or the lines alone.

    files       those with rows now
    replaced    other files, with the one that has their rows now
    outdated    keys whose sources have another key by now
    several     keys with rows of one table in several batches
    failures    sources whose last outcome is a failure
    names       of batches and compactions; `keys` has their numbers
    sources     by path: the last outcome, and the last key
    keys        by key: the number of sources that have it, and the rows of its tables

Only `sources` and `keys` grow with the profiles. They are sorted, and read a row group at a time.
"""

from __future__ import annotations

import bisect
import contextlib
import os
import zlib
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, BinaryIO, Literal

import msgspec
import numpy as np
import pyarrow as pa
from pyarrow import parquet

from viewer.dataclasses import dataclass, field
from viewer.fleet.lake_folder import BucketFolder, LakeFolder
from viewer.fleet.manifest_lines import (
    DONE,
    KEPT,
    SNAPSHOTS,
    DamagedSnapshot,
    LakeFile,
    SourceState,
    UnitOutcome,
)
from viewer.fleet.schemas import TABLES

HEADER = "snapshot.json"
_AT_ONCE, _MOST_HEADER, _FOOT = 1 << 20, 64 << 20, 8
GROUP_ROWS = 8192
# Row groups that stay decoded, of each part.
_MOST_GROUPS = 8
# So many lookups of keys later, it pays to know the first bytes of all keys.
_FEW_LOOKUPS = 200

_KEY, _PATH, _WORD = pa.binary(32), pa.binary(), pa.string()


def _schema(**types: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field(name, of_type) for name, of_type in types.items()])


SCHEMAS = {
    "files": _schema(
        table=_WORD, schema=pa.int64(), path=pa.string(), part=pa.string(), size=pa.int64(),
        rows=pa.int64(), checksum=pa.int64(),
    ),
    "replaced": _schema(path=pa.string(), by=_WORD),
    "outdated": _schema(key=_KEY),
    "several": _schema(key=_KEY),
    "failures": _schema(source=_PATH, size=pa.int64(), stamp=pa.string(), state=_WORD,
                        reason=_WORD),
    "names": _schema(name=pa.string()),
    "sources": _schema(source=_PATH, moment=pa.float64(), size=pa.int64(), stamp=pa.string(),
                       state=_WORD, key=_KEY, key_moment=pa.float64()),
    "keys": _schema(key=_KEY, sources=pa.int64(), name=pa.int32(),
                    **dict.fromkeys(TABLES, pa.int64())),
}  # fmt: skip
# What may be null: a key, if a source never had one, and what is about rows, if a key has none.
_OPTIONAL = {"checksum", "key", "name", *TABLES}
# In the place of the number of a name, if a key had rows once.
DROPPED = -1
# Columns whose values repeat.
REPEATED = ["table", "by", "state", "reason"]


class PartFacts(msgspec.Struct):
    """What the header states of a part. footer: the CRC-32 of its metadata, at its end."""

    size: Annotated[int, msgspec.Meta(ge=0)]
    checksum: Annotated[int, msgspec.Meta(ge=0)]
    footer: Annotated[int, msgspec.Meta(ge=0)]

    @classmethod
    def of(cls, file: BinaryIO) -> PartFacts:
        """The facts of a part. Raises OSError."""
        crc, size = 0, file.seek(0)
        while block := file.read(_AT_ONCE):
            crc, size = zlib.crc32(block, crc), size + len(block)
        return cls(size, crc, footer_of(file))


def footer_of(file: BinaryIO) -> int:
    """The CRC-32 of the metadata of a Parquet file; 0 if it is none."""
    size = file.seek(0, os.SEEK_END)
    if size < _FOOT:
        return 0
    file.seek(size - _FOOT)
    length = int.from_bytes(file.read(_FOOT)[:4], "little") + _FOOT
    file.seek(max(size - length, 0))
    return zlib.crc32(file.read())


class Header(msgspec.Struct):
    """Where a snapshot was made. read: bytes of each file of lines. number: the last numbered one.

    lines, ignored, states, keys: as of the manifest. schemas: of all tables.
    """

    version: Literal[1]
    lines: Annotated[int, msgspec.Meta(ge=0)]
    ignored: Annotated[int, msgspec.Meta(ge=0)]
    read: dict[str, Annotated[int, msgspec.Meta(ge=0)]]
    number: Annotated[int, msgspec.Meta(ge=0)]
    states: dict[Literal["done", "kept", "failed", "refused"], Annotated[int, msgspec.Meta(ge=0)]]
    keys: Annotated[int, msgspec.Meta(ge=0)]
    parts: dict[str, PartFacts]

    def written(self) -> bytes:
        """The header as a file."""
        text = msgspec.json.encode(self)
        return b"%08x\n%s\n" % (zlib.crc32(text), text)


def source_bytes(source: str) -> bytes:
    """A path as a part has it. It may not be UTF-8."""
    return source.encode("utf-8", "surrogatepass")


@dataclass(slots=True)
class _Sorted:
    """A part that is sorted by its first column, read a row group at a time."""

    file: parquet.ParquetFile
    firsts: list[bytes]
    raw: BinaryIO
    _groups: OrderedDict[int, tuple[list[bytes], pa.Table]] = field(default_factory=OrderedDict)

    def __del__(self) -> None:
        self.raw.close()

    def rows(self, value: bytes) -> list[dict[str, Any]]:
        """The rows that have a value in the first column."""
        rows: list[dict[str, Any]] = []
        number = max(bisect.bisect_left(self.firsts, value) - 1, 0)
        while number < len(self.firsts) and self.firsts[number] <= value:
            values, table = self.group(number)
            start = bisect.bisect_left(values, value)
            stop = bisect.bisect_right(values, value, start)
            rows += table.slice(start, stop - start).to_pylist() if stop > start else []
            number += 1
        return rows

    def group(self, number: int) -> tuple[list[bytes], pa.Table]:
        """The first column of a row group, and the group."""
        if number not in self._groups:
            table = self.file.read_row_group(number)
            _check_values(table)
            self._groups[number] = table.column(0).to_pylist(), table
            if len(self._groups) > _MOST_GROUPS:
                self._groups.popitem(last=False)
        self._groups.move_to_end(number)
        return self._groups[number]


class Snapshot:
    """A snapshot that is read; its files by path. The methods raise DamagedSnapshot."""

    def __init__(self, folder: LakeFolder | BucketFolder, name: str) -> None:
        """Read a snapshot, without its large parts. Raises DamagedSnapshot."""
        self.name, self._folder = name, folder
        try:
            with folder.read(f"{SNAPSHOTS}/{name}/{HEADER}") as file:
                crc, _, text = file.read(_MOST_HEADER).partition(b"\n")
            if int(crc, 16) != zlib.crc32(text.rstrip(b"\n")):
                raise ValueError("its header has other bytes")
            self.header = msgspec.json.decode(text, type=Header)
            if self.header.parts.keys() != SCHEMAS.keys():
                raise ValueError("it has other parts")
        except (OSError, ValueError, RecursionError) as error:
            raise self._damaged(error) from error
        self.states = Counter(dict(self.header.states))
        with self._sound():
            rows = self._table("files").to_pylist()
            self.files = {row["path"]: LakeFile(**row) for row in rows}
            self._outdated = self._table("outdated")
            self._several = self._table("several")
            self._replaced = self._table("replaced")
            self._failures = self._table("failures")
            names = self._table("names").column(0)
        self.names = names
        self._lookups, self._is_verified = 0, False

    # -- small parts -----------------------------------------------------------------------------

    @cached_property
    def outdated(self) -> set[str]:
        """The keys whose sources have another key."""
        return set(_texts(self._outdated))

    @cached_property
    def several(self) -> set[str]:
        """The keys with rows of one table in several batches."""
        return set(_texts(self._several))

    @cached_property
    def replaced(self) -> dict[str, str]:
        """Path of a file that is replaced -> path of the file that has its rows now."""
        return dict(
            zip(*(self._replaced.column(name).to_pylist() for name in ("path", "by")), strict=True)
        )

    @cached_property
    def place_of(self) -> dict[str, dict[str, str]]:
        """Batch -> table -> path of the file that has its rows now."""
        places: dict[str, dict[str, str]] = {}
        now = {path: path for path in self.files} | self.replaced
        for path, place in now.items():
            table, _, name = path.removeprefix("table=").partition("/")
            batch = name.rpartition("/")[2].removesuffix(".parquet")
            places.setdefault(batch, {})[table] = place
        return places

    @cached_property
    def _sorted_names(self) -> np.ndarray[Any, Any]:
        return np.sort(np.array(self.names.to_pylist(), dtype=np.str_))

    def has_name(self, name: str) -> bool:
        """Whether there is a batch or a compaction of a name."""
        names = self._sorted_names
        place = int(np.searchsorted(names, name))
        return place < len(names) and names[place] == name

    def failures(self) -> list[UnitOutcome]:
        """The last outcomes that are failures."""
        with self._sound():
            rows = self._failures.to_pylist()
            return [UnitOutcome(**(row | {"source": path_of_bytes(row["source"])})) for row in rows]

    # -- large parts -----------------------------------------------------------------------------

    def require(self) -> None:
        """Verify the large parts once, so that lookups in them find no damage."""
        if not self._is_verified:
            for part, of_part in (("sources", self._sources), ("keys", self._keys)):
                with self._sound():
                    self._verify(part, of_part.raw)
        self._is_verified = True

    @cached_property
    def _sources(self) -> _Sorted:
        return self._large("sources")

    @cached_property
    def _keys(self) -> _Sorted:
        return self._large("keys")

    @cached_property
    def _beginnings(self) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """The first eight bytes of all keys, sorted."""
        with self._sound():
            parts = [
                np.frombuffer(_fixed(batch.column(0)), ">u8").reshape(-1, 4)[:, 0].astype("<u8")
                for batch in self._keys.file.iter_batches(1 << 16, columns=["key"])
            ]
            return np.concatenate([np.empty(0, "<u8"), *parts])

    def source(self, source: str) -> SourceState | None:
        """What is known of a source."""
        with self._sound():
            rows = self._sources.rows(source_bytes(source))
            return _state_of(source, rows[0]) if rows else None

    def has_key(self, key: str) -> bool:
        """Whether a profile has ever had rows, as far as the snapshot says."""
        return any(row["name"] is not None for row in self._rows_of(key))

    def source_count(self, key: str) -> int:
        """How many sources have this key."""
        return next((row["sources"] for row in self._rows_of(key)), 0)

    def rows_of(self, key: str) -> list[tuple[str, dict[str, int]]]:
        """Batch, and the number of rows by table, of each batch that has rows of a profile."""
        with self._sound():
            return [
                (
                    self.names[row["name"]].as_py(),
                    {table: row[table] for table in TABLES if row[table] is not None},
                )
                for row in self._rows_of(key)
                if row["name"] not in (None, DROPPED)
            ]

    def _rows_of(self, key: str) -> list[dict[str, Any]]:
        if not key:
            return []
        value = bytes.fromhex(key)
        self._lookups += 1
        with self._sound():
            if self._lookups > _FEW_LOOKUPS:
                first = np.uint64(int.from_bytes(value[:8], "big"))
                place = int(np.searchsorted(self._beginnings, first))
                if place == len(self._beginnings) or self._beginnings[place] != first:
                    return []
            return self._keys.rows(value)

    def groups(self, part: str) -> Iterator[pa.Table]:
        """The row groups of a large part, in order."""
        of_part = {"sources": self._sources, "keys": self._keys}[part]
        for number in range(len(of_part.firsts)):
            with self._sound():
                group = of_part.file.read_row_group(number)
                _check_values(group)
            yield group

    # -- files -----------------------------------------------------------------------------------

    def _table(self, part: str) -> pa.Table:
        with self._folder.read(f"{SNAPSHOTS}/{self.name}/{part}.parquet") as file:
            self._verify(part, file)
            with _opened(part, file) as content:
                table = content.read()
        _check_values(table)
        return table

    def _large(self, part: str) -> _Sorted:
        with self._sound():
            file = self._folder.read(f"{SNAPSHOTS}/{self.name}/{part}.parquet")
            try:
                self._verify_footer(part, file)
                content = _opened(part, file)
                groups = map(content.metadata.row_group, range(content.metadata.num_row_groups))
                statistics = [group.column(0).statistics for group in groups]
                # Without them: paths with thousands of letters.
                return _Sorted(content, [facts.min for facts in statistics], file)
            except BaseException:
                file.close()
                raise

    def _verify(self, part: str, file: BinaryIO) -> None:
        """Raises ValueError if a part has other bytes than those that the header states."""
        if PartFacts.of(file) != self.header.parts[part]:
            raise ValueError(f"{part}.parquet has other bytes")
        file.seek(0)

    def _verify_footer(self, part: str, file: BinaryIO) -> None:
        """As `_verify`, for its size and metadata. Its pages have checksums of their own."""
        facts = self.header.parts[part]
        if (file.seek(0, os.SEEK_END), footer_of(file)) != (facts.size, facts.footer):
            raise ValueError(f"{part}.parquet has other bytes")
        file.seek(0)

    @contextlib.contextmanager
    def _sound(self) -> Iterator[None]:
        """Make DamagedSnapshot of all that a damaged or forged part can raise."""
        try:
            yield
        except DamagedSnapshot:
            raise
        except (
            OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError,
            MemoryError, pa.ArrowException,
        ) as error:  # fmt: skip
            raise self._damaged(error) from error

    def _damaged(self, error: BaseException) -> DamagedSnapshot:
        return DamagedSnapshot(f"{SNAPSHOTS}/{self.name} cannot be read ({error})")


def _opened(part: str, file: BinaryIO) -> parquet.ParquetFile:
    content = parquet.ParquetFile(file, page_checksum_verification=True)
    if not content.schema_arrow.remove_metadata().equals(SCHEMAS[part]):
        raise ValueError(f"{part}.parquet has other columns")
    return content


def _check_values(table: pa.Table) -> None:
    """Raises ValueError for values that no snapshot has."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.null_count and (name not in _OPTIONAL or table.column_names == ["key"]):
            raise ValueError(f"{name} has no value")


def _fixed(column: pa.Array) -> memoryview:
    """The bytes of a column of keys without nulls."""
    start, size = column.offset * 32, len(column) * 32
    return memoryview(column.buffers()[1])[start : start + size]


def _texts(table: pa.Table) -> Iterator[str]:
    return (value.hex() for value in table.column(0).to_pylist())


def path_of_bytes(source: bytes) -> str:
    """The path that `source_bytes` was made from."""
    return source.decode("utf-8", "surrogatepass")


def _state_of(source: str, row: Mapping[str, Any]) -> SourceState:
    key = "" if row["key"] is None else row["key"].hex()
    state = row["state"]
    outcome = UnitOutcome(
        source, row["size"], row["stamp"], state, key if state in (DONE, KEPT) else ""
    )
    return SourceState(outcome, row["moment"], key, row["key_moment"])
