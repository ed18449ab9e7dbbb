"""A batch of units: what one task of an engine reads and writes, in a worker process.

A batch writes one Parquet file per table into the temporary folder of its build. So many small
profiles cost few files. Rows are sorted by where they were recorded. What crashes is divided.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute
from pyarrow import parquet

from viewer import __version__
from viewer.fleet.arrow_rows import KeyedRows, arrow_table
from viewer.fleet.bucket_folder import folder_of
from viewer.fleet.losses import checksum
from viewer.fleet.manifest_lines import DONE, KEPT, REFUSED, LakeFile, UnitOutcome, partition_of
from viewer.fleet.rows import row_counts
from viewer.fleet.schemas import KEYS, TABLES
from viewer.fleet.unit import Options, Unit, make_unit
from viewer.formats.memory import retain_freed

# A batch ends with so many profiles, or so many bytes of them.
MOST_UNITS, MOST_BYTES = 64, 8 << 20
# Rows of one table are written when a batch has so many, so that its memory is limited.
_MOST_ROWS = 200_000


@dataclass(frozen=True, slots=True)
class Batch:
    """Units of one task. lake, folder: the lake, and its temporary folder below it."""

    units: tuple[Unit, ...]
    options: Options
    lake: str
    folder: str


@dataclass(frozen=True, slots=True)
class Written:
    """What is published at once: some units with rows, and the files that have these."""

    name: str
    outcomes: tuple[UnitOutcome, ...]
    files: tuple[LakeFile, ...]


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The outcomes of the units without rows, and what is written, for each partition.

    version: of Opscope in the worker.
    """

    others: tuple[UnitOutcome, ...]
    written: tuple[Written, ...]
    version: str = __version__


def work(batch: Batch) -> BatchResult:
    """Read the profiles of a batch and write their rows. Raises OSError if it cannot write."""
    retain_freed()
    others: list[UnitOutcome] = []
    seen: dict[str, set[str]] = {}
    partitions: dict[str, _Files] = {}
    column = batch.options.partition
    with contextlib.ExitStack() as stack:
        for unit in batch.units:
            outcome, tables = make_unit(unit, batch.options)
            if outcome.state == DONE and outcome.key in seen:  # the same profile, twice
                tables = {}
                outcome = replace(outcome, state=KEPT, rows={})
            seen.setdefault(outcome.key, set()).update(tables)
            if outcome.state != DONE:
                others.append(outcome)
                continue
            keys = next(iter(tables.values()))[0]
            partition = "" if column is None else partition_of(column, keys[column])
            if partition not in partitions:
                partitions[partition] = stack.enter_context(_Files(batch, partition))
            partitions[partition].add(outcome, tables)
    return BatchResult(
        tuple(others),
        tuple(
            Written(files.name, tuple(files.outcomes), files.written)
            for files in partitions.values()
        ),
    )


def divided(batch: Batch) -> Sequence[Batch]:
    """Return a batch for each unit; () for a batch of one."""
    if len(batch.units) == 1:
        return ()
    return [replace(batch, units=(unit,)) for unit in batch.units]


class _Files:
    """The Parquet files of a batch; they are created when they have rows."""

    def __init__(self, batch: Batch, partition: str) -> None:
        """partition: its folder below that of a table, with its "/"; "" for none."""
        self._batch, self._partition = batch, partition
        self.outcomes: list[UnitOutcome] = []
        sources = "\n".join(unit.profile.file.path for unit in batch.units)
        digest = hashlib.sha256(sources.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        # Random too: a task can run again on another worker while this one still writes.
        self.name = f"{digest}-{secrets.token_hex(6)}"
        self.written: tuple[LakeFile, ...] = ()
        self._waiting: dict[str, list[KeyedRows]] = {}
        self._writers: dict[str, NewFile] = {}

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        for table in list(self._waiting):
            if kind is None:
                self._flush(table)
        done = [writer.close() for writer in self._writers.values()]
        self.written = tuple(done) if kind is None else ()

    def add(self, outcome: UnitOutcome, tables: dict[str, KeyedRows]) -> None:
        """Add the tables of one profile."""
        self.outcomes.append(outcome)
        for name, rows in tables.items():
            if row_counts(rows[1]):
                waiting = self._waiting.setdefault(name, [])
                waiting.append(rows)
                if sum(row_counts(part) for _, part in waiting) >= _MOST_ROWS:
                    self._flush(name)

    def _flush(self, table: str) -> None:
        rows = arrow_table(TABLES[table], self._waiting.pop(table)).unify_dictionaries()
        rows = sorted_by_place(rows)
        if table not in self._writers:
            lake, folder = self._batch.lake, self._batch.folder
            self._writers[table] = NewFile(
                lake, folder, table, self.name, rows.schema, self._partition
            )
        self._writers[table].write(rows)


class NewFile:
    """A Parquet file of a lake that is written to the temporary folder of its build."""

    def __init__(
        self, lake: str, folder: str, table: str, name: str, schema: pa.Schema, partition: str
    ) -> None:
        """folder: below the lake. name: without a suffix. partition: as of `LakeFile`.

        Raises OSError.
        """
        self._table, self._name, self._partition = table, name, partition
        self._part = f"{folder}/{name}.{table}.parquet"
        self._rows = 0
        self._file = folder_of(lake).create(self._part)
        # Without the stored schema of Arrow, readers see strings, not dictionaries of them.
        self._writer = parquet.ParquetWriter(
            self._file, schema, compression="zstd", store_schema=False, write_page_checksum=True
        )
        self._writer.add_key_value_metadata(schema.metadata or {})

    def write(self, rows: pa.Table) -> None:
        """Append rows as a row group. Raises OSError."""
        self._writer.write_table(rows)
        self._rows += rows.num_rows

    def close(self) -> LakeFile:
        """End the file and write it to the disk. Raises OSError."""
        with self._file as file:
            self._writer.close()
            file.flush()
            os.fsync(file.fileno())
            lake_table = TABLES[self._table]
            return LakeFile(
                self._table,
                lake_table.schema,
                f"{lake_table.folder()}/{self._partition}{self._name}.parquet",
                self._part,
                file.seek(0, os.SEEK_END),
                self._rows,
                checksum(file),
            )


def sorted_by_place(rows: pa.Table) -> pa.Table:
    """Return rows sorted by model, device, build and key; those of one profile keep their order."""
    order = ("model", "device", "build", "key")
    assert {column.name for column in KEYS} == set(order)
    if rows.num_rows < 2:
        return rows
    columns = {name: rows.column(name).cast(pa.string()) for name in order}
    columns["row"] = pa.array(range(rows.num_rows), pa.int64())
    keys = [(name, "ascending") for name in columns]
    return rows.take(pa.compute.sort_indices(pa.table(columns), sort_keys=keys))


def refused(batch: Batch, reason: str) -> tuple[UnitOutcome, ...]:
    """The outcomes of units that did not run. reason: why, after the name of the file."""
    return tuple(
        UnitOutcome(
            unit.profile.file.path,
            unit.profile.file.size,
            unit.stamp,
            REFUSED,
            reason=f"{unit.profile.file.path}: {reason}",
        )
        for unit in batch.units
    )
