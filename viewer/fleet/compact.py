"""Compacts a lake: many small files become few large ones. Needs pyarrow.

Rows of profiles that are outdated are left out. A new file is complete before the manifest states
that it replaces others; see the README of this package.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute
from pyarrow import parquet

from viewer.fleet.batch import NewFile, sorted_by_place
from viewer.fleet.lake import Lake, UnusableLake
from viewer.fleet.lake_session import LakeSession, session_of
from viewer.fleet.manifest import Manifest
from viewer.fleet.manifest_lines import LakeFile
from viewer.fleet.schemas import TABLES

# Files are joined up to this size; larger ones stay.
TARGET_BYTES = 64 << 20
_GROUP_ROWS = 200_000


def compact(lake: Lake, report: Callable[[str, int], None], target: int = TARGET_BYTES) -> int:
    """Join the small files of every table; returns how many files went.

    report: called with a table and the number of files that one file replaced. target: bytes of a
    file. Raises UnusableLake, OSError.
    """
    session = session_of(lake)
    gone = 0
    try:
        faults = lake.refuse_damage()
        outdated = lake.answer(Manifest.outdated)
        for table in TABLES:
            present = [
                lake_file
                for lake_file in lake.manifest.live_files(table)
                if lake_file.path not in faults
            ]
            for files in _groups(present, target, bool(outdated)):
                file = _joined(session, table, files, outdated)
                if file is not None and session.replace(file, files, outdated):
                    gone += len(files) - 1
                    report(table, len(files))
        session.end(least=1)
    finally:
        session.close()
    return gone


def _groups(present: Sequence[LakeFile], target: int, every: bool) -> Iterator[list[LakeFile]]:
    """Files to join, each group of one partition, and of about the target size.

    every: also single and large ones.
    """
    group: list[LakeFile] = []
    size = 0

    def is_due() -> bool:
        return len(group) > 1 or (bool(group) and every)

    for file in sorted(present, key=lambda lake_file: (lake_file.partition, lake_file.path)):
        if file.size >= target and not every:
            continue
        if group and (size + file.size > target or group[0].partition != file.partition):
            if is_due():
                yield group
            group, size = [], 0
        group.append(file)
        size += file.size
    if is_due():
        yield group


def _joined(
    session: LakeSession, table: str, files: Sequence[LakeFile], outdated: set[str]
) -> LakeFile | None:
    """Write the rows of files to one file, with the newest schema; None if one is gone."""
    schema = TABLES[table].arrow()
    dropped = pa.array(sorted(outdated), pa.string())
    waiting: list[pa.Table] = []
    name = f"compact-{secrets.token_hex(8)}"
    partition = files[0].partition
    new_file = NewFile(session.lake.path, session.parts, table, name, schema, partition)

    def flush() -> None:
        if waiting:
            new_file.write(sorted_by_place(pa.concat_tables(waiting).unify_dictionaries()))
            waiting.clear()

    for file in files:
        try:
            for batch in _batches(session.lake, file):
                rows = _with_schema(pa.Table.from_batches([batch]), schema)
                if len(dropped):
                    is_old = pa.compute.is_in(rows.column("key").cast(pa.string()), dropped)
                    rows = rows.filter(pa.compute.invert(is_old))
                waiting.append(rows)
                if sum(part.num_rows for part in waiting) >= _GROUP_ROWS:
                    flush()
        except FileNotFoundError:
            new_file.close()
            return None
    flush()
    return new_file.close()


def _batches(lake: Lake, file: LakeFile) -> Iterator[pa.RecordBatch]:
    """The rows of a file. Raises FileNotFoundError, and UnusableLake if it is damaged."""
    place = lake.places.get(file.path, file.path)
    with lake.folder.read(place) as opened:
        try:
            with parquet.ParquetFile(opened, page_checksum_verification=True) as content:
                yield from content.iter_batches(_GROUP_ROWS)
        except (OSError, pa.ArrowException) as error:
            raise UnusableLake(lake.damage(place, str(error))) from error


def _with_schema(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows of an old schema with the columns of the newest one."""
    columns = [
        rows.column(field.name).cast(field.type)
        if field.name in rows.column_names
        else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)
