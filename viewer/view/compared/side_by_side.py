"""The view of a comparison: the strips of a typical inference of each arm, one above the other.

No Qt. Only these two strips are shown, at one scale and aligned at the starts of the inferences. If
both inferences are in one clock group, its strip shows both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from viewer.model.inferences.inference_views import Inferences
from viewer.model.trace import Run
from viewer.view.alignment import Anchor, aligned
from viewer.view.clock_groups import ClockGroups, axis_spans
from viewer.view.group_ranges import with_ranges
from viewer.view.open_trace import OpenTrace
from viewer.view.state import ViewState
from viewer.view.ties import are_in_reach
from viewer.view.visible_range import run_span_ns, with_margin

if TYPE_CHECKING:
    from viewer.view.compared.open_comparison import OpenComparison


REASON = "comparison"


def side_by_side(
    state: ViewState,
    groups: ClockGroups,
    traces: Sequence[OpenTrace],
    open_comparison: OpenComparison,
) -> ViewState:
    """Return the view with a typical inference of each arm, A above B.

    A view that has them aligned like this already, because it was saved or is taken back, keeps its
    ranges.
    """
    runs: list[tuple[str, Anchor]] = []
    for side in (0, 1):
        typical = open_comparison.typical(side)
        number = None if typical is None else _number(traces, typical[0])
        if typical is None or number is None:
            return state
        runs.append((groups.of(number).key, _anchor(traces[number], typical[1])))
    anchors = dict(runs)
    first = runs[0][0]
    if len(anchors) < 2:
        start = min(anchor.at_ns for _, anchor in runs)
        end = max(anchor.at_ns + anchor.length_ns for _, anchor in runs)
        return with_ranges(state.on(first), {first: with_margin(start, end)})
    only = tuple(anchors)
    alone = state.strips.with_only(only)
    strips = replace(alone, collapsed=state.strips.collapsed - anchors.keys())
    view_state = aligned(replace(state.on(first), strips=strips), groups, anchors)
    if view_state.ties == state.ties and state.strips.only in ((), only):
        return replace(state, strips=alone)
    return replace(view_state, compared=state.compared)


def stretched(
    state: ViewState,
    groups: ClockGroups,
    traces: Sequence[OpenTrace],
    open_comparison: OpenComparison,
) -> ViewState:
    """Return the view with the gaps that its arms ask for: paired calls begin together, or none.

    Only strips that a comparison has aligned at their inferences have gaps, and none that would
    make an axis longer than 146 years.
    """
    wanted = state.compared is not None and state.compared.stretched
    gaps = open_comparison.gaps if wanted and state.inferences is Inferences.AS_RUN else None
    keys = []
    for side in (0, 1):
        typical = open_comparison.typical(side)
        number = None if typical is None else _number(traces, typical[0])
        keys += [] if number is None else [groups.of(number).key]
    aligned_here = {key for key, tie in state.ties.items() if tie.reason == REASON}
    if gaps is None or len(set(keys)) < 2 or not aligned_here.issuperset(keys):
        return state.with_gaps({})
    found_gaps = dict(zip(keys, gaps, strict=True))
    is_short = are_in_reach(state.ties, axis_spans(groups, found_gaps))
    return state.with_gaps(found_gaps if is_short else {})


def is_arranged(state: ViewState) -> bool:
    """Whether strips are aligned as `side_by_side` aligns them."""
    return any(tie.reason == REASON for tie in state.ties.values())


def without_comparison(state: ViewState) -> ViewState:
    """Return the view after a comparison: with all strips, and without its alignment."""
    state = state.with_gaps({})
    is_own = is_arranged(state)
    strips = state.strips.with_only(())
    return replace(state, compared=None, strips=strips, ties={} if is_own else state.ties)


def _anchor(open_trace: OpenTrace, run: Run) -> Anchor:
    start, end = run_span_ns(open_trace, run)
    return Anchor(start, REASON, end - start)


def _number(traces: Sequence[OpenTrace], path: str) -> int | None:
    return next((i for i, open_trace in enumerate(traces) if open_trace.file.path == path), None)
