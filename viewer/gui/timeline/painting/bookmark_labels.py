"""Where the names of marks stand: beside their flags where there is room, else counted together.

Pure. Marks come by time; a name may take the room up to the next mark that is drawn. Where a name
would have too little, the mark joins those after it as "3 marks", so that texts never overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viewer.view.state import Bookmark

LEAST_ROOM = 34  # px: three letters and a flag
LONGEST = 200  # characters of a name or note that are looked at


@dataclass(frozen=True, slots=True)
class BookmarkFlag:
    """One flag: its x, how much room there is on its right, and the marks that it stands for."""

    x: float
    room: float
    marks: tuple[int, ...]


def flags(x: Sequence[float], width: float, current: int | None = None) -> list[BookmarkFlag]:
    """The flags of marks at some x, from the left; those outside [0, width) have none.

    A mark that begins less than `LEAST_ROOM` after the flag before joins it. The current mark is
    the first of its flag, so that its name is told.
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
        BookmarkFlag(at, end - at, tuple(sorted(own, key=lambda number: number != current)))
        for (at, own), end in zip(groups, ends, strict=True)
    ]


def title(mark: Bookmark, number: int) -> str:
    """What a mark is called: its name, or its number where it has none."""
    return mark.name[:LONGEST] or f"mark {number + 1}"
