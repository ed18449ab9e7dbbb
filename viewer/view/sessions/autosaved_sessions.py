"""Sessions that are saved while they are open, and those that a crash left behind. No Qt.

Each window has a file of its own, `autosave-<16 hex digits>.opscope`, in the settings folder. Next
to it, a lock file with the same name shows whether the window's program is alive. Both disappear
when the window closes, as its session is then a recent one. So a session without a living owner is
what a crash left: `take_left` moves it to the recent sessions, for one program only.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from viewer.codecs.atomic_file import write_whole
from viewer.codecs.file_lock import OwnedLock
from viewer.codecs.reading import UnreadableFile
from viewer.view.sessions.recent_sessions import RecentSessions
from viewer.view.sessions.session_file import SUFFIX, SavedSession, encoded, read

_PREFIX, _LOCK = "autosave-", ".lock"
_NAME = re.compile(rf"({_PREFIX}[0-9a-f]{{16}})({re.escape(_LOCK)}|{re.escape(SUFFIX)})")


class AutosavedSession:
    """The session file of one window while it is open. Every method may be called in any thread.

    Its path and lock exist only while there is something to restore.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._mutex = threading.Lock()
        self._owned: OwnedLock | None = None
        self._path = ""
        self._written = b""
        self._latest = 0

    @property
    def path(self) -> str:
        """The file, "" while there is none."""
        return self._path

    def write(self, saved: SavedSession, number: int) -> bool:
        """Save a session; False if it is already saved. Raises OSError.

        number: increases with each session; an older one than the last is not written.
        """
        data = encoded(saved)
        with self._mutex:
            if number <= self._latest:
                return False
            self._latest = number
            if self._owned is not None and data == self._written:
                return False
            if self._owned is None:
                self._claim()
            write_whole(self._path, data, is_private=True)
            self._written = data
            return True

    def remove(self, number: int) -> None:
        """Delete the file, since its session is empty or was kept; `number` as for `write`."""
        with self._mutex:
            self._latest = max(self._latest, number)
            if self._owned is not None:
                with contextlib.suppress(OSError):
                    os.unlink(self._path)
                self._owned.remove()
            self._owned, self._path, self._written = None, "", b""

    def _claim(self) -> None:
        os.makedirs(self.folder, exist_ok=True)
        while self._owned is None:  # another program may look at the new lock at this moment
            stem = os.path.join(self.folder, f"{_PREFIX}{secrets.token_hex(8)}")
            self._owned, self._path = OwnedLock.take(stem + _LOCK), stem + SUFFIX


@dataclass(frozen=True, slots=True)
class LeftSession:
    """A session that a crash left; when: the time it was saved, in seconds since 1970."""

    saved: SavedSession
    when: float


def take_left(folder: str) -> list[LeftSession]:
    """Return the sessions that crashed programs left in a folder, oldest first.

    They become recent sessions, so that they are returned once and still not lost. One that cannot
    be kept, as the disk is full, is returned at the next start, too. One that a later version wrote
    is left alone.
    """
    left: list[LeftSession] = []
    with contextlib.ExitStack() as releases:
        taken: list[tuple[LeftSession, str, OwnedLock]] = []
        for stem, lock in _dead_owners(folder):
            path = stem + SUFFIX
            try:
                one = LeftSession(read(path), os.path.getmtime(path))
            except (UnreadableFile, OSError):
                if os.path.exists(path):  # of a later version, perhaps
                    lock.release()
                else:
                    lock.remove()
                continue
            taken.append((one, path, lock))
            releases.callback(lock.release)
        recent = RecentSessions(folder)
        for one, path, lock in sorted(taken, key=lambda each: each[0].when):
            left.append(one)
            with contextlib.suppress(OSError):
                recent.keep(one.saved, one.when)
                os.unlink(path)
                lock.remove()
    return left


def _dead_owners(folder: str) -> Iterator[tuple[str, OwnedLock]]:
    """Yield the paths without suffix of files that no living program owns, and their locks."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    stems = dict.fromkeys(found[1] for name in names if (found := _NAME.fullmatch(name)))
    for stem in stems:
        path = os.path.join(folder, stem)
        with contextlib.suppress(OSError):
            lock = OwnedLock.take(path + _LOCK)
            if lock is not None:
                yield path, lock
