"""The unit of work: one profile with its records becomes rows of the chosen tables.

Its key is the SHA-256 of what the rows depend on: the profile, its records, where it was recorded,
and the numbers of the schemas. Equal keys have equal rows.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from viewer.codecs.reading import FileTooLarge, UnreadableFile
from viewer.fleet.arrow_rows import KeyedRows
from viewer.fleet.dimensions import Dimensions, PathPattern, dimensions_of, sidecar_conditions
from viewer.fleet.manifest_lines import DONE, FAILED, KEPT, REFUSED, UnitOutcome
from viewer.fleet.record_index import MOST_RECORDS, RecordIndex
from viewer.fleet.remote import is_url, local_copy
from viewer.fleet.rows import ProfileRows, Rows, problem_rows, row_counts, tags_text
from viewer.fleet.schemas import FILES, PROBLEMS, TABLES
from viewer.fleet.sources import FoundFile, FoundProfile
from viewer.formats import open_file
from viewer.model.trace import Problem, Trace
from viewer.program.executable.executable import Executable
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
