"""Writes a snapshot of a manifest: its former one, merged with the lines that came since."""

from __future__ import annotations

import bisect
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import parquet

from viewer.dataclasses import asdict
from viewer.fleet.manifest import Manifest
from viewer.fleet.manifest_snapshot import (
    DROPPED,
    GROUP_ROWS,
    HEADER,
    REPEATED,
    SCHEMAS,
    Header,
    PartFacts,
    path_of_bytes,
    source_bytes,
)

Row = dict[str, Any]


def write_snapshot(
    create: Callable[[str], BinaryIO], manifest: Manifest, read: Mapping[str, int], number: int
) -> None:
    """Write the parts of a snapshot, and then its header.

    create: creates a file by its name, to write and to read. read, number: how far the lines of
    the manifest were read. Raises OSError.
    """
    names = _Names(manifest)
    keys = _Keys(manifest, names)
    parts = {
        "sources": _written(create, "sources", _sources(manifest)),
        "keys": _written(create, "keys", keys.tables()),
    }
    small: dict[str, Iterable[Row]] = {
        "files": (asdict(file) for file in manifest.live_files()),
        "replaced": _replaced(manifest),
        "outdated": _keys(manifest.outdated()),
        "several": _keys(keys.several),
        "failures": (
            {
                "source": source_bytes(outcome.source), "size": outcome.size,
                "stamp": outcome.stamp, "state": outcome.state, "reason": outcome.reason,
            }
            for outcome in manifest.failures()
        ),
        "names": ({"name": name} for name in names.every),
    }  # fmt: skip
    for part, rows in small.items():
        parts[part] = _written(create, part, [_table(part, list(rows))])
    header = Header(
        version=1, lines=manifest.lines, ignored=manifest.ignored, read=dict(read), number=number,
        states={state: count for state, count in manifest.states.items() if count},  # type: ignore[misc]
        keys=manifest.key_count(), parts=parts,
    )  # fmt: skip
    with create(HEADER) as file:
        file.write(header.written())
        _sync(file)


def new_name(manifest: Manifest) -> str:
    """The name of a new snapshot: they sort by the number of lines."""
    return f"{manifest.lines:012}-{secrets.token_hex(4)}"


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _table(part: str, rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), SCHEMAS[part])


def _written(create: Callable[[str], BinaryIO], part: str, tables: Iterable[pa.Table]) -> PartFacts:
    """Write a part in row groups."""
    with create(f"{part}.parquet") as file:
        schema = SCHEMAS[part]
        with parquet.ParquetWriter(
            file, schema, compression="zstd", store_schema=False, write_page_checksum=True,
            use_dictionary=[name for name in schema.names if name in REPEATED],
        ) as writer:  # fmt: skip
            for table in _regrouped(tables):
                writer.write_table(table, row_group_size=GROUP_ROWS)
        _sync(file)
        return PartFacts.of(file)


def _keys(keys: Iterable[str]) -> Iterator[Row]:
    return ({"key": bytes.fromhex(key)} for key in sorted(keys))


def _replaced(manifest: Manifest) -> Iterator[Row]:
    former = {} if manifest.base is None else manifest.base.replaced
    for path in (*former, *manifest.replaced):
        yield {"path": path, "by": manifest.path_of(former.get(path, path))}


def _sources(manifest: Manifest) -> Iterator[pa.Table]:
    return _merged(
        manifest,
        "sources",
        sorted(map(source_bytes, manifest.sources)),
        lambda value: [_source_row(manifest, path_of_bytes(value))],
    )


def _source_row(manifest: Manifest, source: str) -> Row:
    state = manifest.sources[source]
    outcome = state.outcome
    return {
        "source": source_bytes(source), "moment": state.moment, "size": outcome.size,
        "stamp": outcome.stamp, "state": outcome.state,
        "key": bytes.fromhex(state.key) if state.key else None, "key_moment": state.key_moment,
    }  # fmt: skip


def _merged(
    manifest: Manifest,
    part: str,
    values: Sequence[bytes],
    rows_of: Callable[[bytes], Sequence[Row]],
) -> Iterator[pa.Table]:
    """A sorted part of the former snapshot, with other rows for some values of its first column.

    values: sorted. rows_of: the rows of one.
    """
    column = SCHEMAS[part].names[0]
    former = iter(()) if manifest.base is None else manifest.base.groups(part)
    start, group = 0, next(former, None)
    while group is not None:
        following, end = next(former, None), len(values)
        if following is not None:
            end = bisect.bisect_left(values, following.column(0)[0].as_py(), start)
        # The first value of the next group may also be the last one of this group.
        gone = set(values[start : end + 1])
        if end > start or group.column(0)[-1].as_py() in gone:
            rows = [row for row in group.to_pylist() if row[column] not in gone]
            rows += [row for value in values[start:end] for row in rows_of(value)]
            rows.sort(key=lambda row: row[column])
            group = _table(part, rows)
        yield group
        start, group = end, following
    for place in range(start, len(values), GROUP_ROWS):
        of_group = values[place : place + GROUP_ROWS]
        yield _table(part, [row for value in of_group for row in rows_of(value)])


def _regrouped(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Tables of `GROUP_ROWS` rows, but for the last one."""
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        if sum(part.num_rows for part in waiting) >= GROUP_ROWS:
            joined = pa.concat_tables(waiting)
            whole = joined.num_rows - joined.num_rows % GROUP_ROWS
            yield joined.slice(0, whole)
            waiting = [joined.slice(whole)]
    if waiting:
        yield pa.concat_tables(waiting)


class _Names:
    """Numbers of batches and compactions."""

    def __init__(self, manifest: Manifest) -> None:
        self.every = [] if manifest.base is None else manifest.base.names.to_pylist()
        news = dict.fromkeys([*manifest.batches, *(file.name for file in manifest.files.values())])
        present = set(self.every)
        self.every += [name for name in news if name not in present]
        self.number = {name: i for i, name in enumerate(self.every)}


class _Keys:
    """The part `keys`. several: the keys with rows of one table in several batches, at the end."""

    def __init__(self, manifest: Manifest, names: _Names) -> None:
        self._manifest, self._names = manifest, names
        self.several: set[str] = set()

    def tables(self) -> Iterator[pa.Table]:
        """Its row groups."""
        manifest = self._manifest
        dropped = {key for key, _ in manifest.dropped}
        touched = (manifest.rows.keys() | manifest.balance.keys() | dropped) - {""}
        former = set() if manifest.base is None else manifest.base.several
        self.several |= former - touched
        values = sorted(map(bytes.fromhex, touched))
        return _merged(manifest, "keys", values, lambda value: self._rows(value.hex()))

    def _rows(self, key: str) -> list[Row]:
        manifest = self._manifest
        batches: dict[str, Row] = {}
        tables = Counter[str]()
        for table, batch, count in manifest.rows_of(key):
            batches.setdefault(batch, {"name": self._names.number[batch]})[table] = count
            tables[table] += 1
        if any(count > 1 for count in tables.values()):
            self.several.add(key)
        sources = max(manifest.source_count(key), 0)
        facts = {"key": bytes.fromhex(key), "sources": sources}
        if batches:
            return [facts | row for row in batches.values()]
        return [facts | {"name": DROPPED if manifest.has_key(key) else None}]
