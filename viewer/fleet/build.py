"""Builds a lake, profiles by batches, and compacts it: many small files become few large ones.

The driver alone writes to the manifest. It publishes a batch when it has the result, so whatever is
killed costs at most the batches that run at that moment.
The README of this package says what a compaction does.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

import pyarrow as pa
import pyarrow.compute
from pyarrow import parquet

from viewer import __version__
from viewer.dataclasses import dataclass, field, replace
from viewer.fleet.engine import Engine, EngineLost
from viewer.fleet.lake import Lake, LakeSession, UnusableLake, place_of, session_of
from viewer.fleet.manifest import Manifest
from viewer.fleet.manifest_lines import (
    DONE,
    FAILED,
    KEPT,
    REFUSED,
    LakeFile,
    UnitOutcome,
    build_line,
    unit_line,
)
from viewer.fleet.schemas import TABLES, chosen_tables
from viewer.fleet.sources import (
    MOST_RECORDS,
    Found,
    FoundFile,
    FoundProfile,
    NoSource,
    PathPattern,
    found_profiles,
    joined,
)
from viewer.fleet.unit import (
    MOST_BYTES,
    MOST_UNITS,
    Batch,
    BatchResult,
    NewFile,
    Options,
    Unit,
    divided,
    refused,
    sorted_by_place,
    work,
)

# So many profiles are listed before they are read, and then the next ones.
MOST_LISTED = 50_000
CRASHED = (
    "it crashed its worker twice and was set aside; it may be damaged, or too large for the memory"
)


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """What to build.

    sources, records: as for `find_profiles`. tables: by name. pattern: of --from-path. labels: the
    rows of --labels by file. partition: as of `Options`. resume: leave out everything that the
    manifest has an answer for.
    """

    sources: tuple[str, ...]
    tables: tuple[str, ...]
    records: str | None = None
    pattern: str | None = None
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    partition: str | None = None
    resume: bool = False


@dataclass(slots=True)
class Progress:
    """How far a build is. total: profiles that are listed yet. states: their number by state.

    size: bytes of those ended. unlabeled: the paths of those that --from-path does not match.
    """

    total: int = 0
    others: int = 0
    unlabeled: tuple[str, ...] = ()
    size: int = 0
    states: Counter[str] = field(default_factory=Counter)
    started: float = field(default_factory=time.monotonic)

    @property
    def ended(self) -> int:
        """The number of profiles with an outcome."""
        return self.states.total()

    @property
    def failed(self) -> int:
        """The number of profiles that were not read."""
        return self.states[FAILED] + self.states[REFUSED]

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self.started

    @property
    def rate(self) -> float:
        """Profiles per second that were read, and not only kept."""
        read = self.ended - self.states[KEPT]
        return read / max(self.seconds, 1e-6)

    @property
    def seconds_left(self) -> float | None:
        """At the same rate; None if nothing was read yet."""
        return (self.total - self.ended) / self.rate if self.rate else None


Told = Callable[[Progress, UnitOutcome | None], None]


def build(
    path: str, options: BuildOptions, engine: Callable[[int], Engine], report: Told
) -> tuple[Lake, Progress]:
    """Read all profiles of the sources that the lake lacks, and publish their rows.

    path: of the lake, which is made if it is missing and the sources can be listed. engine: makes
    the engine for a number of batches; it is closed at the end. report: called with each outcome,
    and with None when profiles are listed. Raises NoSource, UnusableLake, EngineLost, OSError.
    """
    is_new = not _exists(path)
    lake = None if is_new else Lake(path)
    if lake is not None:
        lake.read(require=True)
    parts = found_profiles(
        options.sources,
        records=options.records,
        leave_out=place_of(path),
        is_present=lambda source: lake is not None and _is_read(lake, source),
    )
    windows = _windows(_labeled(parts, options.pattern))
    first = next(windows)
    lake = lake or Lake.create(path)  # not before: what cannot be listed leaves no empty lake
    is_whole = False
    try:
        session = session_of(lake)
        try:
            running = _Build(session, options, report)
            progress = running.run(chain([first], windows), engine)
            is_whole = True
        finally:
            session.close()
    finally:
        if is_new and not is_whole:
            lake.remove_empty()
    return lake, progress


def _windows(parts: Iterable[Found]) -> Iterator[tuple[Found, bool]]:
    """Yield profiles in lists that the memory can have, and whether it is the last list."""
    waiting: list[Found] = []
    count = 0
    for part in parts:
        if count >= MOST_LISTED:
            yield joined(waiting), False
            waiting, count = [], 0
        waiting.append(part)
        count += len(part.profiles)
    yield joined(waiting), True


def _labeled(parts: Iterable[Found], text: str | None) -> Iterator[Found]:
    """Yield parts once a pattern matches a profile. Raises NoSource if it matches none."""
    pattern = None if text is None else PathPattern(text)
    waiting: list[Found] = []
    rest = iter(parts)
    for part in rest:
        waiting.append(part)
        if pattern is None or any(pattern.values(p.file.path) for p in part.profiles):
            break
    else:
        unmatched = joined(waiting).profiles
        if unmatched and pattern is not None:
            raise NoSource(
                f"--from-path {text!r} matches no profile, such as {unmatched[0].file.path}"
            )
    yield from chain(waiting, rest)


def _exists(path: str) -> bool:
    try:
        return Lake.exists(path)
    except (OSError, ImportError) as error:
        raise UnusableLake(f"{path}: it cannot be read ({error})") from error


def _is_read(lake: Lake, source: str) -> bool:
    outcome = lake.manifest.unit(source)
    return outcome is not None and outcome.state in (DONE, KEPT)


class _Build:
    def __init__(self, session: LakeSession, options: BuildOptions, report: Told) -> None:
        self._session, self._lake = session, session.lake
        self._given, self._told = options, report
        tables = tuple(table.name for table in chosen_tables(options.tables))
        self._options = Options(tables, options.pattern, options.partition)
        self.progress = Progress()
        self._again: list[Batch] = []
        # The records of the last profile, and their stamps.
        self._stamped: tuple[tuple[FoundFile, ...], tuple[str, ...]] = (), ()

    def run(
        self, windows: Iterable[tuple[Found, bool]], engine: Callable[[int], Engine]
    ) -> Progress:
        """Read what the lake lacks. windows: as of `_windows`."""
        self._lake.read()
        self._session.begin(build_line(self._session.id, {"tables": list(self._options.tables)}))
        running: Engine | None = None
        try:
            for sources, is_last in windows:
                batches = self._batches_of(sources)
                if batches:
                    running = running or engine(len(batches) if is_last else MOST_LISTED)
                    self._run_all(batches, running)
        finally:
            if running is not None:
                running.close()
        self._session.append([{"kind": "end", "at": time.time(), **self.progress.states}])
        self._session.end()
        return self.progress

    def _batches_of(self, sources: Found) -> list[Batch]:
        """What the lake lacks of some profiles."""
        self.progress.total += len(sources.profiles) + len(sources.unreadable)
        self.progress.others += sources.others
        if self._given.pattern is not None:
            pattern = PathPattern(self._given.pattern)
            paths = (profile.file.path for profile in sources.profiles)
            self.progress.unlabeled += tuple(p for p in paths if pattern.values(p) is None)
        to_read = self._to_read(sources)
        self._told(self.progress, None)
        batches = list(self._batches(to_read))
        if self._session.has_company:  # builds of one source meet in the middle
            batches.reverse()
        return batches

    def _to_read(self, sources: Found) -> list[Unit]:
        """The units that the lake lacks; the others get their outcome here."""
        units: list[Unit] = []
        for profile in sources.profiles:
            labels = self._given.labels
            label = labels.get(profile.file.relative) or labels.get(profile.file.name)
            unit = Unit(profile, self._stamp(profile, label), label)
            state = self._known_state(unit)
            if state is None:
                units.append(unit)
            else:
                self.progress.states[state] += 1
        for file, reason in sources.unreadable:
            outcome = UnitOutcome(file.path, file.size, _stamp_of(file), FAILED, reason=reason)
            unit_outcome = self._lake.manifest.unit(outcome.source)
            if (
                self._given.resume
                and unit_outcome is not None
                and unit_outcome.stamp == outcome.stamp
            ):
                self.progress.states[FAILED] += 1
            else:
                self._answer([outcome])
        units.sort(
            key=lambda unit: ([r.path for r in unit.profile.records[:1]], unit.profile.file.path)
        )
        return units

    def _stamp(self, profile: FoundProfile, label: Mapping[str, str] | None) -> str:
        """A digest of all that the outcome of a profile depends on, without reading it."""
        sidecar = profile.sidecar
        made_of = (
            [_stamp_of(profile.file), *self._stamps_of_records(profile.records)],
            None if sidecar is None else _stamp_of(sidecar),
            profile.file.path if self._options.pattern else "",
            self._options.pattern,
            sorted((label or {}).items()),
            _SCHEMAS,
        )
        return _digest_of(made_of)

    def _stamps_of_records(self, records: tuple[FoundFile, ...]) -> tuple[str, ...]:
        """The stamps of records, of many one for all; worked out once where profiles share them."""
        if records is not self._stamped[0]:
            stamps = tuple(map(_stamp_of, records))
            if len(stamps) > MOST_RECORDS:
                stamps = (_digest_of(stamps),)
            self._stamped = records, stamps
        return self._stamped[1]

    def _known_state(self, unit: Unit) -> str | None:
        """KEPT if the lake has all rows of a profile; with --resume also a failure; else None."""
        source = unit.profile.file.path
        unit_outcome = self._lake.manifest.unit(source)
        if unit_outcome is None or unit_outcome.stamp != unit.stamp:
            return None
        if unit_outcome.state in (DONE, KEPT):
            return KEPT if set(self._options.tables) <= self._present(unit_outcome.key) else None
        return unit_outcome.state if self._given.resume else None

    def _present(self, key: str) -> set[str]:
        return set(self._session.present(key))

    # -- batches -----------------------------------------------------------------------------------

    def _batches(self, units: Iterable[Unit]) -> Iterator[Batch]:
        chosen: list[Unit] = []
        size = 0
        for unit in units:
            unit_bytes = unit.profile.file.size
            if chosen and (len(chosen) == MOST_UNITS or size + unit_bytes > MOST_BYTES):
                yield self._batch(chosen)
                chosen, size = [], 0
            chosen.append(unit)
            size += unit_bytes
        if chosen:
            yield self._batch(chosen)

    def _batch(self, units: Sequence[Unit]) -> Batch:
        return Batch(tuple(units), self._options, self._lake.path, self._session.parts)

    def _run_all(self, batches: list[Batch], engine: Engine) -> None:
        while batches:
            for batch, result in engine.run(self._fresh(batches), work, divided):
                if result is None:
                    self._answer(refused(batch, CRASHED))
                else:
                    self._take(batch, result)
            batches, self._again = self._again, []

    def _fresh(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Batches without what other builds read meanwhile, and with what is known of the rest."""
        for batch in batches:
            self._lake.read()
            units = []
            for unit in batch.units:
                state = self._known_state(unit)
                if state is not None:
                    self.progress.states[state] += 1
                else:
                    units.append(self._with_known(unit))
            if units:
                yield replace(batch, units=tuple(units))

    def _with_known(self, unit: Unit) -> Unit:
        """A unit with what the lake has for an earlier state of the same file."""
        unit_outcome = self._lake.manifest.unit(unit.profile.file.path)
        keys = {unit_outcome.key} if unit_outcome is not None and unit_outcome.key else set[str]()
        keys |= unit.known.keys()
        return replace(unit, known={key: tuple(self._present(key)) for key in keys})

    def _take(self, batch: Batch, result: BatchResult) -> None:
        """Publish a batch. What another build published first is read again, and then kept."""
        if result.version != __version__:
            raise EngineLost(
                f"a worker has Opscope {result.version}, and this is {__version__}: install the "
                "same version there"
            )
        unit_of = {unit.profile.file.path: unit for unit in batch.units}
        for written in result.written:
            if self._session.publish(written.name, written.outcomes, written.files):
                for outcome in written.outcomes:
                    self._report(outcome)
            else:
                units = [
                    replace(unit_of[outcome.source], known={outcome.key: ()})
                    for outcome in written.outcomes
                ]
                self._again.append(replace(batch, units=tuple(units)))
        self._answer(result.others)

    def _answer(self, outcomes: Sequence[UnitOutcome]) -> None:
        """Add outcomes without rows to the manifest."""
        if outcomes:
            self._session.append(
                [unit_line(unit_outcome, self._session.id) for unit_outcome in outcomes]
            )
        for outcome in outcomes:
            self._report(outcome)

    def _report(self, outcome: UnitOutcome) -> None:
        self.progress.states[outcome.state] += 1
        self.progress.size += outcome.size
        self._told(self.progress, outcome)


_SCHEMAS = {name: table.schema for name, table in TABLES.items()}


def _digest_of(value: object) -> str:
    return hashlib.blake2b(repr(value).encode("utf-8", "replace"), digest_size=12).hexdigest()


def _stamp_of(file: FoundFile) -> str:
    return f"{file.path}\n{file.size}\n{file.changed}"


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
