"""The source lines in a report: which files there are, and which lines operators come from."""

from __future__ import annotations

from collections.abc import Iterable

Place = tuple[str, int]


class Places:
    """Numbers files and sets of lines, so that slices, rows and lines can name them.

    files: recorded paths, by number. sets: (file, line) pairs, by number.
    """

    def __init__(self) -> None:
        self._files: dict[str, int] = {}
        self._sets: dict[tuple[tuple[int, int], ...], int] = {}

    @property
    def files(self) -> list[str]:
        """The recorded paths, by number."""
        return list(self._files)

    @property
    def sets(self) -> list[list[tuple[int, int]]]:
        """The sets of (file, line), by number."""
        return [list(own) for own in self._sets]

    def file(self, path: str) -> int:
        """Return the number of a file."""
        return self._files.setdefault(path, len(self._files))

    def number(self, places: Iterable[Place | None]) -> int:
        """Return the number of a set of lines, -1 for none."""
        known = sorted({(self.file(place[0]), place[1]) for place in places if place})
        return self._sets.setdefault(tuple(known), len(self._sets)) if known else -1
