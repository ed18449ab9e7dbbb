"""Compares the Torq compiler's estimates of actions with their measured times.

Both sides identify an action of a dispatch by number. An NSS job is one row: it is measured from
the start of the action that starts it to the end of the action that waits for it, the same interval
that its estimate covers. Every other action (copies, allocations, host programs) is a row with a
measurement only, since the compiler counts no cycles for host work.

Estimates, in order of preference: cycles in open debug info (a job from the start of its first task
to the end of its last); compile profiles with action IDs (C2; the action is the one that waits);
compile profiles with task IDs (C3), whose jobs only debug info knows. Without it, C3 is compared
operator by operator, through locations; the first of several such profiles counts. Measurements:
host profiles, annotated ones, profiles of NSS jobs. All files of the first kind that has an action
count; each execution is one run.

A file that does not name its dispatch is matched through debug info. Without it, a compile profile
belongs to the only measured dispatch whose waits include all of its actions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from viewer.analysis.links.labels import set_label
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.mlir_locations import (
    TextPositions,
    dispatch_of_scopes,
    misfit,
    operators_at,
)
from viewer.analysis.torq.measured_actions import (
    ASSUMED_CYCLES,
    Executions,
    MeasuredAction,
    MeasurementSource,
    PlannedJob,
    ProfileSlices,
    executions_of,
    is_compiled,
    measured_actions,
    profile_slices,
    several_dispatches,
    source_of,
)
from viewer.arrays import Floats, Ints, groups_of, lists_by_key
from viewer.dataclasses import dataclass, field
from viewer.model import intervals
from viewer.model.quantiles import median
from viewer.model.queries import numbers
from viewer.model.recorded_names import ACTION_ID, TASK_ID, job_name
from viewer.model.times import ClockRate
from viewer.model.trace import Trace
from viewer.program.program import Dispatch

NO_HOST_CYCLES = "The compiler does not estimate host work"
NO_ESTIMATE = (
    "No estimate is open: open the debug info of its dispatch (made with --torq-enable-profiling) "
    "or its compile profile"
)
NOT_MEASURED = "No open runtime profile includes it"


@dataclass(frozen=True, slots=True)
class Measured:
    """Statistics of an execution time over its runs, in ns.

    p50, min, max: None for the sum of several actions that ran different numbers of times, since
    their runs cannot be paired.
    """

    runs: int
    mean: float
    p50: float | None
    min: float | None
    max: float | None


@dataclass(frozen=True, slots=True)
class ComparedAction:
    """One row: estimate and measurement, and why one of them is missing.

    operators: indexes into the operators of `Estimates.table`'s program. on_npu: one or more NSS
    jobs. estimate: ticks of the compile clock; estimate_ns: the same at the rate in effect.
    """

    label: str
    operators: tuple[int, ...]
    on_npu: bool
    estimate: int | None
    estimate_ns: float | None
    measured: Measured | None
    reason: str = ""

    @property
    def excess_ns(self) -> float | None:
        """Measured mean - estimate, below 0 if it was faster; None if either is missing."""
        if self.measured is None or self.estimate_ns is None:
            return None
        return self.measured.mean - self.estimate_ns

    @property
    def ratio(self) -> float | None:
        """Measured mean / estimate; above 1 it took longer than estimated.

        None if either is missing.
        """
        if self.measured is None or not self.estimate_ns:
            return None
        return self.measured.mean / self.estimate_ns


@dataclass(frozen=True, slots=True)
class ActionRow(ComparedAction):
    """One action, or one NSS job with the actions that start it and wait for it.

    dispatch: "" if no file names it. action: for a job, the action that waits; None if unknown.
    """

    dispatch: str = ""
    action: int | None = None
    start_action: int | None = None
    job: int | None = None
    operation: str = ""


@dataclass(frozen=True, slots=True)
class OperatorRow(ComparedAction):
    """All actions of one set of operators, with NPU jobs and host work in separate rows."""

    actions: int = 0


@dataclass(frozen=True)
class Estimates:
    """Everything that can be compared in the open files.

    table: a link table of the program that owns the operators, None if no text is linked. sources:
    (file, "estimate" or "measurement") pairs. notes: what could not be used, and why. cycles: the
    duration of a cycle of the estimates, and its origin. plans: the jobs that have both an estimate
    and a measurement, with positions in the compared traces.
    """

    actions: tuple[ActionRow, ...]
    operators: tuple[OperatorRow, ...]
    table: LinkTable | None
    sources: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    cycles: ClockRate
    plans: tuple[PlannedJob, ...] = ()


def compare_estimates(
    traces: Sequence[Trace],
    dispatches: Sequence[Dispatch],
    links: Callable[[Trace], LinkTable],
    clock_rate: Callable[[Trace], ClockRate],
    cycles: ClockRate = ASSUMED_CYCLES,
) -> Estimates:
    """Compare all estimates and measurements in the open files.

    traces: all open ones; those of other runtimes are skipped. cycles: the duration of a cycle in
    debug info without an open compile profile; with one, its rate applies to both.
    """
    compiled = [trace for trace in traces if is_compiled(trace)]
    measured = [trace for trace in traces if source_of(trace) is not None]
    if compiled:
        cycles = clock_rate(compiled[0])
    table = _text_table([links(t) for t in (*measured, *compiled)])
    comparison = _Comparison(dispatches, table, {id(t): i for i, t in enumerate(traces)})
    for dispatch in dispatches:
        comparison.add_debug_info(dispatch, cycles)
    for trace in measured:
        comparison.add_measurements(trace, clock_rate(trace).ns_per_tick)
    for trace in compiled:
        comparison.add_compile_profile(trace, links(trace), clock_rate(trace))
    return comparison.result(cycles)


def _text_table(tables: Sequence[LinkTable]) -> LinkTable | None:
    """Return the first link table of an MLIR text, ignoring those of debug info itself."""
    for table in tables:
        program = table.program
        if program is not None and program.is_mlir and not program.dispatches:
            return table
    return None


class _Comparison:
    """Collects rows by (dispatch, whether it is a job, number)."""

    def __init__(
        self,
        dispatches: Sequence[Dispatch],
        table: LinkTable | None,
        position: Mapping[int, int],
    ) -> None:
        """position: the position of each compared trace, by its id."""
        self._dispatches = dispatches
        self._position = position
        self._table = table
        self._texts = TextPositions(table.program) if table and table.program else None
        self._drafts: dict[tuple[str, bool, int], Draft] = {}
        self._sources: dict[tuple[str, str], None] = {}
        self._notes: dict[str, None] = {}
        # For C3 files without debug info: operators -> (ticks, ns) in which any unit works for
        # them. Not summed over files, because two files are more likely two compilations than two
        # dispatches.
        self._by_operators: dict[tuple[int, ...], tuple[int, float]] = {}

    def _job(self, dispatch: str, job: int) -> Draft:
        return self._drafts.setdefault((dispatch, True, job), Draft(dispatch, job, None))

    def _action(self, dispatch: str, action: int) -> Draft:
        return self._drafts.setdefault((dispatch, False, action), Draft(dispatch, None, action))

    def _note(self, trace: Trace, why: str) -> None:
        self._notes[f"{os.path.basename(trace.path)}: {why}"] = None

    # -- sources -----------------------------------------------------------------------------

    def add_debug_info(self, dispatch: Dispatch, rate: ClockRate) -> None:
        """Add its jobs with their cycles, and its other actions."""
        for job in dispatch.jobs.values():
            draft = self._job(dispatch.name, job.id)
            draft.action, draft.start_action, draft.operation = (
                job.wait_action,
                job.start_action,
                job.name,
            )
            actions = [
                dispatch.actions[a] for a in (job.wait_action, job.start_action) if a is not None
            ]
            draft.location = next((a.location for a in actions), "")
            if job.start is not None and job.end is not None:
                draft.expect(job.end - job.start, rate, dispatch.path)
                self._sources[dispatch.path, "estimate"] = None
        for action in dispatch.actions.values():
            if action.job is None:
                draft = self._action(dispatch.name, action.id)
                draft.operation = f"{action.op} {action.invocation}".rstrip()
                draft.location = action.location

    def add_measurements(self, trace: Trace, rate: Fraction) -> None:
        """Add the times of the jobs and the other actions in a runtime profile."""
        source = source_of(trace)
        assert source is not None
        if why := several_dispatches(trace):
            self._note(trace, why)
            return
        if why := misfit(trace, self._dispatches):
            self._note(trace, why)
        for measured_action in measured_actions(trace, self._dispatches, rate):
            self._add_measured(trace, measured_action, source)
            self._sources[trace.path, "measurement"] = None

    def _add_measured(
        self, trace: Trace, measured_action: MeasuredAction, source: MeasurementSource
    ) -> None:
        if measured_action.job is not None:
            draft = self._job(measured_action.dispatch, measured_action.job)
            draft.executions.append(
                executions_of(trace, self._position[id(trace)], measured_action.slices)
            )
            if draft.action is None and draft.start_action is None:
                draft.start_action, draft.action = (
                    measured_action.start_action,
                    measured_action.action,
                )
        else:
            assert measured_action.action is not None
            draft = self._action(measured_action.dispatch, measured_action.action)
        draft.operation = draft.operation or measured_action.name
        draft.location = draft.location or measured_action.location
        draft.measured.setdefault(source, []).append(measured_action.ns)

    def add_compile_profile(self, trace: Trace, table: LinkTable, rate: ClockRate) -> None:
        """Add the cycles of its actions or tasks, for rows without cycles in debug info."""
        dispatch = next(iter(dispatch_of_scopes(trace, self._dispatches)), None)
        if why := misfit(trace, self._dispatches):
            self._note(trace, why)
        is_of_text = self._table is not None and table.program is self._table.program
        if ACTION_ID in trace.slices.columns:
            used = self._add_actions(trace, table if is_of_text else None, rate, dispatch)
        elif dispatch is not None:
            used = self._add_tasks(trace, rate, dispatch)
        else:
            used = is_of_text and self._add_by_operators(trace, table, rate.ns_per_tick)
            how = "it is compared by operators only" if used else "it is not compared"
            self._note(
                trace, f"It numbers tasks, and only debug info assigns tasks to actions: {how}"
            )
        if used:
            self._sources[trace.path, "estimate"] = None

    def _add_actions(
        self, trace: Trace, table: LinkTable | None, rate: ClockRate, dispatch: Dispatch | None
    ) -> bool:
        index, ids = numbers(trace, ACTION_ID)
        name = dispatch.name if dispatch else self._dispatch_that_waits(trace, set(ids.tolist()))
        if name is None:
            return False
        jobs = {
            d.action: d for d in self._drafts.values() if d.dispatch == name and d.job is not None
        }
        used = False
        for action, members in groups_of(ids):
            draft = jobs.get(action) or self._action(name, action)
            draft.operation = draft.operation or f"action {action}"
            used |= draft.expect_slices(trace, self._position[id(trace)], rate, index[members])
            if table is not None and not draft.location:
                keys = np.unique(trace.slices.key[index[members]]).tolist()
                draft.operators = tuple(sorted({i for k in keys for i in table.links[k].operators}))
        return used

    def _dispatch_that_waits(self, trace: Trace, waited: set[int]) -> str | None:
        """Return the measured dispatch that waits for all actions of a compile profile, or None.

        "" if nothing was measured.
        """
        waits: dict[str, set[int]] = {}
        for draft in self._drafts.values():
            if draft.job is not None and draft.action is not None:
                waits.setdefault(draft.dispatch, set()).add(draft.action)
        fitting = [name for name, actions in waits.items() if waited <= actions]
        if len(fitting) == 1 or not waits:
            return fitting[0] if fitting else ""
        self._note(
            trace,
            f"It does not name its dispatch and matches each of {' and '.join(fitting)}"
            if fitting
            else "It has actions that no open dispatch has: it belongs to another dispatch",
        )
        return None

    def _add_tasks(self, trace: Trace, rate: ClockRate, dispatch: Dispatch) -> bool:
        index, ids = numbers(trace, TASK_ID)
        distinct, code = np.unique(ids, return_inverse=True)
        # A row without a known unit may have any number, because it did not take part in matching.
        tasks = map(dispatch.tasks.get, distinct.tolist())
        jobs = (None if task is None else task.job for task in tasks)
        job_of = np.array([-1 if job is None else job for job in jobs], np.int64)
        used = False
        for job, members in groups_of(job_of[code]):
            if job >= 0:
                draft = self._job(dispatch.name, job)
                used |= draft.expect_slices(trace, self._position[id(trace)], rate, index[members])
        return used

    def _add_by_operators(self, trace: Trace, table: LinkTable, rate: Fraction) -> bool:
        slices = trace.slices
        operator_sets = set(self._by_operators)
        for number, index in groups_of(table.set_of_key[slices.key]):
            if number < 0:
                continue
            operators = table.sets[number]
            if operators in operator_sets:
                self._note(trace, "Operators in an earlier compile profile use its estimates")
                continue
            ticks = intervals.length(slices.start[index], slices.end[index])
            self._by_operators[operators] = ticks, float(ticks * rate)
        return len(self._by_operators) > len(operator_sets)

    # -- result ------------------------------------------------------------------------------

    def result(self, cycles: ClockRate) -> Estimates:
        """Return all rows, in the order of dispatches and of the actions in each."""
        order = {name: i for i, name in enumerate(dict.fromkeys(k[0] for k in self._drafts))}
        drafts = sorted(self._drafts.values(), key=lambda d: (order[d.dispatch], *d.place()))
        values = [draft.values() for draft in drafts]
        rows = [
            self._row(draft, measurements)
            for draft, measurements in zip(drafts, values, strict=True)
        ]
        plans = (draft.plan(row.label) for draft, row in zip(drafts, rows, strict=True))
        return Estimates(
            tuple(rows),
            tuple(self._operator_rows(rows, values)),
            self._table,
            tuple(self._sources),
            tuple(self._notes),
            cycles,
            tuple(plan for plan in plans if plan is not None),
        )

    def _row(self, draft: Draft, values: Floats) -> ActionRow:
        operators = draft.operators
        if draft.location and self._texts is not None:
            operators = tuple(operators_at(draft.location, self._texts)) or operators
        on_npu = draft.job is not None or draft.estimate is not None
        measured = _measured(values)
        return ActionRow(
            self._label(operators) or draft.operation,
            operators,
            on_npu,
            draft.estimate,
            draft.estimate_ns,
            measured,
            _reason(on_npu, draft.estimate, measured),
            dispatch=draft.dispatch,
            action=draft.action,
            start_action=draft.start_action,
            job=draft.job,
            operation=draft.operation,
        )

    def _label(self, operators: tuple[int, ...]) -> str:
        """Return the label of an action's operators; "" for functions, which are only locations."""
        table = self._table
        if table is None or table.program is None:
            return ""
        if all(table.program.operators[i].is_function for i in operators):
            return ""
        return set_label(table, operators)

    def _operator_rows(
        self, rows: Sequence[ActionRow], values: Sequence[Floats]
    ) -> Iterable[OperatorRow]:
        """Yield rows per set of operators, jobs and host work separately, with C3 estimates."""
        members = lists_by_key(
            ((tuple(sorted(row.operators)), row.on_npu), i)
            for i, row in enumerate(rows)
            if row.operators
        )
        for operators in self._by_operators:
            members.setdefault((operators, True), [])
        for (operators, on_npu), indexes in members.items():
            estimate_pairs = [(rows[i].estimate, rows[i].estimate_ns) for i in indexes]
            estimate, ns = _sum_of_estimates(estimate_pairs)
            if on_npu and not any(ticks is not None for ticks, _ in estimate_pairs):
                estimate, ns = self._by_operators.get(operators, (None, None))
            measured = _sum_of_measurements([values[i] for i in indexes])
            reason = _reason(on_npu, estimate, measured)
            missing = sum(ticks is None for ticks, _ in estimate_pairs)
            if on_npu and estimate is None and missing < len(indexes):
                reason = f"{missing} of its {len(indexes)} actions have no estimate"
            elif measured is None and any(len(values[i]) for i in indexes):
                missing = sum(not len(values[i]) for i in indexes)
                reason = f"{missing} of its {len(indexes)} actions were not measured"
            yield OperatorRow(
                set_label(self._table, operators) if self._table else "",
                operators,
                on_npu,
                estimate,
                ns,
                measured,
                reason,
                actions=len(indexes),
            )


