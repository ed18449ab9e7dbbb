"""A comparison of open profiles, what changed in it, and its view with one strip above the other.

No Qt. Everything is computed from a workspace and frozen columns, off the GUI thread if need be. Of
changed slices, only the outermost of a row count: the kernel of a call changed as much as its call.

The view shows a typical inference of each arm, at one scale and aligned at the starts. Gaps stretch
them so that each paired call begins at the same place: between the beginnings of two pairs, each
inference gets as much room as the longer one takes; the shorter one has a gap before the later
pair. A call keeps the width of its duration. Pairs in another order than most are left out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import lcm

import numpy as np

from viewer.analysis.comparison.arms import figures_text, typical_run
from viewer.analysis.comparison.comparison import CHANGED, Compared, Comparison, Verdict
from viewer.analysis.comparison.levels import CALLS, NAME
from viewer.analysis.comparison.operator_changes import OperatorChanges, operator_changes
from viewer.analysis.comparison.operator_pairs import Row
from viewer.analysis.comparison.path_changes import PathChanges, path_changes
from viewer.analysis.comparison.rows import outermost, rows_of_slices
from viewer.analysis.comparison.sessions import Session
from viewer.arrays import Bools, Floats, Ints
from viewer.dataclasses import dataclass, replace
from viewer.model.inference_views import Inferences
from viewer.model.queries import parent_of, starts_in_run, tree
from viewer.model.trace import KeyKind, Run, Trace
from viewer.program.program import Program
from viewer.render.time_axis import Axis, Gaps, gaps_of
from viewer.view.alignment import Anchor, aligned
from viewer.view.clock_groups import ClockGroups, are_in_reach, axis_spans
from viewer.view.open_trace import OpenTrace
from viewer.view.state import ChosenArm, ComparedArms, ViewState
from viewer.view.visible_ranges import run_span_ns, with_margin, with_ranges
from viewer.workspace.comparison_arms import RunChoice, arm_of, arm_problem, of_numbers, of_scope
from viewer.workspace.workspace import Workspace

_FARTHEST = 1 << 61  # ticks and ns


@dataclass(frozen=True, eq=False, slots=True)
class ShownInference:
    """An inference of one arm: its profile, the axis of that, and the row of every slice."""

    trace: Trace
    run: Run
    axis: Axis
    row_of_slice: Ints


def pair_gaps(a: ShownInference, b: ShownInference) -> tuple[Gaps, Gaps] | None:
    """Return the gaps for each of two inferences, in ns of its clock.

    None if int64 cannot hold them, as with ticks of very different lengths.

    The calls of a row are paired in order; if the numbers differ, only the first ones. The starts
    of the inferences are taken to be at one place on screen.
    """
    starts = paired_starts(a, b)
    rates = a.axis.ns_per_tick, b.axis.ns_per_tick
    # Exact whole numbers, in a unit of which both ticks are multiples.
    unit = lcm(*(rate.denominator for rate in rates))
    ticks = [int(rate * unit) for rate in rates]
    since = [
        (ticks_of - shown_inference.run.start).astype(object) * tick
        for ticks_of, shown_inference, tick in zip(starts, (a, b), ticks, strict=True)
    ]
    steps = np.maximum(*(np.diff(ticks_since, prepend=0) for ticks_since in since))
    places = np.cumsum(steps, dtype=object)
    if len(places) and max(places[-1] // tick for tick in (*ticks, unit)) >= _FARTHEST:
        return None
    gaps = [
        _gaps(shown_inference.axis, own_starts, ((places - after) // tick).astype(np.int64))
        for shown_inference, own_starts, after, tick in zip(
            (a, b), starts, since, ticks, strict=True
        )
    ]
    return gaps[0], gaps[1]


def _gaps(axis: Axis, ticks: Ints, added: Ints) -> Gaps:
    """Return gaps in ns, given in ticks, which are kept for the axis of the file."""
    gaps = gaps_of(ticks, added)
    places = [axis.to_ns(tick) for tick in gaps.at.tolist()]
    length = [int(Fraction(ticks) * axis.ns_per_tick) for ticks in gaps.added.tolist()]
    return gaps_of(np.array(places, np.int64), np.array(length, np.int64), {axis: gaps})


def paired_starts(a: ShownInference, b: ShownInference) -> tuple[Ints, Ints]:
    """Return the ticks at which paired calls start, as parallel columns, ascending in both."""
    order = [_calls(shown_inference) for shown_inference in (a, b)]
    rows = [row for row, _, _ in order]
    most = max((int(row.max()) for row in rows if len(row)), default=0)
    count = [np.bincount(row, minlength=most + 1) for row in rows]
    paired = (count[0] > 0) & (count[1] > 0)
    same = count[0] == count[1]
    pairs = [
        start[paired[row] & (same[row] | (number == 0))] for row, number, start in order
    ]  # in order of row and number, so that they are parallel
    by_time = np.lexsort((pairs[1], pairs[0]))
    first, second = pairs[0][by_time], pairs[1][by_time]
    rising = longest_rise(second.tolist())
    return first[rising], second[rising]


def _calls(shown_inference: ShownInference) -> tuple[Ints, Ints, Ints]:
    """Return the row of each call of an inference, its number among these, and its start."""
    slices, row_of = shown_inference.trace.slices, shown_inference.row_of_slice
    rows = np.unique(row_of[row_of >= 0])
    calls = outermost(shown_inference.trace, row_of, rows.tolist(), shown_inference.run)
    calls = calls[np.lexsort((slices.start[calls], row_of[calls]))]
    row = row_of[calls]
    number = np.arange(len(row)) - np.searchsorted(row, row, side="left")
    return row, number, slices.start[calls]


def longest_rise(values: Sequence[int]) -> list[int]:
    """Return the positions of a longest part of a sequence that never falls, ascending.

    O(n log n): 0.1 s for 100,000 values.
    """
    ends: list[int] = []  # by length, the least last value of a rise of that length
    places: list[int] = []  # where it is
    before = [-1] * len(values)
    for position, value in enumerate(values):
        length = bisect_right(ends, value)
        before[position] = places[length - 1] if length else -1
        if length == len(ends):
            ends.append(value)
            places.append(position)
        else:
            ends[length], places[length] = value, position
    rises: list[int] = []
    position = places[-1] if places else -1
    while position >= 0:
        rises.append(position)
        position = before[position]
    return rises[::-1]


class OpenComparison:
    """Two arms of open profiles, compared.

    chosen: which files and inferences the arms are. problem: why they cannot be compared, "" if
    they can.
    """

    def __init__(self, space: Workspace, chosen: ComparedArms) -> None:
        self.chosen = chosen
        self.arms = tuple(
            arm_of(space, choice_of(space, chosen_arm), frozenset(chosen_arm.paths))
            for chosen_arm in (chosen.a, chosen.b)
        )
        self.problem = next(
            (
                f"{name}: {problem}"
                for name, arm in zip("AB", self.arms, strict=True)
                if (problem := arm_problem(arm))
            ),
            "",
        )
        self._axes = {
            trace.path: Axis(space.clocks.ns_per_tick(trace), space.clocks.offset_ns(trace))
            for trace in space.traces
            if trace.path in chosen.paths
        }
        self._levels: dict[str, Comparison] = {}
        self._rows_of_slices: dict[tuple[str, str], Ints] = {}
        self._parents_of: dict[str, Ints] = {}
        self._paths: dict[str, PathChanges] = {}

    @property
    def calls(self) -> Comparison:
        """The comparison by calls, or by operator or name for profiles without calls."""
        return self.at(CALLS)

    def at(self, level: str) -> Comparison:
        """The comparison at a level of `rollups`."""
        comparison = self._levels.get(level)
        if comparison is None:
            comparison = self._levels[level] = Comparison(
                self.arms[0],
                self.arms[1],
                level,
                by_hand=self.chosen.by_hand,
                relative=self.chosen.relative,
            )
        return comparison

    def paths(self, by: str) -> PathChanges:
        """The changes of call paths; by: what calls are named by, "name", `CALLS` or `MODULE`."""
        if by not in self._paths:
            rows = None if by == NAME else self.at(by)
            self._paths[by] = path_changes(self.calls, rows)
        return self._paths[by]

    @property
    def subtitle(self) -> str:
        """What its figures are: "medians of 4 + 4 sessions", "inference 3 → inference 12"."""
        return figures_text(self.arms[0], self.arms[1], relative=self.calls.is_relative)

    @property
    def size(self) -> int:
        """The number of slices of all profiles: the time that a level takes grows with it."""
        every = (session.table.trace for arm in self.arms for session in arm.sessions)
        return sum({trace.path: len(trace.slices) for trace in every}.values())

    @property
    def rows(self) -> Sequence[tuple[Row, Compared]]:
        """The rows of `calls` with their figures."""
        return self._pairs

    @cached_property
    def _pairs(self) -> tuple[tuple[Row, Compared], ...]:
        return tuple(zip(self.calls.rows, self.calls.compared, strict=True))

    @cached_property
    def operators(self) -> OperatorChanges:
        """The changes of the operators of A by `calls`."""
        return operator_changes(self.calls)

    def program(self, side: int) -> Program | None:
        """The program that the sessions of an arm are linked to."""
        return self.arms[side].program

    def side_of(self, path: str) -> int | None:
        """The arm of a profile: 0 for A, 1 for B, None if it is in neither.

        A profile whose inferences are in both arms is in A.
        """
        for side, arm in enumerate((self.chosen.a, self.chosen.b)):
            if path in arm.paths:
                return side
        return None

    def rows_of_slices(self, path: str, level: str = CALLS) -> Ints | None:
        """The row of every slice of a profile at a level, -1 for none; None if it is in no arm."""
        session = self._session_of(path)
        if session is None:
            return None
        made_for = path, level
        if made_for not in self._rows_of_slices:
            compared, rows = self.at(level), np.full(len(session.table.trace.slices), -1)
            for side, chosen in enumerate((self.chosen.a, self.chosen.b)):
                if path in chosen.paths:
                    arm = compared.b if side else compared.a
                    rows_here = rows_of_slices(arm, side, compared.rows, session)
                    rows = np.where(rows >= 0, rows, rows_here)
            self._rows_of_slices[made_for] = rows
        return self._rows_of_slices[made_for]

    def slices_of_rows(self, path: str, rows: Collection[int], run: Run, level: str) -> Ints:
        """The outermost slices of some rows in an inference of a profile, ascending (int64)."""
        row_of, session = self.rows_of_slices(path, level), self._session_of(path)
        if row_of is None or session is None:
            return np.empty(0, np.int64)
        trace = session.table.trace
        is_wanted = np.zeros(len(self.at(level).rows) + 1, np.bool_)  # the last one is for no row
        is_wanted[list(rows)] = True
        wanted = is_wanted[row_of]
        indexes = np.flatnonzero(wanted)
        kinds = trace.keys.kind[trace.slices.key[indexes]]
        if (kinds != KeyKind.KERNEL).any():
            indexes = indexes[kinds != KeyKind.KERNEL]  # that of a call may be as long as the call
        indexes = starts_in_run(trace, run, indexes)
        parent = self._parents(trace)
        inside = (parent[indexes] >= 0) & wanted[parent[indexes]]
        outermost: Ints = indexes[~inside]
        return outermost

    def _parents(self, trace: Trace) -> Ints:
        """The slice that contains each slice of a profile, -1 for none; kept for the last two."""
        parents = self._parents_of.get(trace.path)
        if parents is None:
            shape = tree(trace.slices)
            parents = np.full(len(shape.index), -1)
            parents[shape.index] = np.where(shape.parent >= 0, shape.index[shape.parent], -1)
            while len(self._parents_of) > 1:  # one per arm
                del self._parents_of[next(iter(self._parents_of))]
            self._parents_of[trace.path] = parents
        return parents

    def slices_of_path(self, file: str, path: int, run: Run, by: str) -> Ints:
        """The slices of a call path in an inference of a profile, ascending (int64).

        They start in it, or else are around it. path: a number of `paths(by)`.
        """
        of_slice, session = self.paths(by).of_file.get(file), self._session_of(file)
        if of_slice is None or session is None:
            return np.empty(0, np.int64)
        trace = session.table.trace
        indexes = np.flatnonzero(of_slice == path)
        inside = starts_in_run(trace, run, indexes)
        slices = trace.slices
        around = indexes[(slices.start[indexes] <= run.start) & (slices.end[indexes] >= run.end)]
        return inside if len(inside) else around

    def path_of_slice(self, file: str, index: int, by: str) -> int:
        """The call path that a slice of a profile is an occurrence or a part of, -1 for none."""
        changes, session = self.paths(by), self._session_of(file)
        of_slice = changes.of_file.get(file)
        if of_slice is None or session is None:
            return -1
        while 0 <= index < len(of_slice):
            if of_slice[index] < len(changes):
                return int(of_slice[index])
            index = parent_of(session.table.trace.slices, index)
        return -1

    def _session_of(self, path: str) -> Session | None:
        every = (session for arm in self.arms for session in arm.sessions)
        return next((session for session in every if session.table.trace.path == path), None)

    def typical(self, side: int) -> tuple[str, Run] | None:
        """The profile and the inference that shows an arm best, None without inferences.

        Both arms show the same method if they have one in common.
        """
        return self._typical[side]

    @cached_property
    def gaps(self) -> tuple[Gaps, Gaps] | None:
        """The gaps in the axes of A and B with which paired calls of the typical inferences align.

        None without two inferences of different profiles.
        """
        inferences = []
        for typical in self._typical:
            session = None if typical is None else self._session_of(typical[0])
            row_of = None if typical is None else self.rows_of_slices(typical[0])
            if typical is None or session is None or row_of is None:
                return None
            path, run = typical
            inferences.append(ShownInference(session.table.trace, run, self._axes[path], row_of))
        a, b = inferences
        return None if a.trace is b.trace else pair_gaps(a, b)

    @cached_property
    def _typical(self) -> tuple[tuple[str, Run] | None, ...]:
        of_a = typical_run(self.arms[0])
        method = "" if of_a is None or of_a[0].is_whole else of_a[0].method_of(of_a[1].scope)[0]
        both = of_a, typical_run(self.arms[1], method)
        return tuple(
            None if typical is None else (typical[0].table.trace.path, typical[1])
            for typical in both
        )


def choice_of(space: Workspace, arm: ChosenArm) -> RunChoice | None:
    """Which of the inferences of its profiles an arm has; None for all."""
    if not arm.numbers:
        return None
    if arm.scope:
        return of_scope(space, arm.paths, arm.numbers, arm.scope)
    return of_numbers(space, arm.numbers)


MOST_PAIRS = 200


@dataclass(frozen=True, eq=False, slots=True)
class PairedSpans:
    """One arm of some pairs, as parallel columns.

    trace: the number of its open trace. start, end: int64 ticks. row: of the longest slice of each
    span, in the trace.
    """

    trace: int
    start: Ints
    end: Ints
    row: Ints


@dataclass(frozen=True, eq=False, slots=True)
class ChangedPairs:
    """Pairs of spans in the typical inferences of A and B, largest changes first.

    row: of the comparison, for each pair. is_slower: else it is faster. is_named: whether it stands
    for its row; of several calls of one row, one does. longest_ns: the duration of the longer span.
    arms: A, then B.
    """

    row: Ints
    is_slower: Bools
    is_named: Bools
    longest_ns: Floats
    arms: tuple[PairedSpans, PairedSpans]

    def __len__(self) -> int:
        return len(self.row)


def changed_rows(open_comparison: OpenComparison) -> tuple[int, ...]:
    """Return the rows that are proven to have changed, ascending."""
    return tuple(
        i for i, (_, compared) in enumerate(open_comparison.rows) if compared.verdict in CHANGED
    )


def rows_of_one_arm(open_comparison: OpenComparison) -> tuple[int, ...]:
    """Return the rows that only one arm has, ascending."""
    return tuple(i for i, (row, _) in enumerate(open_comparison.rows) if not row.a or not row.b)


def changed_pairs(
    open_comparison: OpenComparison,
    traces: Mapping[str, tuple[int, OpenTrace]],
    most: int = MOST_PAIRS,
) -> ChangedPairs | None:
    """Return the pairs of the changed rows, the largest changes; None without any.

    traces: each open trace with its number, by path. The calls of a row are paired in
    order. If the arms have different numbers of them, as with a delegate call for several
    operators, one pair extends from the first to the last.
    """
    rows = changed_rows(open_comparison)
    sides, ns_per_tick = [], list[float]()
    for side in (0, 1):
        typical = open_comparison.typical(side)
        if typical is None or typical[0] not in traces:
            return None
        path, run = typical
        row_of, (number, open_trace) = open_comparison.rows_of_slices(path), traces[path]
        if row_of is None or len(row_of) != len(open_trace.trace.slices):
            return None
        calls_here = outermost(open_trace.trace, row_of, rows, run)
        sides.append((number, open_trace.trace, calls_here, row_of[calls_here]))
        ns_per_tick.append(float(open_trace.axis.ns_per_tick))
    if sides[0][0] == sides[1][0]:
        return None  # both are in one strip
    by_change = sorted(rows, key=lambda i: -abs(open_comparison.rows[i][1].change_ns))
    spans: list[list[tuple[Ints, Ints, Ints]]] = [[], []]
    of_row: list[Ints] = []
    named: list[Bools] = []
    room = most
    for row in by_change:
        calls = [_in_time(trace, slices[rows_of == row]) for _, trace, slices, rows_of in sides]
        if room <= 0 or not all(map(len, calls)):
            continue
        in_order = len(calls[0]) == len(calls[1])
        count = min(len(calls[0]) if in_order else 1, room)
        ends = [
            _spans(trace, rows_of_calls[:count] if in_order else rows_of_calls, whole=not in_order)
            for (_, trace, _, _), rows_of_calls in zip(sides, calls, strict=True)
        ]
        for side in (0, 1):
            spans[side].append(ends[side])
        widest = np.argmax(ends[0][1] - ends[0][0])
        of_row.append(np.full(count, row))
        named.append(np.arange(count) == widest)
        room -= count
    if not of_row:
        return None
    arms = [
        PairedSpans(sides[side][0], *map(np.concatenate, zip(*spans[side], strict=True)))
        for side in (0, 1)
    ]
    row_of_pair = np.concatenate(of_row)
    slower = [i for i in rows if open_comparison.rows[i][1].verdict is Verdict.SLOWER]
    is_slower: Bools = np.isin(row_of_pair, slower)
    ns = [(arm.end - arm.start) * rate for arm, rate in zip(arms, ns_per_tick, strict=True)]
    is_named = np.concatenate(named)
    return ChangedPairs(row_of_pair, is_slower, is_named, np.maximum(*ns), (arms[0], arms[1]))


def _in_time(trace: Trace, slices: Ints) -> Ints:
    in_time: Ints = slices[np.argsort(trace.slices.start[slices], kind="stable")]
    return in_time


def _spans(trace: Trace, slices: Ints, *, whole: bool) -> tuple[Ints, Ints, Ints]:
    """The start, end and row of each of some slices, or of all of them as one."""
    start, end = trace.slices.start[slices], trace.slices.end[slices]
    row = np.searchsorted(trace.slices.row_ptr, slices, side="right") - 1
    if not whole:
        return start, end, row
    longest = [int(np.argmax(end - start))]
    return start.min(keepdims=True), end.max(keepdims=True), row[longest]


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
        start, end = run_span_ns(traces[number], typical[1])
        runs.append((groups.of(number).key, Anchor(start, REASON, end - start)))
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


def _number(traces: Sequence[OpenTrace], path: str) -> int | None:
    return next((i for i, open_trace in enumerate(traces) if open_trace.file.path == path), None)
