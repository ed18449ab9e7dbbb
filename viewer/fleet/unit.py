"""What one task of an engine reads and writes: profiles become rows, and batches of them files.

A unit is one profile with its records. Its key is the SHA-256 of what the rows depend on: the
profile, its records, where it was recorded, and the numbers of the schemas. A batch of units is one
Parquet file per table in the temporary folder of its build, so many small profiles cost few files.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import os
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute
from pyarrow import parquet

from viewer import __version__
from viewer.codecs.reading import FileTooLarge, UnreadableFile
from viewer.dataclasses import dataclass, field, replace
from viewer.fleet.lake_folder import folder_of
from viewer.fleet.losses import checksum
from viewer.fleet.manifest_lines import (
    DONE,
    FAILED,
    KEPT,
    REFUSED,
    LakeFile,
    UnitOutcome,
    partition_of,
)
from viewer.fleet.remote import is_url, local_copy
from viewer.fleet.rows import (
    KeyedRows,
    ProfileRows,
    Rows,
    arrow_table,
    problem_rows,
    row_counts,
    tags_text,
)
from viewer.fleet.schemas import FILES, KEYS, PROBLEMS, TABLES
from viewer.fleet.sources import (
    MOST_RECORDS,
    Dimensions,
    FoundFile,
    FoundProfile,
    PathPattern,
    RecordIndex,
    dimensions_of,
    sidecar_conditions,
)
from viewer.formats import open_file
from viewer.formats.memory import retain_freed
from viewer.model.trace import Problem, Trace
from viewer.program.executables import Executable
from viewer.program.program import Program
from viewer.workspace.workspace import Workspace

_KEPT_BYTES = 64 << 20  # of records, by the sizes of their files
_MOST_DIGESTS = 100_000


@dataclass(frozen=True, slots=True)
class Options:
    """What is the same for all units. tables: what to write; pattern: of --from-path, or None.

    partition: "device", "build" or "model", by which files have folders; None for no folders.
    """

    tables: tuple[str, ...]
    pattern: str | None = None
    partition: str | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """One profile to read. label: its row of --labels. stamp: of the files that it is made from.

    known: key -> the tables that the lake has for this profile, if it has any.
    """

    profile: FoundProfile
    stamp: str
    label: Mapping[str, str] | None = None
    known: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def make_unit(unit: Unit, options: Options) -> tuple[UnitOutcome, dict[str, KeyedRows]]:
    """Read a profile and return its outcome with its tables. Never raises an Exception."""
    started = time.perf_counter()
    file = unit.profile.file
    base = UnitOutcome(file.path, file.size, unit.stamp, FAILED)
    try:
        key, tables = _made(unit, options)
    except FileTooLarge as error:
        outcome = replace(base, state=REFUSED, reason=str(error))
    except UnreadableFile as error:
        text = str(error)
        outcome = replace(
            base, reason=text if text.startswith(file.path) else f"{file.path}: {text}"
        )
    except OSError as error:
        outcome = replace(
            base, reason=f"{file.path}: it cannot be read ({error.strerror or error})"
        )
    except MemoryError:
        outcome = replace(base, state=REFUSED, reason=f"{file.path}: not enough memory to read it")
    except Exception as error:  # a bug with one file must not affect the others
        outcome = replace(base, reason=f"{file.path}: internal error in Opscope ({error!r})")
    else:
        counts = {name: row_counts(rows) for name, (_, rows) in tables.items()}
        outcome = replace(
            base,
            state=DONE if tables else KEPT,
            key=key,
            rows=counts,
            problems=counts.get(PROBLEMS.name, 0),
        )
        return replace(outcome, seconds=time.perf_counter() - started), tables
    return replace(outcome, seconds=time.perf_counter() - started), {}


def _made(unit: Unit, options: Options) -> tuple[str, dict[str, KeyedRows]]:
    profile = unit.profile
    pattern = None if options.pattern is None else PathPattern(options.pattern)
    sidecar = None if profile.sidecar is None else profile.sidecar.path
    where = dimensions_of(profile.file.path, sidecar, pattern, unit.label)
    with _local(profile.file) as path:
        digest = _sha256(path)
        key = _key(digest, sorted(_digests_of(profile.records)), where)
        names = [name for name in options.tables if name not in unit.known.get(key, ())]
        if not names:
            return key, {}
        trace = open_file(path)
        if not isinstance(trace, Trace):
            raise UnreadableFile(profile.file.path, "this is not a profile: it has no times")
        if path != profile.file.path:
            trace = replace(trace, path=profile.file.path)
        records = _records_of(trace, profile.records)
        space = copy.copy(records.workspace)
        space.add(trace)
        rows = ProfileRows(space)
        keys = {"key": key, "device": where.device, "build": where.build, "model": where.model}
        tables: dict[str, KeyedRows] = {}
        for name in names:
            if name == FILES.name:
                columns = _file_rows(unit, where, digest, records, rows)
            elif name == PROBLEMS.name:
                columns = problem_rows(_problems(unit, where, records, rows))
            else:
                columns = rows.of(name)
            tables[name] = keys, columns
    return key, tables


def _file_rows(
    unit: Unit, where: Dimensions, digest: str, records: _Records, rows: ProfileRows
) -> Rows:
    sidecar = unit.profile.sidecar
    conditions = sidecar_conditions(None if sidecar is None else sidecar.path)
    facts: dict[str, Any] = {
        "tags": tags_text(where.tags),
        "source": unit.profile.file.path,
        "sha256": digest,
        "size": unit.profile.file.size,
        "records": json.dumps(list(records.digests)),
        **rows.file_facts(),
        "recording": conditions.recording or None,
        "run_order": conditions.order,
        "temperature_c": conditions.temperature_c,
        "temperature_of": conditions.temperature_of or None,
        "frequency_khz": conditions.frequency_khz,
        "date": _date(conditions.started, unit.profile.file.modified),
    }
    facts["record"] = records.paths.get(facts["record"], facts["record"])
    return {name: [value] for name, value in facts.items()}


def _date(*times: float | None) -> str | None:
    """The day of the first time that is known and that is one, in UTC."""
    for seconds in times:
        with contextlib.suppress(ValueError, OverflowError, OSError):
            if seconds is not None:
                return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    return None


def _problems(
    unit: Unit, where: Dimensions, records: _Records, rows: ProfileRows
) -> list[tuple[str, str, Problem]]:
    file, sidecar = unit.profile.file.path, unit.profile.sidecar
    place = file if sidecar is None else sidecar.path
    problems = [("labels", place, Problem(kind, 1, first)) for kind, first in where.problems]
    problems += [("record", path, Problem(text, 1, "")) for path, text in records.unreadable]
    for about, path, problem in rows.problems():
        problems.append((about, records.paths.get(path, path), problem))
    return problems


def _key(digest: str, records: Sequence[str], where: Dimensions) -> str:
    schemas: dict[str, int] = {name: table.schema for name, table in TABLES.items()}
    made_of = [digest, list(records), where.identity(), schemas]
    return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()


@contextlib.contextmanager
def _local(file: FoundFile) -> Iterator[str]:
    """The path of a file on this machine; a file at a URL is downloaded for the block."""
    if not is_url(file.path):
        yield file.path
        return
    try:
        with local_copy(file.path) as path:
            yield path
    except (ImportError, ValueError) as error:
        raise UnreadableFile(file.path, f"it cannot be downloaded ({error})") from error


def _sha256(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# -- records ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Records:
    """A workspace with the records of a profile.

    digests: sorted. unreadable: (path, reason). paths: of programs in the workspace -> of the files
    next to the profile, which have the same names and contents.
    """

    workspace: Workspace
    digests: tuple[str, ...]
    unreadable: tuple[tuple[str, str], ...]
    paths: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Read:
    """What files of some names and contents are: read once, wherever copies of them are.

    is_lasting: whether another attempt would read the same. Memory may be short for a moment.
    """

    workspace: Workspace
    paths: tuple[str, ...]
    unreadable: tuple[tuple[int, str], ...]
    size: int
    is_lasting: bool


_digests: dict[FoundFile, str] = {}
_cache: OrderedDict[tuple[tuple[str, str], ...], _Read] = OrderedDict()
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Indexed:
    """Many records, each read once, by their numbers. is_lasting: as of `_Read`."""

    index: RecordIndex
    unreadable: tuple[tuple[int, str], ...]
    is_lasting: bool


_indexes: dict[tuple[tuple[str, str], ...], _Indexed] = {}


def _records_of(trace: Trace, files: tuple[FoundFile, ...]) -> _Records:
    """Return the records that a profile may belong to. Raises OSError.

    More than `MOST_RECORDS` are not all compared with it, but those that fit best.
    """
    if len(files) <= MOST_RECORDS:
        return _records(files)
    key = _names_and_digests(files)
    with _lock:
        indexed = _indexes.get(key) or _indexed(files)
        _indexes.clear()
        if indexed.is_lasting:
            _indexes[key] = indexed
    records = _records(tuple(files[number] for number in indexed.index.closest(trace)))
    unreadable = tuple((files[number].path, reason) for number, reason in indexed.unreadable)
    return replace(records, unreadable=(*records.unreadable, *unreadable))


def _indexed(files: tuple[FoundFile, ...]) -> _Indexed:
    index, unreadable, is_lasting = RecordIndex(), [], True
    for number, file in enumerate(files):
        read = _read_records((file,))
        records: list[Program | Executable] = [*read.workspace.programs]
        for record in [*records, *read.workspace.executables]:
            index.add(number, record)
        unreadable += [(number, reason) for _, reason in read.unreadable]
        is_lasting &= read.is_lasting
    return _Indexed(index, tuple(unreadable), is_lasting)


def _names_and_digests(files: tuple[FoundFile, ...]) -> tuple[tuple[str, str], ...]:
    """Return what files of the same names and contents have in common. Raises OSError."""
    return tuple(zip((file.name for file in files), _digests_of(files), strict=True))


def _digests_of(files: tuple[FoundFile, ...]) -> tuple[str, ...]:
    """Return the digest of each file; a worker reads each once. Raises OSError."""
    with _lock:
        if len(_digests) > _MOST_DIGESTS:
            _digests.clear()
        for file in files:
            if file not in _digests:
                with _local(file) as path:
                    _digests[file] = _sha256(path)
        return tuple(_digests[file] for file in files)


def _records(files: tuple[FoundFile, ...]) -> _Records:
    """Return some records, of which a worker reads equal ones once. Raises OSError."""
    key = _names_and_digests(files)
    with _lock:
        read = _cache.get(key) or _read_records(files)
        if read.is_lasting:
            _cache[key] = read
            _cache.move_to_end(key)
            while len(_cache) > 1 and sum(entry.size for entry in _cache.values()) > _KEPT_BYTES:
                _cache.popitem(last=False)
    paths = [file.path for file in files]
    return _Records(
        read.workspace,
        tuple(sorted(digest for _, digest in key)),
        tuple((paths[i], reason) for i, reason in read.unreadable),
        dict(zip(read.paths, paths, strict=True)),
    )


def _read_records(files: tuple[FoundFile, ...]) -> _Read:
    space = Workspace()
    unreadable: list[tuple[int, str]] = []
    is_lasting = True
    for number, file in enumerate(files):
        try:
            with _local(file) as path:
                item: Trace | Program | Executable = open_file(path)
            if isinstance(item, Trace):
                unreadable.append((number, f"{file.name}: this is no ETRecord"))
            else:
                space.add(item if path == file.path else replace(item, path=file.path))
        except (UnreadableFile, OSError) as error:
            is_lasting &= not isinstance(error, FileTooLarge | OSError)
            # Without the folder, which is that of the copy that was read.
            unreadable.append((number, str(error).replace(file.path, file.name)))
    size = sum(file.size for file in files)
    return _Read(space, tuple(file.path for file in files), tuple(unreadable), size, is_lasting)


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
