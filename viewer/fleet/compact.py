"""Compacts a lake: many small files become few large ones. Needs pyarrow.

Rows of profiles that are outdated are left out. A new file is complete before the manifest states
that it replaces others; see the README of this package.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute
from pyarrow import parquet

from viewer.fleet.batch import parquet_writer, sorted_by_place, sync
from viewer.fleet.lake import PARTS, Lake, LakeSession
from viewer.fleet.manifest import LakeFile
from viewer.fleet.schemas import TABLES

# Files are joined up to this size; larger ones stay.
TARGET_BYTES = 64 << 20
_GROUP_ROWS = 200_000


def compact(lake: Lake, told: Callable[[str, int], None], target: int = TARGET_BYTES) -> int:
    """Join the small files of every table; returns how many files went.

    told: called with a table and the number of files that one file replaced. target: bytes of a
    file. Raises UnusableLake, OSError.
    """
    session = lake.session()
    gone = 0
    try:
        outdated = lake.read().outdated
        for table in TABLES:
            for files in _groups(lake, table, target, bool(outdated)):
                file = _joined(session, table, files, outdated)
                if session.replace(file, files, outdated):
                    gone += len(files) - 1
                    told(table, len(files))
    finally:
        session.close()
    return gone


def _groups(lake: Lake, table: str, target: int, every: bool) -> Iterator[list[LakeFile]]:
    """Files to join, each group of about the target size. every: also single and large ones."""
    present = [file for file in lake.manifest.live_files(table) if lake.place(file)]
    group: list[LakeFile] = []
    size = 0
    for file in sorted(present, key=lambda one: one.path):
        if file.size >= target and not every:
            continue
        if group and size + file.size > target:
            yield group
            group, size = [], 0
        group.append(file)
        size += file.size
    if len(group) > 1 or (group and every):
        yield group


def _joined(
    session: LakeSession, table: str, files: Sequence[LakeFile], outdated: set[str]
) -> LakeFile:
    """Write the rows of files to one file, with the newest schema."""
    name = f"compact-{secrets.token_hex(8)}"
    part = f"{PARTS}/{session.id}/{name}.{table}.parquet"
    path = os.path.join(session.lake.path, part)
    schema = TABLES[table].arrow()
    dropped = pa.array(sorted(outdated), pa.string())
    waiting: list[pa.Table] = []
    count = 0
    with parquet_writer(path, schema) as writer:

        def flush() -> None:
            if waiting:
                rows = pa.concat_tables(waiting).unify_dictionaries()
                writer.write_table(sorted_by_place(rows))
                waiting.clear()

        for file in files:
            place = session.lake.place(file)
            if place is None:
                continue
            with parquet.ParquetFile(place) as opened:
                for batch in opened.iter_batches(_GROUP_ROWS):
                    rows = _with_schema(pa.Table.from_batches([batch]), schema)
                    if len(dropped):
                        is_old = pa.compute.is_in(rows.column("key").cast(pa.string()), dropped)
                        rows = rows.filter(pa.compute.invert(is_old))
                    waiting.append(rows)
                    count += rows.num_rows
                    if sum(part.num_rows for part in waiting) >= _GROUP_ROWS:
                        flush()
        flush()
    sync(path)
    target = f"{TABLES[table].folder()}/{name}.parquet"
    return LakeFile(table, TABLES[table].schema, target, part, os.path.getsize(path), count)


def _with_schema(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows of an old schema with the columns of the newest one."""
    columns = [
        rows.column(field.name).cast(field.type)
        if field.name in rows.column_names
        else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)
