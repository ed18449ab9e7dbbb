"""A lake: a folder or bucket of Parquet files, one folder per table, with a manifest.

    LAKE/table=operators/schema=1/<batch>.parquet     rows of a batch of profiles
    LAKE/_manifest/<id>.jsonl                         what was read and written
    LAKE/_snapshots/<lines>-<random>/                 what those lines add up to
    LAKE/_tmp/<id>/                                   files that are not part of the lake yet
    LAKE/_lock                                        held while something is published

The README of this package explains why nothing is doubled and nothing is lost.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeVar

from viewer.codecs.atomic_file import OwnedLock
from viewer.fleet.lake_folder import SCHEMES, BucketFolder, Lease, folder_of
from viewer.fleet.losses import Fault, FileChecks, Losses, lost_files, lost_parts, table_files
from viewer.fleet.manifest import FOLDER, Manifest, ManifestReader, writer_of
from viewer.fleet.manifest_lines import (
    IS_SNAPSHOT,
    PARTS,
    SNAPSHOTS,
    LakeFile,
    UnitOutcome,
    compact_line,
    fence_line,
    files_line,
    unit_line,
)
from viewer.fleet.remote import is_url
from viewer.model.text import one_line

T = TypeVar("T")
_LOCK = "_lock"
# Publishing a batch takes milliseconds; only a file system that hangs takes longer.
_PATIENCE_S = 60.0
_ATTEMPTS = 5
# Readers may still use the one before the last.
_MOST_SNAPSHOTS = 2
_OTHERS = "this folder has other files; name a new or an empty folder (-o)"


class UnusableLake(Exception):
    """A folder is no lake, or cannot be written; the message says what to do."""


class Lake:
    """A lake in a bucket, or in a folder of this machine or of what all workers share."""

    def __init__(self, path: str) -> None:
        """Open a lake. Raises UnusableLake."""
        self._open(path)
        if self.folder.is_bucket:
            self._require_bucket()
        elif os.path.islink(os.path.join(self.path, FOLDER)):
            raise UnusableLake(f"{path}: {FOLDER} is a link, and links in a lake are not followed")
        elif not os.path.isdir(os.path.join(self.path, FOLDER)):
            raise UnusableLake(_no_lake(path))

    def _open(self, path: str) -> None:
        self.path = place_of(path)
        self.folder = folder_of(self.path)
        self.reader = ManifestReader(self.folder)
        self.checks = FileChecks(self.folder)
        # What `check` found last, and the files that are not renamed yet, with where they are.
        self.losses = Losses()
        self.places: dict[str, str] = {}

    def _require_bucket(self) -> None:
        try:
            is_lake = self.exists(self.path)
        except (OSError, ImportError) as error:
            raise UnusableLake(f"{self.path}: it cannot be read ({error})") from error
        if not is_lake:
            raise UnusableLake(_no_lake(self.path))

    @staticmethod
    def exists(path: str) -> bool:
        """Whether there is a lake at a path, or what a lake must not be. Raises OSError."""
        folder = folder_of(place_of(path))
        if isinstance(folder, BucketFolder):
            return folder.exists(FOLDER)
        return os.path.lexists(os.path.join(path, FOLDER))

    @classmethod
    def create(cls, path: str) -> Lake:
        """Open a lake, and make it if the folder is missing or empty. Raises UnusableLake."""
        folder = folder_of(place_of(path))
        try:
            if isinstance(folder, BucketFolder):
                others = folder.entries(".").keys() - {PARTS}  # of a build that has just begun
                if others and FOLDER not in others:
                    raise UnusableLake(f"{path}: {_OTHERS}")
                # Its first object is the first line of its first build.
                lake = cls.__new__(cls)
                lake._open(path)
                return lake
            os.makedirs(path, exist_ok=True)
            entries = os.listdir(path)
            if entries and FOLDER not in entries:
                raise UnusableLake(f"{path}: {_OTHERS}")
            for name in (FOLDER, PARTS):
                folder.make(name)
        except (OSError, ImportError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise UnusableLake(
                f"{path}: it cannot be used as a lake ({reason or error})"
            ) from error
        return cls(path)

    def remove_empty(self) -> None:
        """Remove what `create` made, if no build wrote to it since, and none is active."""
        if isinstance(self.folder, BucketFolder):
            return  # without a line, nothing is there
        with contextlib.suppress(OSError):
            os.rmdir(self.folder.full(PARTS))  # not if it has the lock of a build
            for name, size in self.folder.entries(FOLDER).items():
                if size == 0:
                    self.folder.remove(f"{FOLDER}/{name}")
            os.rmdir(self.folder.full(FOLDER))
            self.folder.remove(_LOCK)
            os.rmdir(self.path)

    @property
    def manifest(self) -> Manifest:
        """What the manifest stated at the last `read`."""
        return self.reader.manifest

    def _unreadable(self, error: OSError) -> UnusableLake:
        return UnusableLake(f"{self.path}: its manifest cannot be read ({error.strerror or error})")

    def answer(self, work: Callable[[Manifest], T]) -> T:
        """Return what `work` makes of the manifest, as of the last `read`. Raises UnusableLake."""
        try:
            return work(self.manifest)
        except OSError:  # a snapshot is damaged where it was not read before
            manifest = self.read(require=True)
        try:
            return work(manifest)
        except OSError as error:
            raise self._unreadable(error) from error

    def read(self, *, require: bool = False) -> Manifest:
        """Return what the manifest states now. Raises UnusableLake.

        require: verify all of a snapshot, so that nothing of it is found damaged later.
        """
        try:
            return self.reader.refresh(require=require)
        except OSError as error:
            raise self._unreadable(error) from error

    def faults(self) -> dict[str, Fault]:
        """Read the manifest and return which of its files do not count, by path.

        Raises UnusableLake.
        """
        return self._compared()[0]

    def _compared(self) -> tuple[dict[str, Fault], set[str]]:
        """As `faults`, and the files that are in the folders of tables."""
        faults: dict[str, Fault] | None = None
        for _ in range(_ATTEMPTS):
            before, faults, self.places = faults, {}, {}
            manifest = self.read()
            present = dict(table_files(self.folder))
            files = manifest.live_files()
            parts: dict[str, int] = {}
            if any(file.path not in present for file in files):
                parts = dict(self.folder.files_below(PARTS))
            for file in files:
                place, size = file.path, present.get(file.path)
                if size is None and file.part in parts:
                    place = self.places[file.path] = file.part
                    size = parts[place]
                fault = self.checks.fault(file, place, size)
                if fault is not None:
                    faults[file.path] = fault
            if not faults or faults == before:
                break  # else a compaction may have removed them since the manifest was read
        return faults or {}, set(present)

    def check(self) -> dict[str, Fault]:
        """Compare the lake with its manifest, as `faults`, and set `losses`.

        Raises UnusableLake.
        """
        faults, strays = self._compared()
        manifest = self.manifest
        if faults or not strays <= manifest.files.keys():
            self.read(require=bool(faults))  # what was published since; and lookups follow
        self.losses = self.answer(
            lambda manifest: Losses(
                lost_files(manifest, faults),
                manifest.ignored + manifest.unsettled,
                tuple(sorted(path for path in strays if not manifest.is_named(path))),
            )
        )
        return faults

    def refuse_damage(self) -> dict[str, Fault]:
        """As `check`, but also raises UnusableLake for a damaged file."""
        faults = self.check()
        for lost_file in self.losses.files:
            if lost_file.fault.is_damaged:
                raise UnusableLake(self.damage(lost_file.path, lost_file.fault.reason))
        return faults

    def damage(self, path: str, reason: str) -> str:
        """The message for a damaged file."""
        return (
            f"{self.path}: {path} is damaged ({one_line(reason)}). Build the lake again from its "
            "profiles, or delete the file"
        )

    def write_snapshot(self, parts: str) -> None:
        """Write a snapshot of what was read. parts: a folder for its files until they are complete.

        Raises OSError.
        """
        from viewer.fleet.snapshot_writer import new_name, write_snapshot  # needs pyarrow

        name = new_name(self.manifest)
        place = f"{SNAPSHOTS}/{name}" if self.folder.is_bucket else f"{parts}/{name}"
        self.folder.make(place)
        reader = self.reader
        write_snapshot(
            lambda file: self.folder.create(f"{place}/{file}"),
            reader.manifest, reader.positions, reader.number,
        )  # fmt: skip
        if not self.folder.is_bucket:
            self.folder.make(SNAPSHOTS)
            self.folder.rename_folder(place, f"{SNAPSHOTS}/{name}")
        reader.rebase(name)
        names = sorted(filter(IS_SNAPSHOT.fullmatch, self.folder.entries(SNAPSHOTS)))
        for old in names[:-_MOST_SNAPSHOTS]:
            self.folder.remove_folder(f"{SNAPSHOTS}/{old}")

    @contextlib.contextmanager
    def publishing(self) -> Iterator[None]:
        """Hold the lock of the lake: nothing else appends files to it. Raises OSError."""
        with self.folder.locked(_LOCK, _PATIENCE_S):
            yield


def place_of(path: str) -> str:
    """The full path of a lake, or its URL. Raises UnusableLake for one where no lake can be."""
    if not is_url(path):
        return os.path.abspath(path)
    if path.partition("://")[0].lower() not in SCHEMES:
        raise UnusableLake(
            f"{path}: a lake is in a folder of this machine, or in a bucket (s3:// or gs://)"
        )
    return path.rstrip("/")


def _no_lake(path: str) -> str:
    return f"{path}: this is not a lake; `opscope fleet build SOURCE -o {path}` makes one"


_OWNER, _ENDED = ".lock", ".ended"
_IS_OWNER = re.compile(rf"[0-9a-f]{{16}}{re.escape(_OWNER)}")
# A build writes a snapshot at its end if so many lines are not in one, and on its way if there are
# many, and a tenth of all. Readers may still use the one before the last.
_FEW_LINES, _MANY_LINES = 5_000, 50_000
# In a bucket, also if so many objects have such lines: each is a request of every reader.
_FEW_OBJECTS, _MANY_OBJECTS = 32, 256


def session_of(lake: Lake) -> LakeSession:
    """Return what may write to the lake; it also finishes what killed processes left.

    Raises UnusableLake.
    """
    try:
        session = LakeSession(lake)
        try:
            session.recover()
        except BaseException:
            session.close()
            raise
    except OSError as error:
        raise UnusableLake(
            f"{lake.path}: it cannot be written ({error.strerror or error})"
        ) from error
    return session


class LakeSession:
    """One build or compaction of a lake: it has a file of the manifest and a temporary folder."""

    def __init__(self, lake: Lake) -> None:
        """Raises OSError."""
        self.lake = lake
        lake.folder.make(PARTS)
        owner = None
        while owner is None:
            # Another build that clears up may lock the new file first, and takes it for a dead one.
            self.id = secrets.token_hex(8)
            owner = lake.folder.new_lock(f"{PARTS}/{self.id}{_OWNER}")
        self._owner = owner
        self.parts = f"{PARTS}/{self.id}"
        self.folder = lake.folder.full(self.parts)
        try:
            lake.folder.make(self.parts, is_new=True)
            self._writer = writer_of(lake.folder, lake.reader, self.id)
        except BaseException:
            owner.remove()
            raise
        self._lost: set[tuple[str, str]] = set()
        self._first: list[dict[str, object]] = []
        # Whether another build or compaction is active.
        self.has_company = False

    def present(self, key: str) -> tuple[str, ...]:
        """The tables of which the lake has the rows of a profile, as of the last `read`.

        Raises OSError.
        """
        rows = self.lake.manifest.rows_of(key)
        return tuple({table: None for table, batch, _ in rows if (batch, table) not in self._lost})

    def begin(self, line: dict[str, object]) -> None:
        """Append a line before the next ones: a build that fails at once leaves none."""
        self._first = [line]

    def append(self, lines: Sequence[dict[str, object]]) -> None:
        """Append lines that name no files. Raises OSError."""
        self._commit(lambda: lines)

    def _commit(self, make: Callable[[], Sequence[dict[str, object]] | None]) -> bool:
        """Append lines that are made of the manifest as it is then; False if there are none.

        In a bucket, others may append at this moment: then they are made again. Raises OSError,
        UnusableLake.
        """
        while True:
            if self.id in self.lake.manifest.fenced:
                raise UnusableLake(
                    f"{self.lake.path}: this build gave no sign of life for minutes, and another "
                    "one took it for dead. Build again to go on: what is done is kept"
                )
            lines = make()
            if lines is None:
                return False
            if self._writer.append([*self._first, *lines]):
                self._first = []
                return True
            self.lake.read()

    def publish(self, batch: str, units: Sequence[UnitOutcome], files: Sequence[LakeFile]) -> bool:
        """Make a batch part of the lake; False, without a change, if the lake has some of it.

        units: those with rows. Raises OSError.
        """

        def lines() -> list[dict[str, object]] | None:
            if any(set(self.present(unit.key)) & set(unit.rows) for unit in units):
                return None
            return [*(unit_line(unit, self.id, batch) for unit in units), files_line(batch, files)]

        with self.lake.publishing():
            self.lake.read()
            if not self._commit(lines):
                return False
            for file in files:
                self._rename(file)
        if self.lake.manifest.tail > max(_MANY_LINES, self.lake.manifest.lines // 10):
            self.end()
        elif self.lake.folder.is_bucket and self.lake.reader.objects > _MANY_OBJECTS:
            self.end(least=1)
        return True

    def end(self, *, least: int = _FEW_LINES) -> None:
        """Write a snapshot if at least so many lines are not in one yet. Raises OSError."""
        with self.lake.publishing():  # no batch is half written
            manifest = self.lake.read(require=True)
        is_due = manifest.tail >= least or (
            self.lake.folder.is_bucket and self.lake.reader.objects > _FEW_OBJECTS
        )
        if is_due and not manifest.unsettled:
            with contextlib.suppress(OSError):  # all is published, and the next one tries again
                self.lake.write_snapshot(self.parts)

    def replace(
        self, file: LakeFile, replaces: Sequence[LakeFile], dropped: Collection[str] = ()
    ) -> bool:
        """Put one file in the place of others; False, without a change, if one is replaced already.

        dropped: the keys whose rows the file leaves out. Readers of the manifest see the one or the
        others. Readers of the folder never see both: the others go first. Raises OSError.
        """

        def lines() -> list[dict[str, object]] | None:
            if any(self.lake.manifest.is_replaced(lake_file.path) for lake_file in replaces):
                return None
            return [compact_line(file, [lake_file.path for lake_file in replaces], dropped)]

        with self.lake.publishing():
            self.lake.read()
            if not self._commit(lines):
                return False
            for lake_file in replaces:
                self._remove(lake_file.path)
                self._remove(lake_file.part)
            self._rename(file)
        return True

    def recover(self) -> None:
        """Finish what killed processes published, and remove what they did not. Raises OSError."""
        with self.lake.publishing():
            manifest = self.lake.read(require=True)
            for path, _ in list(table_files(self.lake.folder)):
                if manifest.is_replaced(path):
                    self._remove(path)
            self._finish()
            self._lost = lost_parts(self.lake.manifest, self.lake.faults())
        for entry, size in self.lake.folder.entries(PARTS).items():
            # A link in the place of a lock is nobody's build.
            if size is None or entry == self.id + _OWNER or not _IS_OWNER.fullmatch(entry):
                continue
            owner = self.lake.folder.take_lock(f"{PARTS}/{entry}")
            self.has_company |= owner is None
            if owner is not None:
                build = entry.removesuffix(_OWNER)
                if self.lake.folder.is_bucket:  # where it may be alive after all
                    self.append([fence_line(build)])
                    self._finish()
                self._remove_parts(f"{PARTS}/{build}", owner)

    def close(self) -> None:
        """End, also after Ctrl+C in the middle of `publish`: remove the temporary folder."""
        self._writer.close()
        with contextlib.suppress(OSError, UnusableLake), self.lake.publishing():
            self._finish()
        self._remove_parts(self.parts, self._owner)

    def _finish(self) -> None:
        """Rename files of the manifest that are not in their places yet. Raises OSError."""
        folder = self.lake.folder
        parts = {path for path, _ in folder.files_below(PARTS)}
        for file in self.lake.read().live_files() if parts else ():
            if file.part in parts and folder.status(file.path) is None:
                self._rename(file)

    def _rename(self, file: LakeFile) -> None:
        # A link in the place of a part stays.
        if self.lake.folder.is_bucket or self.lake.folder.status(file.part) is not None:
            with contextlib.suppress(FileNotFoundError):
                self.lake.folder.rename(file.part, file.path)

    def _remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.lake.folder.remove(path)

    def _remove_parts(self, parts: str, owner: OwnedLock | Lease) -> None:
        """Remove the temporary folder of a build that ended, and its lock.

        Workers that lost their scheduler still write there. They open files by path, so the folder
        gets another name first. What cannot be removed keeps its lock file: the next session tries
        again.
        """
        folder, ended = self.lake.folder, parts + _ENDED
        with contextlib.suppress(OSError):  # missing, or Windows with an open file in it
            folder.rename_folder(parts, ended)
        gone = folder.remove_folder(ended), folder.remove_folder(parts)
        if all(gone):
            owner.remove()
        else:
            owner.release()
