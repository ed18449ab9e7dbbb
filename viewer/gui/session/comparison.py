"""Chooses which arms are compared, and selects the slices of a row in both."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from viewer.analysis.comparison.levels import CALLS
from viewer.arrays import Ints
from viewer.gui.session.session import Session
from viewer.gui.session.tracks import shown_clocks
from viewer.model.inferences.inference_views import Inferences
from viewer.model.trace import Run, Trace
from viewer.model.warm_up import counted_inferences
from viewer.view.clock_groups import ClockGroup
from viewer.view.compared_arms import ChosenArm, ComparedArms
from viewer.view.state import SliceRef, SliceSet
from viewer.view.ties import aligned_keys

if TYPE_CHECKING:
    from viewer.view.compared.open_comparison import OpenComparison


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
    from viewer.view.compared.side_by_side import without_comparison

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
    from viewer.view.compared.side_by_side import is_arranged, side_by_side, stretched

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
    from viewer.analysis.comparison.hand_pairs import keys_of_parts

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
    from viewer.analysis.comparison.hand_pairs import keys_of_parts

    x, y = _selected_rows(session, open_comparison)
    chosen, rows = session.state.compared, x | y
    if chosen is None or len(rows) != 1:
        return "Select the slices of one row first"
    row = open_comparison.rows[rows.pop()][0]
    if not row.a or not row.b:
        return f"{row.label} is not paired"
    a, b = (
        keys_of_parts(open_comparison.calls.a, row.a),
        keys_of_parts(open_comparison.calls.b, row.b),
    )
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
