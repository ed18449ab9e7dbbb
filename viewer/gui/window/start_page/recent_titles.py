"""What rows of recent files are called, so that no two of them look alike."""

from __future__ import annotations

from collections.abc import Sequence

from viewer.gui.qt.settings import RecentFiles
from viewer.model.text import display_name, distinct_names


def recent_titles(rows: Sequence[RecentFiles]) -> list[tuple[str, str]]:
    """Return per row a title, and the names of its other files.

    A comparison is called by the first file of both arms: "a.etdp + 6 → b.etdp + 6". Where titles
    are equal, names that are in no other row come first; where these are equal, too, titles have
    folders.
    """
    titles = [_title(row) for row in rows]
    names = [[display_name(path) for path in row.paths[1:]] for row in rows]
    result = []
    for number, (row, title) in enumerate(zip(rows, titles, strict=True)):
        alike = [i for i, other in enumerate(titles) if other == title and i != number]
        elsewhere = {name for i in alike for name in names[i]}
        rest = sorted(names[number], key=lambda name: name in elsewhere)
        if any(sorted(names[i]) == sorted(rest) for i in alike):
            firsts = [row.paths[0], *(rows[i].paths[0] for i in alike)]
            title = f"{distinct_names(firsts)[0]}{title.removeprefix(display_name(firsts[0]))}"
        result.append((title, " · ".join(rest)))
    return result


def _title(row: RecentFiles) -> str:
    if not row.b:
        return display_name(row.paths[0])
    first, second = distinct_names([row.a[0], row.b[0]])
    return f"{first}{_more(row.a)} → {second}{_more(row.b)}"


def _more(paths: Sequence[str]) -> str:
    return f" + {len(paths) - 1}" if len(paths) > 1 else ""
