"""The last sessions that were open, kept in a folder though nobody saved them under a name. No Qt.

Whatever takes away what is open writes it here first, so that no mark is lost for want of a name.
The newest is `last.opscope`, the ones before it `last-2.opscope` and so on. A session with the same
files and the same work as the new one is replaced by it; of more than ten those go first in which
nothing was done but opening files, and of these the oldest.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import msgspec

from viewer.codecs.atomic_file import write_whole
from viewer.codecs.reading import UnreadableFile
from viewer.view.session_file import SUFFIX, SavedBookmark, SavedSession, SavedTracks, encoded, read

MOST = 10
_LAST, _NEW = "last", "last-new"


@dataclass(frozen=True, slots=True)
class UnsavedWork:
    """What somebody did to the files of a session that no file of theirs holds: marks and notes,
    the order and heights of tracks, links and clocks. Where one looks and what is folded or
    selected is not among it. Two of the same files with the same work are equal."""

    files: tuple[str, ...]
    marks: tuple[SavedBookmark, ...]
    tracks: SavedTracks
    choices: tuple[object, ...]
    source_paths: tuple[object, ...]

    @property
    def is_any(self) -> bool:
        """Whether anything was done but opening files. Source paths are remembered elsewhere."""
        arranged = self.tracks != SavedTracks(order=self.tracks.order)
        return bool(self.marks or arranged or any(self.choices))


_NO_WORK = UnsavedWork((), (), SavedTracks(), (), ())


def work_of(saved: SavedSession) -> UnsavedWork:
    """The work in a session."""
    view, made = saved.view, saved.choices
    tracks = SavedTracks() if view is None else view.tracks
    return UnsavedWork(
        tuple(one.absolute or one.path for one in saved.inputs),
        () if view is None else view.marks,
        msgspec.structs.replace(tracks, folded=(), filter=""),
        (made.links, made.methods, made.columns, made.clocks),
        made.source_paths,
    )


class RecentSessions:
    """The kept sessions of a folder. Any of them may be gone or damaged at any time."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.newest = self._path(1)

    def _path(self, number: int) -> str:
        name = _LAST if number == 1 else f"{_LAST}-{number}"
        return os.path.join(self.folder, name + SUFFIX)

    def _numbers(self) -> list[int]:
        return [n for n in range(1, MOST + 1) if os.path.isfile(self._path(n))]

    def paths(self) -> list[str]:
        """Those that are there, newest first."""
        return [self._path(number) for number in self._numbers()]

    def keep(self, saved: SavedSession) -> None:
        """Add a session as the newest. Raises OSError; those that were kept are not lost then."""
        os.makedirs(self.folder, exist_ok=True)
        new = os.path.join(self.folder, _NEW + SUFFIX)
        write_whole(new, encoded(saved))
        own, there = work_of(saved), self._numbers()
        works = {number: self.work(self._path(number)) for number in there}
        kept = [number for number in there if works[number] != own]
        idle = [n for n in reversed(kept) if not (works[n] or _NO_WORK).is_any]
        spare = [*idle, *(n for n in reversed(kept) if n not in idle)]
        for number in spare[: max(len(kept) - (MOST - 1), 0)]:
            kept.remove(number)
        for number in set(there) - set(kept):
            os.unlink(self._path(number))
        # From the oldest on, so that none takes the place of one that has still to move.
        for place, number in reversed(list(enumerate(kept, 2))):
            if place > number:
                os.replace(self._path(number), self._path(place))
        os.replace(new, self.newest)

    def work(self, path: str) -> UnsavedWork | None:
        """The work in a kept session, None where it cannot be read."""
        try:
            return work_of(read(path))
        except UnreadableFile:
            return None