def _reason(on_npu: bool, estimate: int | None, measured: Measured | None) -> str:
    """Return why a side is missing, "" if none is."""
    if estimate is None:
        return NO_ESTIMATE if on_npu else NO_HOST_CYCLES
    return NOT_MEASURED if measured is None else ""


def _measured(values: Floats) -> Measured | None:
    if not len(values):
        return None
    return Measured(
        len(values),
        float(values.mean()),
        median(values),
        float(values.min()),
        float(values.max()),
    )


def _sum_of_estimates(
    estimate_pairs: Sequence[tuple[int | None, float | None]],
) -> tuple[int | None, float | None]:
    """Return the sum, or None unless all are known: a partial sum cannot be compared."""
    ticks = [t for t, _ in estimate_pairs if t is not None]
    ns = [n for _, n in estimate_pairs if n is not None]
    return (
        (sum(ticks), sum(ns))
        if estimate_pairs and len(ticks) == len(estimate_pairs)
        else (None, None)
    )


def _sum_of_measurements(values: Sequence[Floats]) -> Measured | None:
    """Sum the n-th executions of all actions as one run; None unless all were measured."""
    if not values or not all(map(len, values)):
        return None
    if len(set(map(len, values))) == 1:
        return _measured(np.sum(values, axis=0))
    mean = sum(float(value.mean()) for value in values)
    return Measured(min(map(len, values)), mean, None, None, None)


