"""The change of each source line while two arms are compared.

A line sums the operators on it, and has a verdict of its own. The comparison by line is computed
off the GUI thread if it is large. Time that several lines share is never divided: it has brackets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal, Slot

from viewer.analysis.comparison.arms import Arm
from viewer.analysis.comparison.comparison import Comparison
from viewer.analysis.comparison.rollups import LINE
from viewer.gui.qt.background import Latest
from viewer.gui.session.feeds.comparison import ComparisonFeed
from viewer.gui.session.session import Session
from viewer.model.text import display_name
from viewer.model.times import format_time
from viewer.reports.compare_text import change_text, difference_text, row_sentence
from viewer.view.open_comparison import OpenComparison

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
        found, lines, number = self._found, self._lines, self._session.current_trace
        if found is None or lines is None:
            return None
        current = None if number is None else self._session.traces[number].file.path
        return changes_of(lines, (found.side_of(current) or 0) if current else 0, path)

    @Slot()
    def _follow(self) -> None:
        found = self._feed.in_tables
        is_linked = found is not None and all(found.program(side) is not None for side in (0, 1))
        if found is None or not is_linked:
            self._latest.cancel()
            self._found = None
            self._take(None)
        elif found is not self._found:
            self._found = found
            self._latest.ask(len(found.rows) <= _ROWS_AT_ONCE, by_line, found)

    @Slot(object)
    def _take(self, lines: Comparison | None) -> None:
        if lines is not self._lines:
            self._lines = lines
            self.changed.emit()


def by_line(found: OpenComparison) -> Comparison:
    """Return a comparison by line with its figures; a pure function."""
    lines = found.at(LINE)
    _ = lines.compared
    return lines


def changes_of(lines: Comparison, side: int, path: str) -> dict[int, LineChange]:
    """Return the changes of the lines of a file, by line. side: 0 for the file of A, 1 for B."""
    start = f"{display_name(path)}:"
    arm = lines.b if side else lines.a
    found: dict[int, LineChange] = {}
    for row, one in zip(lines.rows, lines.compared, strict=True):
        for number in _lines_of(arm, row.b if side else row.a, start):
            found[number] = LineChange(
                _time(one.a_ns),
                _time(one.b_ns),
                difference_text(round(one.change_ns)),
                change_text(one),
                one.verdict.value,
                row_sentence(row, one),
            )
    return found


def _time(ns: float | None) -> str:
    return "" if ns is None else format_time(round(ns))


def _lines_of(arm: Arm, parts: Sequence[int], start: str) -> list[int]:
    """The lines in a file of the groups that are one line each."""
    groups = [arm.parts[part].id.group for part in parts]
    keys = [group[0] for group in groups if len(group) == 1]
    ends = [key[len(start) :] for key in keys if key.startswith(start)]
    return [int(end) for end in ends if end.isdecimal()]
