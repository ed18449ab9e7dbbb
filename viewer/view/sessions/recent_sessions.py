"""The most recent sessions, stored automatically in a folder. No Qt.

Everything that closes the open files stores them here first, so that unsaved bookmarks are not
lost. The newest is `last.opscope`, the ones before it `last-2.opscope` and so on. A session
replaces an older one with the same files and the same work. Beyond ten, sessions without any work
are deleted first, then others, each oldest first. A lock lets one program at a time rename the
files. `last-new.opscope` is a session that a killed program was about to add; it counts as the
newest.

Each window also saves its session while it is open, in `autosave-<16 hex digits>.opscope` in the
settings folder. Next to it, a lock file with the same name shows whether the window's program is
alive. Both disappear when the window closes. So a session without a living owner is what a crash
left.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator

import msgspec

from viewer.codecs.atomic_file import OwnedLock, locked, sync_folder, write_whole
from viewer.codecs.reading import UnreadableFile
from viewer.dataclasses import dataclass
from viewer.view.sessions.session_file import (
    SUFFIX,
    SavedBookmark,
    SavedSession,
    SavedTracks,
    SavedView,
    encoded,
    read,
)

MOST = 10
_LAST, _NEW = "last", "last-new"
_LOCK = "last.lock"
# Another program holds the lock for about 20 ms. One that is stopped holds it until it continues.
_PATIENCE = 2.0  # seconds


@dataclass(frozen=True, slots=True)
class UnsavedWork:
    """The user's work in a session that is in none of their files.

    Bookmarks and notes, the order and heights of tracks and of the strips of clock groups, the
    moments at which these are aligned, tracks and charts of queries, links and clocks; not the
    visible range, folding or selection. Two values with the same files and the same work are equal.
    """

    files: tuple[str, ...]
    bookmarks: tuple[SavedBookmark, ...]
    tracks: SavedTracks
    choices: tuple[object, ...]
    source_paths: tuple[object, ...]
    strips: tuple[object, ...] = ()
    queries: tuple[object, ...] = ()

    @property
    def is_any(self) -> bool:
        """Whether anything was done besides opening files; source paths are stored elsewhere."""
        arranged = self.tracks != SavedTracks(order=self.tracks.order)
        return bool(
            self.bookmarks or arranged or any(self.choices) or any(self.strips) or self.queries
        )


_NO_WORK = UnsavedWork((), (), SavedTracks(), (), ())


def work_of(saved: SavedSession) -> UnsavedWork:
    """Return the work in a session."""
    view, saved_choices = saved.view, saved.choices
    tracks = SavedTracks() if view is None else view.tracks
    return UnsavedWork(
        tuple(saved_input.absolute or saved_input.path for saved_input in saved.inputs),
        () if view is None else view.bookmarks,
        msgspec.structs.replace(tracks, folded=(), filter=""),
        (
            saved_choices.links,
            saved_choices.methods,
            saved_choices.inferences,
            saved_choices.columns,
            saved_choices.clocks,
        ),
        saved_choices.source_paths,
        () if view is None else _work_on_strips(view),
        () if view is None else (*view.derived, *view.charts),
    )


def _work_on_strips(view: SavedView) -> tuple[object, ...]:
    """Return the order and heights of the strips, and the anchors of their alignment."""
    anchors = [
        (saved_clock.input, saved_clock.tie.anchor_ns)
        for saved_clock in view.clocks
        if saved_clock.tie
    ]
    return (
        view.strips,
        tuple(
            (saved_clock.input, saved_clock.height)
            for saved_clock in view.clocks
            if saved_clock.height is not None
        ),
        tuple(anchor for anchor in anchors if anchor[1] is not None),
    )


class RecentSessions:
    """The stored sessions in a folder. Any of them may be missing or damaged at any time."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.newest = self._path(1)

    def _path(self, number: int) -> str:
        """The path of a session; 1 is the newest, 0 one that is being added."""
        name = _NEW if number == 0 else _LAST if number == 1 else f"{_LAST}-{number}"
        return os.path.join(self.folder, name + SUFFIX)

    def _numbers(self) -> list[int]:
        return [n for n in range(1, MOST + 1) if os.path.isfile(self._path(n))]

    def paths(self) -> list[str]:
        """Return the existing ones, newest first."""
        return [self._path(number) for number in self._numbers()]

    def owns(self, path: str) -> bool:
        """Whether a path is that of a stored session, which may have been renamed or deleted."""
        return path in map(self._path, range(MOST + 1))

    def keep(self, saved: SavedSession, when: float | None = None) -> None:
        """Add a session as the newest. Raises OSError; stored sessions are not lost then.

        when: the time of its last change, in seconds since 1970; now by default.
        """
        os.makedirs(self.folder, exist_ok=True)
        with locked(os.path.join(self.folder, _LOCK), _PATIENCE):
            new = self._path(0)
            if os.path.isfile(new):
                self._add_new()  # a program was killed before it did
            write_whole(new, encoded(saved), is_private=True)
            if when is not None:
                os.utime(new, (when, when))
            self._add_new()
        sync_folder(self.folder)

    def _add_new(self) -> None:
        """Make session 0 the newest, by renaming the others and deleting what is too much."""
        work, existing = self.work(self._path(0)), self._numbers()
        work_of_number = {number: self.work(self._path(number)) for number in existing}
        remaining = [n for n in existing if work is None or work_of_number[n] != work]
        idle = [n for n in reversed(remaining) if not (work_of_number[n] or _NO_WORK).is_any]
        spare = [*idle, *(n for n in reversed(remaining) if n not in idle)]
        for number in spare[: max(len(remaining) - (MOST - 1), 0)]:
            remaining.remove(number)
        for number in set(existing) - set(remaining):
            os.unlink(self._path(number))
        # Oldest first, so that none overwrites one that has not moved yet.
        for place, number in reversed(list(enumerate(remaining, 2))):
            if place > number:
                os.replace(self._path(number), self._path(place))
        os.replace(self._path(0), self.newest)

    def work(self, path: str) -> UnsavedWork | None:
        """Return the work in a stored session, None if it cannot be read."""
        try:
            return work_of(read(path))
        except UnreadableFile:
            return None


_PREFIX, _OWNER = "autosave-", ".lock"
_NAME = re.compile(rf"({_PREFIX}[0-9a-f]{{16}})({re.escape(_OWNER)}|{re.escape(SUFFIX)})")


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
            stem = os.path.join(self.folder, f"{_PREFIX}{os.urandom(8).hex()}")
            self._owned, self._path = OwnedLock.take(stem + _OWNER), stem + SUFFIX


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
                left_session = LeftSession(read(path), os.path.getmtime(path))
            except (UnreadableFile, OSError):
                if os.path.exists(path):  # of a later version, perhaps
                    lock.release()
                else:
                    lock.remove()
                continue
            taken.append((left_session, path, lock))
            releases.callback(lock.release)
        recent = RecentSessions(folder)
        for left_session, path, lock in sorted(taken, key=lambda each: each[0].when):
            left.append(left_session)
            with contextlib.suppress(OSError):
                recent.keep(left_session.saved, left_session.when)
                os.unlink(path)
                lock.remove()
    return left


def _dead_owners(folder: str) -> Iterator[tuple[str, OwnedLock]]:
    """Yield the paths without suffix of files that no living program owns, and their locks."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    stems = dict.fromkeys(match[1] for name in names if (match := _NAME.fullmatch(name)))
    for stem in stems:
        path = os.path.join(folder, stem)
        with contextlib.suppress(OSError):
            lock = OwnedLock.take(path + _OWNER)
            if lock is not None:
                yield path, lock
