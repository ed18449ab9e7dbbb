"""Places the names of bookmarks next to their flags, or groups them if there is no space.

Pure functions. Bookmarks are in order of time, and a name may extend to the next drawn flag. A
bookmark without enough space for its name is grouped with its neighbor as "3 bookmarks", so that
texts never overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viewer.view.state import Bookmark

LEAST_ROOM = 34  # px, for three letters and a flag
LONGEST = 200  # characters used of a name or note


@dataclass(frozen=True, slots=True)
class BookmarkFlag:
    """A flag: its x position, the space to its right in px, and the indices of its bookmarks."""

    x: float
    room: float
    marks: tuple[int, ...]


def flags(x: Sequence[float], width: float, current: int | None = None) -> list[BookmarkFlag]:
    """The flags of bookmarks at positions `x`, from left to right; none outside [0, width).

    A bookmark less than `LEAST_ROOM` px to the right of a flag joins it. The current bookmark comes
    first in its flag, so that its name is shown.
    """
    seen = sorted((at, number) for number, at in enumerate(x) if 0 <= at < width)
    groups: list[tuple[float, list[int]]] = []
    for at, number in seen:
        if groups and at - groups[-1][0] < LEAST_ROOM:
            groups[-1][1].append(number)
        else:
            groups.append((at, [number]))
    ends = [at for at, _ in groups[1:]] + [width] * bool(groups)
    return [
        BookmarkFlag(at, end - at, tuple(sorted(numbers, key=lambda number: number != current)))
        for (at, numbers), end in zip(groups, ends, strict=True)
    ]


def title(mark: Bookmark, number: int) -> str:
    """The name of a bookmark, or its number if it has none."""
    return mark.name[:LONGEST] or f"bookmark {number + 1}"
