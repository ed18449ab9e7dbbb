"""A lake: a folder of Parquet files, one folder per table, with a manifest.

    LAKE/table=operators/schema=1/<batch>.parquet     rows of a batch of profiles
    LAKE/_manifest/<id>.jsonl                         what was read and written
    LAKE/_tmp/<id>/                                   files that are not part of the lake yet
    LAKE/_lock                                        held while something is published

The README of this package explains why nothing is doubled and nothing is lost.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Collection, Iterator, Sequence

from viewer.codecs.file_lock import OwnedLock, locked
from viewer.fleet.manifest import (
    FOLDER,
    LakeFile,
    Manifest,
    ManifestReader,
    ManifestWriter,
    compact_line,
    files_line,
    unit_line,
)
from viewer.fleet.unit_outcome import UnitOutcome

PARTS = "_tmp"
_LOCK, _OWNER = "_lock", ".lock"
_ENDED = ".ended"
# Publishing a batch takes milliseconds; only a file system that hangs takes longer.
_PATIENCE_S = 60.0


class UnusableLake(Exception):
    """A folder is no lake, or cannot be written; the message says what to do."""


class Lake:
    """A lake on this machine, or on a file system that all workers share."""

    def __init__(self, path: str) -> None:
        """Open a lake. Raises UnusableLake."""
        self.path = os.path.abspath(path)
        self._manifest = os.path.join(self.path, FOLDER)
        if not os.path.isdir(self._manifest):
            raise UnusableLake(
                f"{path}: this is not a lake; `opscope fleet build SOURCE -o {path}` makes one"
            )
        self._reader = ManifestReader(self._manifest)

    @classmethod
    def create(cls, path: str) -> Lake:
        """Open a lake, and make it if the folder is missing or empty. Raises UnusableLake."""
        try:
            os.makedirs(path, exist_ok=True)
            entries = os.listdir(path)
            if entries and FOLDER not in entries:
                raise UnusableLake(
                    f"{path}: this folder has other files; name a new or an empty folder (-o)"
                )
            for name in (FOLDER, PARTS):
                os.makedirs(os.path.join(path, name), exist_ok=True)
        except OSError as error:
            raise UnusableLake(
                f"{path}: it cannot be used as a lake ({error.strerror or error})"
            ) from error
        return cls(path)

    @property
    def manifest(self) -> Manifest:
        """What the manifest stated at the last `read`."""
        return self._reader.manifest

    def read(self) -> Manifest:
        """Return what the manifest states now. Raises UnusableLake."""
        try:
            return self._reader.refresh()
        except OSError as error:
            raise UnusableLake(
                f"{self.path}: its manifest cannot be read ({error.strerror or error})"
            ) from error

    def place(self, file: LakeFile) -> str | None:
        """Return the path of a file, which may not be renamed yet; None if it is missing."""
        for path in (file.path, file.part):
            full = os.path.join(self.path, path)
            with contextlib.suppress(OSError):
                if os.stat(full).st_size == file.size:
                    return full
        return None

    def lost(self) -> set[tuple[str, str]]:
        """The batches and tables whose rows are gone, such as a file that somebody deleted."""
        manifest = self.read()
        missing = {file.path for file in manifest.live_files() if self.place(file) is None}
        return {
            (name, table)
            for name, files in manifest.batches.items()
            for table, file in files.items()
            if manifest.path_of(file.path) in missing
        }

    def session(self) -> LakeSession:
        """Return what may write to the lake; it also finishes what killed processes left.

        Raises UnusableLake.
        """
        try:
            session = LakeSession(self)
            session.recover()
        except OSError as error:
            raise UnusableLake(
                f"{self.path}: it cannot be written ({error.strerror or error})"
            ) from error
        return session

    @contextlib.contextmanager
    def publishing(self) -> Iterator[None]:
        """Hold the lock of the lake: nothing else appends files to it. Raises OSError."""
        with locked(os.path.join(self.path, _LOCK), _PATIENCE_S):
            yield


class LakeSession:
    """One build or compaction of a lake: it has a file of the manifest and a temporary folder."""

    def __init__(self, lake: Lake) -> None:
        """Raises OSError."""
        self.lake = lake
        self._parts = os.path.join(lake.path, PARTS)
        os.makedirs(self._parts, exist_ok=True)
        owner = None
        while owner is None:
            # Another build that clears up may lock the new file first, and takes it for a dead one.
            self.id = secrets.token_hex(8)
            owner = OwnedLock.take(os.path.join(self._parts, self.id + _OWNER))
        self._owner = owner
        self.folder = os.path.join(self._parts, self.id)
        os.mkdir(self.folder)
        self._writer = ManifestWriter(os.path.join(lake.path, FOLDER), self.id)
        self._lost: set[tuple[str, str]] = set()
        # Whether another build or compaction is active.
        self.has_company = False

    def present(self, key: str) -> tuple[str, ...]:
        """The tables of which the lake has the rows of a profile, as of the last `read`."""
        manifest = self.lake.manifest
        of_key = manifest.tables.get(key, {})
        return tuple(
            table
            for table, batches in of_key.items()
            if any(
                (batch, table) not in self._lost and manifest.is_in(key, batch, table)
                for batch in batches
            )
        )

    def append(self, lines: Sequence[dict[str, object]]) -> None:
        """Append lines that name no files. Raises OSError."""
        self._writer.append(lines)

    def publish(self, batch: str, units: Sequence[UnitOutcome], files: Sequence[LakeFile]) -> bool:
        """Make a batch part of the lake; False, without a change, if the lake has some of it.

        units: those with rows. Raises OSError.
        """
        with self.lake.publishing():
            self.lake.read()
            if any(set(self.present(unit.key)) & set(unit.rows) for unit in units):
                return False
            self._writer.append(
                [*(unit_line(unit, self.id, batch) for unit in units), files_line(batch, files)]
            )
            for file in files:
                self._rename(file)
        return True

    def replace(
        self, file: LakeFile, replaces: Sequence[LakeFile], dropped: Collection[str] = ()
    ) -> bool:
        """Put one file in the place of others; False, without a change, if one is replaced already.

        dropped: the keys whose rows the file leaves out. Readers of the manifest see the one or the
        others. Readers of the folder never see both: the others go first. Raises OSError.
        """
        with self.lake.publishing():
            replaced = self.lake.read().replaced
            if any(one.path in replaced for one in replaces):
                return False
            self._writer.append([compact_line(file, [one.path for one in replaces], dropped)])
            for one in replaces:
                self._remove(one)
            self._rename(file)
        return True

    def recover(self) -> None:
        """Finish what killed processes published, and remove what they did not. Raises OSError."""
        with self.lake.publishing():
            manifest = self.lake.read()
            for path in manifest.replaced:
                if manifest.path_of(path) in manifest.files and path in manifest.files:
                    self._remove(manifest.files[path])
            self._finish()
            self._lost = self.lake.lost()
        for entry in os.listdir(self._parts):
            if entry == self.id + _OWNER or not entry.endswith(_OWNER):
                continue
            owner = OwnedLock.take(os.path.join(self._parts, entry))
            self.has_company |= owner is None
            if owner is not None:
                _remove_parts(os.path.join(self._parts, entry.removesuffix(_OWNER)), owner)

    def close(self) -> None:
        """End, also after Ctrl+C in the middle of `publish`: remove the temporary folder."""
        self._writer.close()
        with contextlib.suppress(OSError, UnusableLake), self.lake.publishing():
            self._finish()
        _remove_parts(self.folder, self._owner)

    def _finish(self) -> None:
        """Rename files of the manifest that are not in their places yet. Raises OSError."""
        for file in self.lake.read().live_files():
            if not os.path.exists(os.path.join(self.lake.path, file.path)):
                self._rename(file)

    def _rename(self, file: LakeFile) -> None:
        source, target = (os.path.join(self.lake.path, one) for one in (file.part, file.path))
        with contextlib.suppress(FileNotFoundError):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.replace(source, target)

    def _remove(self, file: LakeFile) -> None:
        for path in (file.path, file.part):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.lake.path, path))


def _remove_parts(folder: str, owner: OwnedLock) -> None:
    """Remove the temporary folder of a build that ended, and its lock.

    Workers that lost their scheduler still write there. They open files by path, so the folder gets
    another name first. What cannot be removed keeps its lock file: the next session tries again.
    """
    ended = folder + _ENDED
    with contextlib.suppress(OSError):  # missing, or Windows with an open file in it
        os.rename(folder, ended)
    for path in (ended, folder):
        shutil.rmtree(path, ignore_errors=True)
    if os.path.exists(ended) or os.path.exists(folder):
        owner.release()
    else:
        owner.remove()
