"""The change of each source line while two arms are compared.

A line sums the operators on it, and has a verdict of its own. The comparison by line is computed
off the GUI thread if it is large. Time that several lines share, in one arm or through the calls of
the other, is never divided: it has brackets and one change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal, Slot

from viewer.analysis.comparison.comparison import Compared, Comparison
from viewer.analysis.comparison.joined import Row
from viewer.analysis.comparison.levels import LINE
from viewer.gui.qt.background import Latest
from viewer.gui.session.feeds.comparison import ComparisonFeed
from viewer.gui.session.session import Session
from viewer.model.text import display_name
from viewer.reports.compare_text import change_ns_text, change_text, median_text, row_sentence
from viewer.view.compared.open_comparison import OpenComparison

# With more rows by call, the comparison by line takes more than 50 ms.
_ROWS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class LineChange:
    """The gutter texts of a line: the times of both arms, the change, and what is known about it.

    verdict: the value of a `Verdict`. detail: a sentence for the tooltip.
    """

    a: str
    b: str
    change: str
    ratio: str
    verdict: str
    detail: str


@dataclass(frozen=True, slots=True)
class SharedChange:
    """The change of time that several lines share.

    lines: those in the file, ascending. elsewhere: whether others are in other files. operators: of
    these lines, in the program of the arm.
    """

    lines: tuple[int, ...]
    elsewhere: bool
    operators: frozenset[int]
    change: LineChange


class ComparedLines(QObject):
    """Emits `changed` when other lines have changes."""

    changed = Signal()

    def __init__(self, session: Session, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self._feed = ComparisonFeed.of(session)
        self._found: OpenComparison | None = None
        self._lines: Comparison | None = None
        self._latest = Latest(self)
        self._latest.answered.connect(self._take)
        self._feed.changed.connect(self._follow)
        self._follow()

    @property
    def title(self) -> str:
        """What stands above the changes, "" if there are none."""
        return "" if self._lines is None else "  A, B, change"

    def of(self, path: str) -> Mapping[int, LineChange] | None:
        """Return the changes of the lines of a recorded file, by line; None without a comparison.

        Lines are those of the arm of the current trace.
        """
        lines = self._lines
        return None if lines is None else changes_of(lines, self._side, path)

    def shared(self, path: str) -> tuple[SharedChange, ...]:
        """Return the changes of shared time in the same file, the largest first."""
        return () if self._lines is None else shared_changes_of(self._lines, self._side, path)

    @property
    def _side(self) -> int:
        number = self._session.current_trace
        if self._found is None or number is None:
            return 0
        return self._found.side_of(self._session.traces[number].file.path) or 0

    @Slot()
    def _follow(self) -> None:
        open_comparison = self._feed.in_tables
        is_linked = open_comparison is not None and all(
            open_comparison.program(side) is not None for side in (0, 1)
        )
        if open_comparison is None or not is_linked:
            self._latest.cancel()
            self._found = None
            self._take(None)
        elif open_comparison is not self._found:
            self._found = open_comparison
            self._latest.ask(len(open_comparison.rows) <= _ROWS_AT_ONCE, by_line, open_comparison)

    @Slot(object)
    def _take(self, lines: Comparison | None) -> None:
        if lines is not self._lines:
            self._lines = lines
            self.changed.emit()


def by_line(open_comparison: OpenComparison) -> Comparison:
    """Return a comparison by line with its figures; a pure function."""
    lines = open_comparison.at(LINE)
    _ = lines.compared
    return lines


def changes_of(lines: Comparison, side: int, path: str) -> dict[int, LineChange]:
    """Return the changes of the lines of a file, by line. side: 0 for the file of A, 1 for B.

    Lines that share their time have none of their own.
    """
    changes: dict[int, LineChange] = {}
    for row, compared in zip(lines.rows, lines.compared, strict=True):
        places = _places(lines, side, row)
        if len(places) == 1 and (number := _line_in(path, places[0])):
            changes[number] = _change(row, compared)
    return changes


def shared_changes_of(lines: Comparison, side: int, path: str) -> tuple[SharedChange, ...]:
    """Return the changes of time that several lines share, the largest first."""
    arm = lines.b if side else lines.a
    changes: list[tuple[float, SharedChange]] = []
    for row, compared in zip(lines.rows, lines.compared, strict=True):
        places = _places(lines, side, row)
        own_lines = tuple(sorted(filter(None, (_line_in(path, place) for place in places))))
        if len(places) > 1 and own_lines:
            parts = row.b if side else row.a
            operators = frozenset(i for part in parts for i in arm.parts[part].operators)
            change = SharedChange(
                own_lines, len(own_lines) < len(places), operators, _change(row, compared)
            )
            changes.append((abs(compared.change_ns), change))
    return tuple(change for _, change in sorted(changes, key=lambda each: -each[0]))


def _change(row: Row, compared: Compared) -> LineChange:
    return LineChange(
        median_text(compared.a_ns),
        median_text(compared.b_ns),
        change_ns_text(compared),
        change_text(compared),
        compared.verdict.value,
        row_sentence(row, compared),
    )


def _places(lines: Comparison, side: int, row: Row) -> list[str]:
    """The lines of a side of a row: "model.py:28"."""
    arm, parts = (lines.b, row.b) if side else (lines.a, row.a)
    return list(dict.fromkeys(place for part in parts for place in arm.parts[part].id.group))


def _line_in(path: str, place: str) -> int:
    """The number of a line in a file, 0 for one in another file."""
    start = f"{display_name(path)}:"
    end = place[len(start) :]
    return int(end) if place.startswith(start) and end.isdecimal() else 0
