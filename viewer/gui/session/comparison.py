"""Which arms are compared, the feed of their comparison, and the slices of a row in both.

The comparison follows the arms of the view state, the open files, their links and their clocks. It
is computed once for all panels, off the GUI thread if the profiles are large.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import Slot

from viewer.analysis.comparison.hand_pairs import keys_of_parts
from viewer.analysis.comparison.levels import CALLS
from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Ints
from viewer.dataclasses import replace
from viewer.gui.qt.background import Latest
from viewer.gui.session.choices import shown_clocks
from viewer.gui.session.feeds.feed import Feed
from viewer.gui.session.session import Session
from viewer.model.inference_views import Inferences
from viewer.model.trace import Run, Trace
from viewer.model.warm_up import counted_inferences
from viewer.view.clock_groups import ClockGroup, aligned_keys
from viewer.view.open_trace import AT_ONCE
from viewer.view.state import ChosenArm, ComparedArms, SliceRef, SliceSet
from viewer.workspace.workspace import Workspace

if TYPE_CHECKING:
    from viewer.view.open_comparison import OpenComparison


def compare_files(session: Session, paths: Collection[str]) -> str:
    """Compare the open profiles with some of them, which become arm B; returns why it cannot.

    During a comparison A stays as it is, apart from these, so that the former B does not join it.
    """
    profiles = [trace.path for trace in session.workspace.traces]
    others = [path for path in profiles if path not in paths]
    chosen = session.state.compared
    before = [path for path in others if chosen is not None and path in chosen.a.paths]
    a = tuple(before or others)
    b = tuple(path for path in profiles if path in paths)
    if not b:
        return "None of these files is a profile to compare with"
    if not a:
        return "Open other profiles first: there is nothing to compare these with"
    compare(session, ComparedArms(ChosenArm(a), ChosenArm(b)))
    return ""


def compare_inferences(session: Session, file: Trace, a: Run, b: Sequence[Run]) -> None:
    """Compare an inference of a profile with some others of it, which are of one method."""
    compare(session, ComparedArms(arm_of_runs(file, (a,)), arm_of_runs(file, b)))


def arm_of_runs(file: Trace, runs: Sequence[Run]) -> ChosenArm:
    """The arm of some inferences of one scope: by number, and by scope if there are several."""
    has_several = len({run.scope for run in file.inferences()}) > 1
    scope = file.scopes[runs[0].scope].name if has_several else ""
    return ChosenArm((file.path,), tuple(sorted({run.number for run in runs})), scope)


def other_inferences(session: Session) -> tuple[Run, ...]:
    """Return the inferences of the method of the picked one that count besides it; () if none."""
    picked = session.state.run
    if picked is None:
        return ()
    file = session.traces[picked[0]].file
    run = file.runs[picked[1]]
    every = counted_inferences(file, warm_up=False)
    of_method = (other for other in every if (other.scope, other.part) == (run.scope, run.part))
    return tuple(other for other in of_method if other.number != run.number)


def compare_with_others(session: Session) -> None:
    """Compare the picked inference, as A, with all others that count, as B."""
    picked, others = session.state.run, other_inferences(session)
    if picked is not None and others:
        file = session.traces[picked[0]].file
        compare_inferences(session, file, file.runs[picked[1]], others)


def compare(session: Session, arms: ComparedArms | None) -> None:
    """Compare two arms, whose inferences are shown as they ran; None ends it. It can be undone."""
    from viewer.view.open_comparison import without_comparison

    if arms is None:
        session.change(without_comparison(session.state))
        return
    with session.one_step():
        session.show_inferences(Inferences.AS_RUN)  # only these have the times that are aligned
        session.change(replace(session.state, compared=arms))


def letter_of(session: Session, group: ClockGroup) -> str:
    """Return "A" or "B" for a clock group whose profiles are all in one arm, else ""."""
    chosen = session.state.compared
    if chosen is None or not group.traces:
        return ""
    paths = {session.traces[number].file.path for number in group.traces}
    in_a, in_b = paths <= set(chosen.a.paths), paths <= set(chosen.b.paths)
    return "" if in_a == in_b else "A" if in_a else "B"


def joined_clocks(session: Session) -> tuple[str, str] | None:
    """Return the clock groups of A and B if their strips are one picture, else None.

    They are while only these two are shown, expanded, and aligned at one scale.
    """
    state, groups = session.state, session.groups
    keys = shown_clocks(session)
    if state.compared is None or not state.compared.in_tables or len(keys) != 2:
        return None
    if state.inferences is not Inferences.AS_RUN or state.strips.collapsed & set(keys):
        return None
    if (
        not set(keys) <= set(aligned_keys(state.ties))
        or len({state.ties[k].scale for k in keys}) > 1
    ):
        return None
    letters = [letter_of(session, groups.by_key(key)) for key in keys]
    return (keys[0], keys[1]) if letters == ["A", "B"] else None


def stretch(session: Session, open_comparison: OpenComparison, *, is_on: bool) -> None:
    """Let each paired call begin at the same place on screen, or only the inferences."""
    from viewer.view.open_comparison import is_arranged, side_by_side, stretched

    state, opened = session.state, (session.groups, session.traces, open_comparison)
    if state.compared is None:
        return
    arms = replace(state.compared, stretched=is_on)
    if is_on and not is_arranged(state):
        state = side_by_side(state, *opened)  # gaps are for this alignment
    session.change(stretched(replace(state, compared=arms), *opened))


def stretch_obstacle(session: Session, open_comparison: OpenComparison | None) -> str:
    """Why paired calls cannot begin together; "" if they can, or if they do."""
    if session.state.gaps:
        return ""
    if joined_clocks(session) is None:
        return "Compare two profiles, and show only their strips, aligned at their inferences"
    return (
        ""
        if open_comparison is not None and open_comparison.gaps is not None
        else "The arms have no paired calls"
    )


def swap_arms(session: Session) -> None:
    """Make A of B, and B of A."""
    if session.state.compared is not None:
        compare(session, session.state.compared.swapped)


def select_row(
    session: Session, open_comparison: OpenComparison, row: int, level: str = CALLS
) -> None:
    """Select the slices of a row of a level in the typical inference of each arm."""
    select_rows(session, open_comparison, (row,), level)


def select_rows(
    session: Session, open_comparison: OpenComparison, rows: Collection[int], level: str
) -> None:
    """Select the slices of some rows of a level in the typical inference of each arm."""
    _select_in_both(
        session,
        open_comparison,
        lambda path, run: open_comparison.slices_of_rows(path, rows, run, level),
    )


def select_path(session: Session, open_comparison: OpenComparison, path: int, by: str) -> bool:
    """Select the slices of a call path in the typical inference of each arm.

    path: a number of `OpenComparison.paths(by)`. Returns whether these inferences have any.
    """
    return _select_in_both(
        session,
        open_comparison,
        lambda file, run: open_comparison.slices_of_path(file, path, run, by),
    )


def _select_in_both(
    session: Session, open_comparison: OpenComparison, slices_in: Callable[[str, Run], Ints]
) -> bool:
    """Select slices in the typical inference of each arm; returns whether there are any.

    slices_in: of a profile, in a run.
    """
    slices: dict[int, Ints] = {}
    for side in (0, 1):
        typical = open_comparison.typical(side)
        number = -1 if typical is None else _number_of(session, typical[0])
        if typical is not None and number >= 0:
            indices = slices_in(*typical)
            if len(indices):
                slices[number] = np.union1d(slices.get(number, indices), indices)
    if not slices:
        return False
    session.show_inferences(Inferences.AS_RUN)
    first, indices = next(iter(slices.items()))
    columns = session.as_run(first).trace.slices
    longest = int(indices[np.argmax(columns.end[indices] - columns.start[indices])])
    session.select_slices(SliceSet(slices), SliceRef(first, longest), reveal=True)
    return True


def _number_of(session: Session, path: str) -> int:
    return next((i for i, t in enumerate(session.traces) if t.file.path == path), -1)


def row_of_selection(session: Session, open_comparison: OpenComparison, level: str = CALLS) -> int:
    """Return the row of the selected slice at a level, -1 if it has none."""
    ref, state = session.state.slice, session.state
    if ref is None or state.inferences is not Inferences.AS_RUN or ref.trace >= len(session.traces):
        return -1
    rows = open_comparison.rows_of_slices(session.traces[ref.trace].file.path, level)
    return -1 if rows is None or ref.index >= len(rows) else int(rows[ref.index])


def path_of_selection(session: Session, open_comparison: OpenComparison, by: str) -> int:
    """Return the call path of the selected slice, -1 if it has none."""
    ref, state = session.state.slice, session.state
    if ref is None or state.inferences is not Inferences.AS_RUN or ref.trace >= len(session.traces):
        return -1
    return open_comparison.path_of_slice(session.traces[ref.trace].file.path, ref.index, by)


def pair_selected(session: Session, open_comparison: OpenComparison) -> str:
    """Pair the row of the selected slices of A with that of those of B; returns what was done."""
    x, y = _selected_rows(session, open_comparison)
    chosen = session.state.compared
    if chosen is None or len(x) != 1 or len(y) != 1 or x == y:
        return "Select a slice of A and, with Ctrl, one of B that are not paired with each other"
    (row_a, row_b) = open_comparison.rows[x.pop()][0], open_comparison.rows[y.pop()][0]
    calls = open_comparison.calls
    a, b = keys_of_parts(calls.a, row_a.a), keys_of_parts(calls.b, row_b.b)
    # What each of them was paired with becomes free.
    cut = [(key, other) for key in a for other in keys_of_parts(calls.b, row_a.b)]
    cut += [(other, key) for other in keys_of_parts(calls.a, row_b.a) for key in b]
    by_hand = chosen.by_hand.with_cut(cut).with_made((a[0], b[0]))
    compare(session, replace(chosen, by_hand=by_hand))
    return f"Paired {row_a.label} with {row_b.label}"


def separate_selected(session: Session, open_comparison: OpenComparison) -> str:
    """Separate the sides of the row of the selected slices; returns what was done."""
    x, y = _selected_rows(session, open_comparison)
    chosen, rows = session.state.compared, x | y
    if chosen is None or len(rows) != 1:
        return "Select the slices of one row first"
    row = open_comparison.rows[rows.pop()][0]
    if not row.a or not row.b:
        return f"{row.label} is not paired"
    a = keys_of_parts(open_comparison.calls.a, row.a)
    b = keys_of_parts(open_comparison.calls.b, row.b)
    by_hand = chosen.by_hand.with_cut((x, y) for x in a for y in b)
    compare(session, replace(chosen, by_hand=by_hand))
    return f"{row.label} is no longer paired"


def _selected_rows(session: Session, open_comparison: OpenComparison) -> tuple[set[int], set[int]]:
    """The rows of the selected slices of A, and those of B."""
    rows: tuple[set[int], set[int]] = set(), set()
    if session.state.inferences is not Inferences.AS_RUN:
        return rows
    for trace, indices in session.state.slices.of.items():
        path = session.traces[trace].file.path
        side, row_of_slice = open_comparison.side_of(path), open_comparison.rows_of_slices(path)
        if side is not None and row_of_slice is not None:
            rows[side].update(np.unique(row_of_slice[indices]).tolist())
    for own_rows in rows:
        own_rows.discard(-1)
    return rows


# The arms, and the links and the rate of each of their profiles.
ComparisonQuestion = tuple[ComparedArms, tuple[tuple[LinkTable, Fraction], ...]]


class ComparisonFeed(Feed[ComparisonQuestion, "OpenComparison"]):
    """The comparison of the chosen arms; no answer if none are chosen, or an arm is closed."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._arranged: tuple[ChosenArm, ChosenArm] | None = None
        self._drifting = Latest(self, self._take_drifts)
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
        from viewer.view.open_comparison import side_by_side

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
            from viewer.view.open_comparison import stretched

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
    from viewer.view.open_comparison import OpenComparison

    open_comparison = OpenComparison(space, arms)
    if open_comparison.problem:
        return open_comparison
    for side in (0, 1):
        if (typical := open_comparison.typical(side)) is not None:
            # 0.1 s for a million slices, cached for what shows and selects them.
            open_comparison.slices_of_rows(typical[0], (), typical[1], CALLS)
    _ = open_comparison.operators.order  # 50 ms for 10,000 rows
    _ = open_comparison.gaps
    return open_comparison
