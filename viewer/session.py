"""The one hub of the window: what is open, what is seen, what is selected, and how one gets back.

Timeline and panels know the session and never one another. What is seen is one immutable
`ViewState`; every change of it goes through here, can be undone, and is told by signals:

* `opened`: files, links or their order changed; anything may differ;
* `viewed`: the visible range changed; `folded`: rows were folded or opened; `coloured`: the scheme;
* `selected`: slice, operators or area changed; `run_picked`: the inference that costs are of.

Times are ns on the common axis, where every file starts at 0 unless it shares another's clock.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

import numpy as np
from PySide6.QtCore import QObject, Signal

from viewer.model.queries import NATIVE_DURATION
from viewer.model.run_views import aligned_runs, has_run_views, mean_run
from viewer.model.times import NARROW_SPACE, format_time, group_digits, tick_to_ns
from viewer.model.trace import Codes, Ints, KeyKind, Run, RunKind, Trace
from viewer.program.cost import Costs
from viewer.program.graph import Operator, Program
from viewer.program.labels import slice_labels
from viewer.program.linking import Link, LinkTable
from viewer.timeline.layout import Axis, Part
from viewer.workspace import Choices, Workspace

NATIVE_UNIT = "native_unit"
MIN_SPAN_NS = 1
# Changes of the range closer together than this, in seconds, are one step of undo (a wheel burst).
BURST = 0.5
# A first view shows one run where all runs together are less than this share of the span: loading
# and the cold first run would fill the picture.
MOSTLY_RUNS = 0.4


@dataclass(frozen=True, slots=True)
class SliceRef:
    """One slice of one open trace, by the trace's position among the open ones."""

    trace: int
    index: int


@dataclass(frozen=True, slots=True)
class Area:
    """A span of time, in ns of the axis, on some tracks, given as (trace, track)."""

    t0: int
    t1: int
    tracks: frozenset[tuple[int, int]]


class Inferences(Enum):
    """How the inferences of profiles are shown."""

    AS_RUN = "as they ran"
    ALIGNED = "aligned at their starts"
    MEAN = "their mean"


@dataclass(frozen=True, slots=True)
class ViewState:
    """All that the user can change about the view; undo is a list of these.

    operators: (trace, indexes into its program's operators) that are highlighted. run: (trace,
    position in `Trace.runs`) that costs are of, None for all inferences. tracks folded or opened:
    `collapsed`. inferences: how they lie; slices, tracks and runs are those of that view.
    """

    t0: int = 0
    t1: int = 1_000_000
    slice: SliceRef | None = None
    operators: tuple[int, tuple[int, ...]] | None = None
    area: Area | None = None
    collapsed: frozenset[Part] = frozenset()
    scheme: str = "operator"
    run: tuple[int, int] | None = None
    inferences: Inferences = Inferences.AS_RUN


@dataclass
class OpenTrace:
    """What the window keeps beside one open trace: labels, costs, all made once.

    trace: what is shown; file: what was read. They differ where inferences are aligned or meant.
    """

    file: Trace
    trace: Trace
    table: LinkTable
    axis: Axis
    labels: Codes
    label_strings: tuple[str, ...]
    costs: Costs

    def label(self, i: int) -> str:
        """What slice i is called on screen."""
        return self.label_strings[int(self.labels[i])]

    def link(self, i: int) -> Link:
        """The link of slice i."""
        return self.table.links[int(self.trace.slices.key[i])]

    def span_ns(self, i: int) -> tuple[int, int]:
        """Where slice i lies on the common axis."""
        slices = self.trace.slices
        return self.axis.to_ns(int(slices.start[i])), self.axis.to_ns(int(slices.end[i]))

    def native(self, i: int, column: str = NATIVE_DURATION) -> tuple[str, str] | None:
        """What a clock of its own measured of slice i, as number and unit.

        None if the clock of the file timed it; else its extent is for drawing only.
        """
        columns = self.trace.slices.columns
        value = columns[column].value(i) if column in columns else None
        if value is None or isinstance(value, str):
            return None
        unit = columns[NATIVE_UNIT].value(i) if NATIVE_UNIT in columns else None
        number = group_digits(value) if isinstance(value, int) else f"{value:g}"
        return number, str(unit or "ticks")

    def length_text(self, i: int) -> str:
        """How long slice i took: "1.252 µs", or in the unit of its own clock "5 000 cycles"."""
        native = self.native(i)
        if native is not None:
            return NARROW_SPACE.join(native)
        start, end = self.span_ns(i)
        return format_time(end - start)