# One row of the comparison of estimates and measurements, while its sources are collected.


@dataclass(slots=True)
class Draft:
    """A row under construction.

    measured: the times in ns per kind of file. executions: the slices of a job in each of them.
    source: the file of the estimate. profiles: the slices of a job in compile profiles, as (trace,
    its position among the compared ones, rate, slices).
    """

    dispatch: str
    job: int | None
    action: int | None
    start_action: int | None = None
    operation: str = ""
    location: str = ""
    operators: tuple[int, ...] = ()
    estimate: int | None = None
    estimate_ns: float | None = None
    measured: dict[MeasurementSource, list[Floats]] = field(default_factory=dict)
    executions: list[Executions] = field(default_factory=list)
    source: str = ""
    rate: ClockRate | None = None
    profiles: list[tuple[Trace, int, ClockRate, Ints]] = field(default_factory=list)

    def expect(self, ticks: int, rate: ClockRate, source: str) -> bool:
        """Set the estimate, unless a better source already has; return whether it was set."""
        if self.estimate is not None:
            return False
        self.estimate, self.estimate_ns = ticks, float(ticks * rate.ns_per_tick)
        self.rate, self.source = rate, source
        return True

    def expect_slices(self, trace: Trace, number: int, rate: ClockRate, index: Ints) -> bool:
        """Set the estimate to the span of slices of a compile profile, as `expect` does."""
        if self.job is not None:
            self.profiles.append((trace, number, rate, index))
        return self.expect(span_of(trace, index), rate, trace.path)

    def values(self) -> Floats:
        """Return the measured times from the best kind of file."""
        parts = self.measured[min(self.measured)] if self.measured else []
        return np.concatenate(parts) if parts else np.empty(0)

    def place(self) -> tuple[int, bool]:
        """Return the sort key among the rows of its dispatch."""
        action_numbers = (self.start_action, self.action, self.job)
        return next(number for number in action_numbers if number is not None), self.job is None

    def plan(self, label: str) -> PlannedJob | None:
        """Return the plan of a measured job with an estimate above 0, else None."""
        if self.job is None or not self.estimate or not self.executions:
            return None
        assert self.rate is not None
        assert self.estimate_ns is not None
        return PlannedJob(
            self.dispatch,
            job_name(self.job),
            label,
            self.estimate,
            self.estimate_ns,
            self.rate,
            self.source,
            self._profile(self.rate),
            tuple(self.executions),
        )

    def _profile(self, rate: ClockRate) -> ProfileSlices | None:
        """Return the slices of the first compile profile whose estimate is the one in effect."""
        for trace, number, own_rate, index in self.profiles:
            same = own_rate.ns_per_tick == rate.ns_per_tick
            if same and span_of(trace, index) == self.estimate:
                slices = profile_slices(trace, number, index)
                if slices is not None:
                    return slices
        return None


def span_of(trace: Trace, index: Ints) -> int:
    """Return the ticks from the first start to the last end of some slices."""
    return int(trace.slices.end[index].max() - trace.slices.start[index].min())
