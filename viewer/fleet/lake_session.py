"""What writes to a lake: a build or a compaction, with its lines and its temporary folder."""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Callable, Collection, Sequence

from viewer.codecs.file_lock import OwnedLock
from viewer.fleet.bucket_folder import Lease
from viewer.fleet.lake import Lake, UnusableLake
from viewer.fleet.losses import lost_parts, table_files
from viewer.fleet.manifest_lines import (
    PARTS,
    LakeFile,
    UnitOutcome,
    compact_line,
    fence_line,
    files_line,
    unit_line,
)
from viewer.fleet.manifest_log import writer_of

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
