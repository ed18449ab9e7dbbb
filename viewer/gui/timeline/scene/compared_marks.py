"""The marks of a comparison on slices: bars where a row changed, and what only one arm has.

They follow the comparison, not the selection. Up to 20,000 slices they are found immediately; above
that, in a thread. `pairs` connects the typical inferences of both arms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from PySide6.QtCore import QObject, Signal, Slot

from viewer.gui.qt.background import Latest
from viewer.gui.session.session import Session
from viewer.gui.session.tracks import shown_clocks
from viewer.model.inferences.inference_views import Inferences
from viewer.render.raster import RowRaster
from viewer.view.open_trace import AT_ONCE, OpenTrace

if TYPE_CHECKING:
    from viewer.view.compared.changed_pairs import ChangedPairs
    from viewer.view.compared.open_comparison import OpenComparison


SLOWER, FASTER = 1, 2  # palette indexes of the bars


@dataclass(frozen=True, eq=False, slots=True)
class TraceMarks:
    """The marks on one trace.

    is_b: whether it belongs to arm B, where bars are above their slices. bars: the changed slices,
    colored SLOWER or FASTER. alone: those that only its arm has. None if there are none.
    """

    is_b: bool
    bars: RowRaster | None
    alone: RowRaster | None

    @property
    def rasters(self) -> tuple[RowRaster, ...]:
        """Those that there are: first `alone`, because bars are drawn over it."""
        return tuple(row_raster for row_raster in (self.alone, self.bars) if row_raster is not None)


@dataclass(frozen=True, eq=False, slots=True)
class FoundMarks:
    """The marks of traces, by their number, and the changed pairs of rows of a comparison."""

    of: Mapping[int, TraceMarks]
    pairs: ChangedPairs | None
    comparison: OpenComparison | None = None


# The comparison, and the traces that are shown: numbers and identities.
_Question: TypeAlias = "tuple[OpenComparison | None, tuple[tuple[int, int], ...]]"
NO_MARKS = FoundMarks({}, None)


class ComparedMarks(QObject):
    """Finds the marks whenever the comparison or the strips change."""

    changed = Signal()

    def __init__(self, session: Session) -> None:
        from viewer.gui.session.feeds.comparison import ComparisonFeed

        super().__init__(session)
        self._session = session
        self._feed = ComparisonFeed.of(session)
        self.answer = NO_MARKS
        self._asked: _Question | None = None
        self._latest = Latest(self)
        self._latest.answered.connect(self._take)
        for signal in (self._feed.changed, session.strips_changed, session.workspace_changed):
            signal.connect(self._follow)

    @property
    def comparison(self) -> OpenComparison | None:
        """The comparison whose marks are shown, None without one."""
        return self.answer.comparison

    @property
    def pending(self) -> bool:
        """Whether the marks are still being found."""
        return self._latest.pending

    @Slot()
    def _follow(self) -> None:
        session = self._session
        as_run = session.state.inferences is Inferences.AS_RUN
        open_comparison = self._feed.in_tables if as_run else None
        keys = set(shown_clocks(session))
        numbered = [
            (number, open_trace)
            for number, open_trace in enumerate(session.traces)
            if session.groups.of(number).key in keys
        ]
        question: _Question = (
            open_comparison,
            tuple((number, id(open_trace.trace)) for number, open_trace in numbered),
        )
        if open_comparison is None:
            self._asked = None
            self._latest.cancel()
            self._take(NO_MARKS)
        elif question != self._asked:
            if self._asked is None or question[1] != self._asked[1]:
                self._take(NO_MARKS)  # traces may have other numbers now
            self._asked = question
            size = sum(len(open_trace.trace.slices) for _, open_trace in numbered)
            self._latest.ask(size <= AT_ONCE, found_marks, open_comparison, numbered)

    @Slot(object)
    def _take(self, answer: FoundMarks) -> None:
        if answer is not self.answer:
            self.answer = answer
            self.changed.emit()


def found_marks(
    open_comparison: OpenComparison, numbered: Sequence[tuple[int, OpenTrace]]
) -> FoundMarks:
    """Return the marks on some traces, given with their numbers; a pure function."""
    from viewer.analysis.comparison.comparison import Verdict
    from viewer.analysis.comparison.slice_rows import outermost
    from viewer.view.compared.changed_pairs import changed_pairs, changed_rows, rows_of_one_arm

    traces = {open_trace.file.path: (number, open_trace) for number, open_trace in numbered}
    of: dict[int, TraceMarks] = {}
    color = np.zeros(len(open_comparison.rows), np.uint8)
    for row in changed_rows(open_comparison):
        is_slower = open_comparison.rows[row][1].verdict is Verdict.SLOWER
        color[row] = SLOWER if is_slower else FASTER
    changed, alone = changed_rows(open_comparison), rows_of_one_arm(open_comparison)
    for number, open_trace in numbered:
        row_of, side = (
            open_comparison.rows_of_slices(open_trace.file.path),
            open_comparison.side_of(open_trace.file.path),
        )
        if row_of is None or len(row_of) != len(open_trace.trace.slices):
            continue
        rasters = []
        for rows in (changed, alone):
            indices = outermost(open_trace.trace, row_of, rows)
            colors = np.append(color, 0)[row_of].astype(np.uint8)
            rasters.append(
                RowRaster.subset(open_trace.trace.slices, colors, indices) if len(indices) else None
            )
        of[number] = TraceMarks(side == 1, *rasters)
    return FoundMarks(of, changed_pairs(open_comparison, traces), open_comparison)
