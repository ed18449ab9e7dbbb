"""Compares the chosen arms once for all panels.

The comparison follows the arms of the view state, the open files, their links and their clocks. It
is computed off the GUI thread if the profiles are large.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from PySide6.QtCore import Slot

from viewer.analysis.links.link_table import LinkTable
from viewer.gui.qt.background import Latest
from viewer.gui.session.feeds.feed import Feed
from viewer.gui.session.session import Session
from viewer.view.compared_arms import ChosenArm, ComparedArms
from viewer.view.open_trace import AT_ONCE
from viewer.workspace.workspace import Workspace

if TYPE_CHECKING:
    from viewer.view.compared.open_comparison import OpenComparison


# The arms, and the links and the rate of each of their profiles.
ComparisonQuestion = tuple[ComparedArms, tuple[tuple[LinkTable, Fraction], ...]]


class ComparisonFeed(Feed[ComparisonQuestion, "OpenComparison"]):
    """The comparison of the chosen arms; no answer if none are chosen, or an arm is closed."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._arranged: tuple[ChosenArm, ChosenArm] | None = None
        self._drifting = Latest(self)
        self._drifting.answered.connect(self._take_drifts)
        session.workspace_changed.connect(self._follow)
        session.workspace_changed.connect(self._stretch)
        session.strips_changed.connect(self._stretch)
        session.compared.connect(self._follow_arms)
        self._follow()

    @Slot()
    def _follow_arms(self) -> None:
        if self._session.state.compared is None:
            self._arranged = None
        before = self.answer
        self._follow()
        self._stretch()
        if self.answer is before and before is not None and not self.pending:
            self.changed.emit()  # panels show it, or no longer do

    def _question(self) -> ComparisonQuestion | None:
        space, chosen = self._session.workspace, self._session.state.compared
        arms = None if chosen is None else chosen.among(frozenset(t.path for t in space.traces))
        if arms is None:
            return None
        # What the panels show does not change the comparison.
        return replace(arms, in_tables=True, stretched=False), tuple(
            (space.links(trace), space.clocks.ns_per_tick(trace))
            for trace in space.traces
            if trace.path in arms.paths
        )

    def _ask(self, question: ComparisonQuestion) -> None:
        arms, links = question
        size = sum(len(table.trace.slices) for table, _ in links)
        self._latest.ask(size <= AT_ONCE, compared, self._session.workspace, arms)

    @Slot(object)
    def _take(self, open_comparison: OpenComparison) -> None:
        """Show the typical inferences of other arms side by side, then the comparison."""
        from viewer.view.compared.side_by_side import side_by_side

        if open_comparison.problem:
            self._arranged = None
        elif (open_comparison.chosen.a, open_comparison.chosen.b) != self._arranged:
            self._arranged = open_comparison.chosen.a, open_comparison.chosen.b
            session = self._session
            view_state = side_by_side(
                session.state, session.groups, session.traces, open_comparison
            )
            session.change(view_state, remember=False)
        super()._take(open_comparison)
        self._stretch()
        if not open_comparison.problem:
            self._drifting.ask(open_comparison.size <= AT_ONCE, drifts_of, open_comparison)

    @Slot(object)
    def _take_drifts(self, answer: tuple[OpenComparison, bool]) -> None:
        """Show the drift within sessions where it is larger than the change."""
        if answer[1] and answer[0] is self.answer:
            self.changed.emit()

    @Slot()
    def _stretch(self) -> None:
        """Give the strips of the arms the gaps that they should have."""
        session, open_comparison = self._session, self.answer
        if open_comparison is not None and not open_comparison.problem and not self.pending:
            from viewer.view.compared.side_by_side import stretched

            view_state = stretched(session.state, session.groups, session.traces, open_comparison)
            session.change(view_state, remember=False)

    @property
    def in_tables(self) -> OpenComparison | None:
        """The comparison if panels show its changes, else None."""
        chosen, open_comparison = self._session.state.compared, self.answer
        is_shown = chosen is not None and chosen.in_tables
        return (
            open_comparison
            if is_shown and open_comparison is not None and not open_comparison.problem
            else None
        )


def drifts_of(open_comparison: OpenComparison) -> tuple[OpenComparison, bool]:
    """Compute the drifts of a comparison, which takes as long as the comparison itself.

    Returns it, and whether a drift is larger than the change.
    """
    from viewer.analysis.comparison.arms import drift_exceeds

    calls = open_comparison.calls
    changes = [call.change for call in (*calls.compared, calls.inference)]
    drifts = (*calls.drifts, calls.inference_drift)
    return open_comparison, any(map(drift_exceeds, drifts, changes))


def compared(space: Workspace, arms: ComparedArms) -> OpenComparison:
    """Return a comparison with everything computed that the first picture needs."""
    from viewer.analysis.comparison.levels import CALLS
    from viewer.view.compared.open_comparison import OpenComparison

    open_comparison = OpenComparison(space, arms)
    if open_comparison.problem:
        return open_comparison
    for side in (0, 1):
        typical = open_comparison.typical(side)
        if typical is not None:
            # 0.1 s for a million slices, cached for what shows and selects them.
            open_comparison.slices_of_rows(typical[0], (), typical[1], CALLS)
    _ = open_comparison.operators.order  # 50 ms for 10,000 rows
    _ = open_comparison.gaps
    return open_comparison