class Session(QObject):
    """The open workspace, the view of it, and its history. Lives on the GUI thread."""

    opened = Signal()
    viewed = Signal()
    folded = Signal()
    coloured = Signal()
    selected = Signal()
    run_picked = Signal()
    history_changed = Signal()
    revealed = Signal(object)  # a SliceRef that should be scrolled into view

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.workspace = Workspace()
        self.traces: list[OpenTrace] = []
        self.state = ViewState()
        self.first_view_note = ""
        # Asked on every step of a zoom; of the workspace it costs a pass over all slices.
        self._span_ns = 1
        self._undo: list[ViewState] = []
        self._redo: list[ViewState] = []
        self._last_range_change = float("-inf")
        # Other views of the inferences of what is open, made when first asked for.
        self._views: dict[tuple[int, Inferences], OpenTrace] = {}

    # -- files -------------------------------------------------------------------------------

    def add(self, items: Sequence[Trace | Program]) -> None:
        """Take in what was read; the view starts anew only if nothing was shown before."""
        was_empty = not self.workspace.traces
        for item in items:
            self.workspace.add(item)
        self._rebuild(start_anew=was_empty)

    def pair(self, trace_path: str, program_path: str | None) -> None:
        """Link a profile to a record, or to none, because the user says so."""
        self.workspace.pair(trace_path, program_path)
        self._rebuild(start_anew=False)

    def decide_by_agreement(self, trace_path: str) -> None:
        """Forget what the user chose for a profile."""
        self.workspace.decide_by_agreement(trace_path)
        self._rebuild(start_anew=False)

    def choose_method(self, trace_path: str, scope: str, method: str) -> None:
        """Say of which method the runs of a scope are."""
        self.workspace.choose_method(trace_path, scope, method)
        self._rebuild(start_anew=False)

    def choose(self, choices: Choices) -> list[str]:
        """Apply what a command line says; returns a sentence for each that cannot be."""
        complaints = self.workspace.choose(choices)
        self._rebuild(start_anew=False)
        return complaints

    def close_all(self) -> None:
        """Close every file and forget the view."""
        self.workspace.clear()
        self._rebuild(start_anew=True)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show: no profile, and no program with operators."""
        return not self.traces and not any(p.methods for p in self.workspace.programs)

    def span_ns(self) -> int:
        """The length of the common axis, at least 1 ns."""
        return self._span_ns

    def _rebuild(self, *, start_anew: bool) -> None:
        before = [t.file for t in self.traces]
        if start_anew:
            self.state = ViewState()
        self._show(self.state.inferences)
        if start_anew:
            self._undo.clear()
            self._redo.clear()
            self.state = self._first_state()
        else:
            self.state = replace(self.state, slice=None, operators=None, area=None)
            now = [t.file for t in self.traces[: len(before)]]
            if [id(trace) for trace in now] != [id(trace) for trace in before]:
                # Views name traces and slices by position, and those are others now.
                self.state = replace(self.state, run=None, collapsed=frozenset())
                self._undo.clear()
                self._redo.clear()
        self._tell_all()

    def _tell_all(self) -> None:
        for signal in (self.opened, self.viewed, self.folded, self.coloured, self.selected):
            signal.emit()
        self.run_picked.emit()
        self.history_changed.emit()

    def _show(self, inferences: Inferences) -> None:
        """Bring `traces` in step with the workspace, in one view of their inferences."""
        space = self.workspace
        views: dict[tuple[int, Inferences], OpenTrace] = {}
        for trace in space.traces:
            table = space.links(trace)
            for view in Inferences:
                old = self._views.get((id(trace), view))
                axis = self._axis(trace, view)
                if old is not None and old.table.links is table.links and old.axis == axis:
                    views[id(trace), view] = old
            if (id(trace), inferences) not in views:
                axis = self._axis(trace, inferences)
                views[id(trace), inferences] = _opened(trace, table, axis, inferences)
        self._views = views
        self.traces = [views[id(trace), inferences] for trace in space.traces]
        if inferences is Inferences.AS_RUN:
            self._span_ns = max(space.span_ns(), 1)
        else:
            self._span_ns = max((t.axis.to_ns(t.trace.end) for t in self.traces), default=1)

    def as_run(self, number: int) -> OpenTrace:
        """An open trace with its inferences as they ran, however they are shown."""
        file = self.traces[number].file
        key = id(file), Inferences.AS_RUN
        if key not in self._views:
            table, axis = self.workspace.links(file), self._axis(file, Inferences.AS_RUN)
            self._views[key] = _opened(file, table, axis, Inferences.AS_RUN)
        return self._views[key]

    def _axis(self, trace: Trace, inferences: Inferences) -> Axis:
        space = self.workspace
        as_run = inferences is Inferences.AS_RUN or not has_run_views(trace)
        return Axis(space.ns_per_tick(trace), space.offset_ns(trace) if as_run else 0)

    def show_inferences(self, inferences: Inferences) -> None:
        """Show the inferences as they ran, all from one start, or their mean; and all of it."""
        if inferences is self.state.inferences:
            return
        self._show(inferences)
        self.first_view_note = ""
        t0, t1 = _with_margin(0, self.span_ns())
        self._change(
            replace(
                self.state, inferences=inferences, t0=t0, t1=t1, slice=None, area=None, run=None,
                collapsed=frozenset(),
            )
        )  # fmt: skip

    def _first_state(self) -> ViewState:
        """The whole span, or the second inference where loading would fill the picture."""
        self.first_view_note = ""
        t0, t1 = _with_margin(0, self.span_ns())
        state = ViewState(t0=t0, t1=t1)
        if not self.traces:
            return state
        first = self.traces[0]
        runs = list(first.trace.inferences())
        whole = first.trace.end - first.trace.start
        if not runs or sum(r.end - r.start for r in runs) >= MOSTLY_RUNS * whole:
            return state
        run = next((r for r in runs if r.number == 2 and r.track == runs[0].track), runs[0])
        cold = run.number > 1
        before = "load and the cold run 1 lie before it" if cold else "load lies before it"
        count = sum(r.track == run.track for r in runs)
        self.first_view_note = f"first view: run {run.number} of {count} · {before}"
        t0, t1 = self.run_span_ns(0, run)
        t0, t1 = _with_margin(t0, t1)
        return replace(state, t0=t0, t1=t1, run=(0, first.trace.runs.index(run)))

    # -- the visible range -------------------------------------------------------------------

    def set_range(self, t0: int, t1: int, *, now: float | None = None) -> None:
        """Show [t0, t1) ns; kept inside the axis with a margin. `now` (s) joins bursts for undo."""
        t0, t1 = self._limited(t0, t1)
        if (t0, t1) == (self.state.t0, self.state.t1):
            return
        self.first_view_note = ""
        joins = now is not None and now - self._last_range_change < BURST
        self._change(replace(self.state, t0=t0, t1=t1), remember=not joins)
        self._last_range_change = float("-inf") if now is None else now

    def zoom(
        self,
        factor: float,
        at_ns: int | Fraction,
        share: Fraction | None = None,
        *,
        now: float | None = None,
    ) -> None:
        """Scale the visible span by `factor` (below 1 shows less) around a time that stays put.

        share: where in the view that time stays, 0 to 1; by default where it is now. Given with an
        exact time it keeps a burst of steps from drifting by the ns that each of them rounds.
        """
        t0, t1 = self.state.t0, self.state.t1
        span = max(MIN_SPAN_NS, round((t1 - t0) * factor))
        if span == t1 - t0 and factor != 1:
            # Of few ns a share is less than one: every step must show all the same.
            span = max(span + (1 if factor > 1 else -1), MIN_SPAN_NS)
        if share is None:
            share = Fraction(at_ns - t0) / (t1 - t0)
        t0 = round(at_ns - share * span)
        self.set_range(t0, t0 + span, now=now)

    def pan(self, by_ns: int, *, now: float | None = None) -> None:
        """Move the visible range."""
        self.set_range(self.state.t0 + by_ns, self.state.t1 + by_ns, now=now)

    def fit_all(self) -> None:
        """Show the whole axis."""
        self.set_range(*_with_margin(0, self.span_ns()))

    def fit_selection(self) -> None:
        """Show what is selected; what is shown so already is followed by the whole axis."""
        span = self.selected_span_ns()
        wanted = self._limited(*_with_margin(*span)) if span else None
        if wanted is None or wanted == (self.state.t0, self.state.t1):
            self.fit_all()
        else:
            self.set_range(*wanted)

    def _limited(self, t0: int, t1: int) -> tuple[int, int]:
        whole = self.span_ns()
        margin = max(whole // 10, 1)
        low, high = -margin, whole + margin
        span = min(max(t1 - t0, MIN_SPAN_NS), high - low)
        t0 = min(max(t0, low), high - span)
        return t0, t0 + span

    # -- selection ---------------------------------------------------------------------------

    def select_slice(self, ref: SliceRef | None, *, reveal: bool = False) -> None:
        """Select one slice and highlight its operators; None selects nothing."""
        if ref is None:
            self.clear_selection()
            return
        found = self.traces[ref.trace].link(ref.index).operators
        operators = (ref.trace, found) if found else None
        run = self._run_of(ref) if self.state.run is not None else None
        self._change(
            replace(
                self.state, slice=ref, operators=operators, area=None, run=run or self.state.run
            )
        )
        if reveal:
            self._reveal(ref)

    def _run_of(self, ref: SliceRef) -> tuple[int, int] | None:
        """The inference that a slice lies in, None if it lies in none."""
        trace = self.traces[ref.trace].trace
        number = trace.run_at(trace.slices.track(ref.index), int(trace.slices.start[ref.index]))
        is_inference = number is not None and trace.runs[number].kind is RunKind.INFERENCE
        return (ref.trace, number) if number is not None and is_inference else None

    def select_operators(self, trace: int, operators: tuple[int, ...]) -> None:
        """Highlight every slice of a set of operators and bring the first of them into view."""
        self._change(replace(self.state, slice=None, operators=(trace, operators), area=None))
        slices = self.slices_of(trace, operators)
        inside = self._in_run(trace, slices)
        if len(slices):
            near = inside if len(inside) else slices
            self._reveal(SliceRef(trace, self._nearest(trace, near)))

    def select_area(self, area: Area | None) -> None:
        """Select a span of time on some tracks."""
        self._change(replace(self.state, slice=None, operators=None, area=area))

    def clear_selection(self) -> None:
        """Select nothing."""
        self.select_area(None)

    def step_slice(self, by: int) -> None:
        """Select the next or previous slice on the row of the selected one."""
        ref = self.state.slice
        if ref is None:
            return
        slices = self.traces[ref.trace].trace.slices
        row = slices.row_of(ref.index)
        index = ref.index + by
        if int(slices.row_ptr[row]) <= index < int(slices.row_ptr[row + 1]):
            self.select_slice(SliceRef(ref.trace, index), reveal=True)

    def selected_span_ns(self) -> tuple[int, int] | None:
        """Where the selection lies on the axis, None if nothing is selected."""
        state = self.state
        if state.slice is not None:
            return self.traces[state.slice.trace].span_ns(state.slice.index)
        if state.area is not None:
            return state.area.t0, state.area.t1
        if state.operators is not None:
            trace, operators = state.operators
            every = self.slices_of(trace, operators)
            inside = self._in_run(trace, every)
            found = inside if len(inside) else every
            if len(found):
                shown, slices = self.traces[trace], self.traces[trace].trace.slices
                return (
                    shown.axis.to_ns(int(slices.start[found].min())),
                    shown.axis.to_ns(int(slices.end[found].max())),
                )
        return None

    def slices_of(self, trace: int, operators: tuple[int, ...]) -> Ints:
        """Every slice of one operator, alone or shared; or those of exactly a set of several."""
        shown = self.traces[trace]
        wanted = set(operators)
        if len(operators) == 1:
            hit = [bool(wanted & set(x.operators)) for x in shown.table.links]
        else:
            hit = [wanted == set(x.operators) for x in shown.table.links]
        return np.flatnonzero(np.array(hit, np.bool_)[shown.trace.slices.key])

    def _in_run(self, trace: int, slices: Ints) -> Ints:
        """Of some slices those that begin in the picked run; all, if no run is picked."""
        if self.state.run is None or self.state.run[0] != trace:
            return slices
        shown = self.traces[trace].trace
        run, all_slices = shown.runs[self.state.run[1]], shown.slices
        start = all_slices.start[slices]
        on_track = (all_slices.row_track == run.track)[all_slices.rows()[slices]]
        begins = (start >= run.start) & ((start < run.end) | (run.start == run.end))
        inside: Ints = slices[on_track & begins]
        return inside

    def calls_of(self, trace: int, operators: tuple[int, ...]) -> tuple[int, int]:
        """How many slices are of just these operators, and of these and others, in the picked run.

        A kernel is counted with the call around it.
        """
        shown = self.traces[trace]
        found = self._in_run(trace, self.slices_of(trace, operators))
        keys = shown.trace.slices.key[found]
        calls = keys[shown.trace.keys.kind[keys] != KeyKind.KERNEL]
        counted = calls if len(calls) else keys
        distinct, count = np.unique(counted, return_counts=True)
        wanted = set(operators)
        exact = [set(shown.table.links[k].operators) == wanted for k in distinct.tolist()]
        own = int(count[np.array(exact, np.bool_)].sum())
        return own, len(counted) - own

    def _nearest(self, trace: int, slices: Ints) -> int:
        """Of some slices the one that begins nearest to the middle of the view."""
        shown = self.traces[trace]
        middle = shown.axis.to_ticks_floor((self.state.t0 + self.state.t1) // 2)
        start = shown.trace.slices.start[slices]
        return int(slices[np.argmin(np.abs(start - middle))])

    def _reveal(self, ref: SliceRef) -> None:
        """Bring a slice into the visible range, changing as little as possible, and its row too."""
        start, end = self.traces[ref.trace].span_ns(ref.index)
        t0, t1 = self.state.t0, self.state.t1
        if end <= t0 or start >= t1:
            span = t1 - t0
            middle = (start + end) // 2
            self.set_range(middle - span // 2, middle - span // 2 + span)
        self.revealed.emit(ref)

    # -- runs, folding, colours --------------------------------------------------------------

    def pick_run(self, run: tuple[int, int] | None) -> None:
        """Choose the inference that costs are of and show it as it ran; None is all of them."""
        self.show_inferences(Inferences.AS_RUN)
        state = replace(self.state, run=run)
        if run is not None:
            t0, t1 = _with_margin(*self.run_span_ns(run[0], self.traces[run[0]].trace.runs[run[1]]))
            t0, t1 = self._limited(t0, t1)
            state = replace(state, t0=t0, t1=t1)
        self._change(state)

    def step_run(self, by: int) -> None:
        """The next or previous inference of the trace of the picked one, at the same zoom."""
        self.show_inferences(Inferences.AS_RUN)
        trace = self.current_trace
        if trace is None:
            return
        runs = self.traces[trace].trace.runs
        numbers = [i for i, run in enumerate(runs) if run.kind is RunKind.INFERENCE]
        if not numbers:
            return
        now = self.state.run[1] if self.state.run and self.state.run[0] == trace else None
        at = numbers.index(now) + by if now in numbers else (0 if by > 0 else len(numbers) - 1)
        chosen = numbers[min(max(at, 0), len(numbers) - 1)]
        if now is None:
            self.pick_run((trace, chosen))
            return
        first, last = self.run_span_ns(trace, runs[now])
        # A slice stays with its run; what is selected now is the run.
        state = replace(self.state, slice=None, run=(trace, chosen))
        if self.state.t0 <= first and last <= self.state.t1:
            t0, t1 = self._limited(*_with_margin(*self.run_span_ns(trace, runs[chosen])))
            self._change(replace(state, t0=t0, t1=t1))
            return
        shift = self.run_span_ns(trace, runs[chosen])[0] - first
        t0, t1 = self._limited(self.state.t0 + shift, self.state.t1 + shift)
        self._change(replace(state, t0=t0, t1=t1))

    def run_span_ns(self, trace: int, run: Run) -> tuple[int, int]:
        """Where a run lies on the axis."""
        axis = self.traces[trace].axis
        return axis.to_ns(run.start), axis.to_ns(run.end)

    def run_ticks(self, trace: int) -> tuple[int, int] | None:
        """The ticks of the picked run if it is one of this trace, else None."""
        if self.state.run is None or self.state.run[0] != trace:
            return None
        run = self.traces[trace].trace.runs[self.state.run[1]]
        return run.start, run.end

    @property
    def current_trace(self) -> int | None:
        """The trace that panels are about: of the selection, of the picked run, or the first."""
        for part in (self.state.slice, self.state.operators, self.state.run):
            if part is not None:
                return part.trace if isinstance(part, SliceRef) else part[0]
        return 0 if self.traces else None

    def toggle(self, part: Part) -> None:
        """Fold or open a process or a track."""
        self._change(replace(self.state, collapsed=self.state.collapsed ^ {part}))

    def set_scheme(self, scheme: str) -> None:
        """Colour slices by "operator" or by "name"."""
        self._change(replace(self.state, scheme=scheme))

    def number_of(self, shown: OpenTrace) -> int | None:
        """The number of an open trace, None if it was closed or linked anew since."""
        return next((i for i, trace in enumerate(self.traces) if trace is shown), None)

    def operator(self, trace: int, index: int) -> Operator | None:
        """An operator of the program that a trace is linked to."""
        program = self.traces[trace].table.program
        return program.operators[index] if program else None

    # -- history -----------------------------------------------------------------------------

    def undo(self) -> None:
        """Take back the last change of the view."""
        self._last_range_change = float("-inf")
        if self._undo:
            self._redo.append(self.state)
            self._apply(self._undo.pop())

    def redo(self) -> None:
        """Make a change again that was taken back."""
        self._last_range_change = float("-inf")
        if self._redo:
            self._undo.append(self.state)
            self._apply(self._redo.pop())

    @property
    def can_undo(self) -> bool:
        return bool(self._undo)

    @property
    def can_redo(self) -> bool:
        return bool(self._redo)

    def _change(self, state: ViewState, *, remember: bool = True) -> None:
        if state == self.state:
            return
        self._last_range_change = float("-inf")  # any other change ends a burst
        if remember:
            self._undo.append(self.state)
            del self._undo[:-500]
            self._redo.clear()
        self._apply(state)

    def _apply(self, state: ViewState) -> None:
        old, self.state = self.state, state
        if old.inferences is not state.inferences:
            self._show(state.inferences)
            self._tell_all()
            return
        if (old.t0, old.t1) != (state.t0, state.t1):
            self.viewed.emit()
        if old.collapsed != state.collapsed:
            self.folded.emit()
        if old.scheme != state.scheme:
            self.coloured.emit()
        if (old.slice, old.operators, old.area) != (state.slice, state.operators, state.area):
            self.selected.emit()
        if old.run != state.run:
            self.run_picked.emit()
        self.history_changed.emit()


def _opened(trace: Trace, table: LinkTable, axis: Axis, inferences: Inferences) -> OpenTrace:
    """One trace as it is shown; the links of its keys hold for every view of it."""
    shown = trace
    if inferences is not Inferences.AS_RUN and has_run_views(trace):
        shown = aligned_runs(trace) if inferences is Inferences.ALIGNED else mean_run(trace)
        table = replace(table, trace=shown)
    labels, strings = slice_labels(table)
    return OpenTrace(trace, shown, table, axis, labels, strings, Costs(table))


def display_name(path: str) -> str:
    """The last component of a path, as headers and messages show it."""
    return os.path.basename(path) or path


def length_ns(shown: OpenTrace, ticks: int) -> int:
    """A length in ticks of a trace as ns."""
    return tick_to_ns(ticks, shown.axis.ns_per_tick)


def _with_margin(t0: int, t1: int) -> tuple[int, int]:
    """A range with 2 % of air on both sides."""
    air = max((t1 - t0) // 50, 1)
    return t0 - air, t1 + air
