"""Delegation: what ran in delegates and for how long, what was not delegated, what has no link.

A *delegate instance* is one DELEGATE_CALL instruction of a method: one lowered partition of the
graph. Every instant of a track is charged once: to the instance whose call is active, else to the
operators that ran outside, else to neither. So the three add up to the total of
`viewer.analysis.cost.costs`. Inside a call, time that no event on the ETDump's own clock covers is
its *unattributed* part; without any such event it is unknown, not 0.

Some of it can be due to rounding alone. XNNPACK cuts the duration of each event to whole µs and
puts its events one after another, from a start that it measured. So each event loses less than 1
µs, half of that on average, and what they lose adds up behind them: the time before the first event
is not rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from viewer.analysis.cost.costs import FreeTime, length_within, whole_slices
from viewer.analysis.cost.event_times import made_of_others, stated_alone
from viewer.analysis.links.coverage import (
    Coverage,
    coverage,
    covered_ticks,
    remedy,
    starts_within,
    stated_per_key,
)
from viewer.analysis.links.labels import key_labels, operator_count, set_label
from viewer.analysis.links.link_table import Link, LinkState, LinkTable, Reason
from viewer.arrays import Ints, counts_of, flags_at, lists_by_key
from viewer.dataclasses import dataclass
from viewer.model.charging import Segments, charge, total_per_group
from viewer.model.figures import WHOLE, TimeScope
from viewer.model.queries import children_of, foreign, parent_of
from viewer.model.times import counted, group_digits
from viewer.model.timing import ROUNDING_TICKS, Timing
from viewer.model.trace import KeyKind, Trace
from viewer.program.debug_handles import NO_INSTRUCTION
from viewer.program.program import Method, Program

if TYPE_CHECKING:
    from viewer.analysis.delegates.why_outside import WhyOutside


_DELEGATED = (int(KeyKind.DELEGATE_CALL), int(KeyKind.DELEGATE_EVENT))
_CALLED = (int(KeyKind.OPERATOR_CALL), int(KeyKind.KERNEL))
_CALL, _EVENT = _DELEGATED


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """One delegate instance of a method, and the time of its calls in a range.

    label: as on the timeline, "XnnpackBackend · 5 ops". method: without an ETRecord, the file's
    name for the runs. instruction: -1 for events that name no call. operators: indexes into
    `Program.operators`; empty if unknown, and `why` gives the reason. calls: how many start in the
    range. ticks: time of the calls, or of the events if the file has no calls. covered: the part of
    `ticks` in which an event runs. events, foreign: how many events start in the range, and how
    many of these are on a separate clock. keys: of its calls and events; empty if it never ran.
    """

    label: str
    method: str
    instruction: int
    backend: str
    operators: tuple[int, ...]
    why: str
    has_call: bool
    calls: int = 0
    ticks: int = 0
    covered: int = 0
    events: int = 0
    foreign: int = 0
    keys: tuple[int, ...] = ()

    @property
    def unattributed(self) -> int | None:
        """Ticks of the calls that no event inside covers; None if unknown."""
        return None if self.why_not_attributed else self.ticks - self.covered

    @property
    def why_not_attributed(self) -> str:
        """Why it is unknown how much of the calls their events cover; "" if it is known."""
        if not self.keys:
            return "this profile has no calls"
        if not self.has_call:
            return "the file has the delegate's events, but not its calls"
        if not self.events:
            return "the delegate logged no events in its calls"
        if self.events == self.foreign:
            return "the delegate's events have a separate clock"
        return ""


@dataclass(frozen=True, slots=True, eq=False)
class NotDelegated:
    """A set of operators, or unlinked kernels of one name, that ran outside any delegate.

    operators: indexes into `Program.operators`, empty for kernels without a link. ticks: self time.
    slices: how many start in the range; a kernel inside its call is not counted separately. why:
    why they were not delegated, "" if no file shows it. is_logged: whether a partitioner logged it.
    """

    label: str
    operators: tuple[int, ...]
    ticks: int
    slices: int
    keys: tuple[int, ...]
    why: str = ""
    is_logged: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Unlinked:
    """The slices that have no link for one reason (and one backend), and how to fix that.

    slices: slices in the file (not derived) that start in the range. ticks: time in which any of
    them runs, excluding foreign clocks; it may overlap that of another reason. detail: the detail
    text of the first key's link. details: how many different detail texts the links have.
    """

    reason: Reason
    backend: str
    slices: int
    ticks: int
    detail: str
    details: int
    remedy: str
    keys: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class DelegationReport:
    """What was delegated in a range of a trace, most expensive first.

    whole = the ticks of all instances + all of `not_delegated_rows` + `no_operator`. unlinked:
    linkable reasons first, then by slices. ran: False for an ETRecord alone, where
    nothing ran and all times are 0. has_calls: whether the file comes from a runtime that calls
    delegates.
    """

    instances: tuple[Instance, ...]
    not_delegated_rows: tuple[NotDelegated, ...]
    no_operator: int
    coverage: Coverage
    unlinked: tuple[Unlinked, ...]
    ran: bool = True
    has_calls: bool = True

    @property
    def delegated(self) -> int:
        """Ticks of all delegate calls."""
        return sum(instance.ticks for instance in self.instances)

    @property
    def not_delegated(self) -> int:
        """Ticks of everything that ran outside delegates."""
        return sum(row.ticks for row in self.not_delegated_rows)

    @property
    def whole(self) -> int:
        """The total behind all shares: `Method::execute`, else the busy time of all tracks."""
        return self.delegated + self.not_delegated + self.no_operator


class Delegation:
    """Queries about the delegates of one linked trace; everything range-independent is cached."""

    def __init__(self, table: LinkTable) -> None:
        self.table = table
        self._trace = table.trace

    def report(self, scope: TimeScope = WHOLE) -> DelegationReport:
        trace, table = self._trace, self.table
        inside = starts_within(trace, scope) & ~made_of_others(trace)
        count = counts_of(trace.slices.key, len(trace.keys), inside)
        native = flags_at(len(trace.slices), foreign(trace.slices))
        on_own_clock = counts_of(trace.slices.key, len(trace.keys), inside & native)
        groups = 2 * len(self._places) + len(self._outside)
        ticks = total_per_group(self._segments, groups, *scope.span, warm_up=scope.warm_up)
        calls, events = ticks[: 2 * len(self._places)].reshape(-1, 2).T.tolist()
        instances = [
            self._instance(place, keys, calls[n], events[n], count, on_own_clock)
            for n, (place, keys) in enumerate(self._places.items())
        ]
        instances = sorted(instances, key=lambda row: -row.ticks) + self._not_run
        first_own = 2 * len(self._places)
        outside = [
            NotDelegated(
                label,
                operators,
                own_ticks,
                calls_of_group,
                keys,
                *_why(self.why_outside, operators),
            )
            for (label, operators, keys), own_ticks, calls_of_group in zip(
                self._outside,
                ticks[first_own:].tolist(),
                self._calls(count)[first_own:].tolist(),
                strict=True,
            )
            if calls_of_group or own_ticks
        ]
        return DelegationReport(
            tuple(instances),
            tuple(sorted(outside, key=lambda row: -row.ticks)),
            length_within(self._free, trace, scope),
            coverage(table, scope),
            self._unlinked(scope),
            has_calls=bool(np.isin(trace.keys.kind, (*_DELEGATED, *_CALLED)).any()),
        )

    @cached_property
    def why_outside(self) -> WhyOutside | None:
        """What is known about operators that were not delegated; None without a record."""
        program = self.table.program
        if program is None or program.is_mlir or program.is_recorded:
            return None
        return _why_outside(program, self.table.rejected)

    def slices_of(self, keys: Iterable[int], scope: TimeScope = WHOLE) -> Ints:
        """Return the slices of some keys that start in a scope and are not derived, ascending."""
        selected = flags_at(len(self._trace.keys), list(keys))
        selected = selected[self._trace.slices.key] & starts_within(self._trace, scope)
        if self._trace.slices.derived is not None:
            selected &= ~self._trace.slices.derived
        return np.flatnonzero(selected)

    def call_keys(self, instance: Instance) -> list[int]:
        """Return the keys of an instance's calls, or of its events if the file has no calls."""
        kind = self._trace.keys.kind
        calls = [k for k in instance.keys if kind[k] == _CALL]
        return calls or list(instance.keys)

    # -- instances ---------------------------------------------------------------------------------

    @cached_property
    def _places(self) -> dict[tuple[str | int, int], list[int]]:
        """Map (method or scope, instruction) to the keys of that instance.

        The scope is used if the method is unknown.
        """
        keys, links = self._trace.keys, self.table.links
        scope, instruction = keys.scope.tolist(), keys.instruction.tolist()
        methods = [self.table.method_of_scope(s) for s in range(len(self._trace.scopes))]
        return lists_by_key(
            ((methods[scope[key]] or scope[key], instruction[key]), key)
            for key in np.flatnonzero(np.isin(keys.kind, _DELEGATED)).tolist()
            if links[key].reason is not Reason.OUTSIDE_CALLS
        )

    @cached_property
    def _labels(self) -> list[str]:
        return key_labels(self.table)

    def _instance(
        self,
        place: tuple[str | int, int],
        keys: list[int],
        call_ticks: int,
        event_ticks: int,
        count: Ints,
        on_own_clock: Ints,
    ) -> Instance:
        (method_or_scope, instruction), kind, links = place, self._trace.keys.kind, self.table.links
        calls = [key for key in keys if kind[key] == _CALL]
        events = [key for key in keys if kind[key] == _EVENT]
        backends = dict.fromkeys(links[key].backend for key in keys if links[key].backend)
        backend = " and ".join(backends)
        call = next((links[key] for key in calls), None)
        label = self._labels[calls[0]] if calls else backend or "delegate"
        return Instance(
            label=label,
            method=method_or_scope
            if isinstance(method_or_scope, str)
            else self._trace.scopes[method_or_scope].name,
            instruction=instruction,
            backend=backend,
            operators=call.operators
            if call
            else tuple(sorted({i for key in events for i in links[key].operators})),
            why="" if call and call.operators else _why_unknown(call),
            has_call=bool(calls),
            calls=int(count[calls].sum()),
            ticks=call_ticks + event_ticks,
            covered=event_ticks,
            events=int(count[events].sum()),
            foreign=int(on_own_clock[events].sum()),
            keys=tuple(keys),
        )

    @cached_property
    def _not_run(self) -> list[Instance]:
        """The instances of the ETRecord whose call the trace does not have.

        Methods whose events name no call are left out. Empty if the method of any run is unknown.
        """
        program, ran = self.table.program, set(self._places)
        if program is None or any(isinstance(method, int) for method, _ in ran):
            return []
        methods = {method for method, _ in ran}
        return [
            row
            for row in instances_of(program)
            if (row.method, row.instruction) not in ran
            and (row.method, NO_INSTRUCTION) not in ran
            and (row.instruction != NO_INSTRUCTION or row.method not in methods)
        ]

    # -- time --------------------------------------------------------------------------------------

    @cached_property
    def _group_of_key(self) -> Ints:
        """Per key its group: 2n for a call of instance n, 2n + 1 for an event in it, -1 for none.

        The groups of operator sets follow, then those of labels. Time in a call that is in no other
        group, including its unattributed gaps, is the call's own time.
        """
        keys = self._trace.keys
        group = np.full(len(keys), -1)
        for number, own in enumerate(self._places.values()):
            at = np.array(own)
            group[at] = 2 * number + (keys.kind[at] == _EVENT)
        first = 2 * len(self._places)
        delegated = np.isin(keys.kind, _DELEGATED)
        linked = (self.table.set_of_key >= 0) & ~delegated
        group[linked] = first + self.table.set_of_key[linked]
        first += len(self.table.sets)
        for number, own in enumerate(self._outside_labels.values()):
            group[own] = first + number
        return stated_alone(self._trace, group)

    @cached_property
    def _outside_labels(self) -> dict[str, list[int]]:
        """Map each label to the keys of the calls and kernels that have it and no link."""
        kinds = np.isin(self._trace.keys.kind, _CALLED) & (self.table.set_of_key < 0)
        return lists_by_key((self._labels[key], key) for key in np.flatnonzero(kinds).tolist())

    @cached_property
    def _segments(self) -> Segments:
        return charge(self._trace, self._group_of_key).of_threads

    @cached_property
    def _free(self) -> FreeTime:
        return FreeTime(self._trace, self._segments, whole_slices(self._trace))

    # -- outside -----------------------------------------------------------------------------------

    @cached_property
    def _outside(self) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
        """Label, operators and keys of everything that runs outside delegates, in group order.

        The sets of operators come first, then the labels without a link.
        """
        named = [(set_label(self.table, own), own) for own in self.table.sets]
        named += [(label, ()) for label in self._outside_labels]
        keys = [*self._keys_of_sets, *self._outside_labels.values()]
        return [(*one, tuple(own)) for one, own in zip(named, keys, strict=True)]

    @cached_property
    def _keys_of_sets(self) -> list[list[int]]:
        """Per set of operators the keys outside delegates that are linked to it."""
        found: list[list[int]] = [[] for _ in self.table.sets]
        kind = self._trace.keys.kind
        sets = self.table.set_of_key.tolist()
        for key in np.flatnonzero((self.table.set_of_key >= 0) & ~np.isin(kind, _DELEGATED)):
            found[sets[key]].append(int(key))
        return found

    def _calls(self, count: Ints) -> Ints:
        """Return the number of slices per group, without kernels if there are calls around them.

        count: the number of slices of every key.
        """
        group, groups = self._group_of_key, 2 * len(self._places) + len(self._outside)
        every, kernels = np.zeros((2, groups), np.int64)
        own = np.flatnonzero(group >= 0)
        np.add.at(every, group[own], count[own])
        kernel = own[self._trace.keys.kind[own] == KeyKind.KERNEL]
        np.add.at(kernels, group[kernel], count[kernel])
        return np.where(every > kernels, every - kernels, every)

    # -- links -------------------------------------------------------------------------------------

    @cached_property
    def _reasons(self) -> dict[tuple[Reason, str], list[int]]:
        """Map (reason, backend) to the keys that are not linked for that reason."""
        found: dict[tuple[Reason, str], list[int]] = {}
        for key, link in enumerate(self.table.links):
            if link.reason.state is not LinkState.LINKED:
                backend = link.backend if link.reason.state is LinkState.UNLINKED else ""
                found.setdefault((link.reason, backend), []).append(key)
        return found

    def _unlinked(self, scope: TimeScope) -> tuple[Unlinked, ...]:
        trace, links = self._trace, self.table.links
        count = stated_per_key(trace, scope)
        rows = []
        for (reason, backend), keys in self._reasons.items():
            slices = int(count[keys].sum())
            if not slices:
                continue
            present = [key for key in keys if count[key]]
            details = list(dict.fromkeys(links[key].detail for key in present))
            # Per call, the operators linked to it; several calls may have the same ones.
            calls = {
                (int(trace.keys.scope[key]), int(trace.keys.instruction[key])): links[key].near
                for key in present
                if links[key].near
            }
            operators = len({i for near in calls.values() for i in near})
            mask = flags_at(len(trace.keys), list(keys))
            rows.append(
                Unlinked(
                    reason,
                    backend,
                    slices,
                    covered_ticks(trace, mask, scope),
                    details[0],
                    len(details),
                    remedy(trace, reason, backend, len(calls), operators, details),
                    tuple(keys),
                )
            )
        linkable = {LinkState.UNLINKED: 0, LinkState.NOT_LINKABLE: 1}
        return tuple(sorted(rows, key=lambda row: (linkable[row.reason.state], -row.slices)))


def _why_outside(program: Program, logged: Mapping[int, str]) -> WhyOutside:
    from viewer.analysis.delegates.why_outside import WhyOutside

    delegated = (i for one in instances_of(program) for i in one.operators)
    return WhyOutside(program, logged, frozenset(delegated))


def _why(why: WhyOutside | None, operators: Sequence[int]) -> tuple[str, bool]:
    """Return why some operators were not delegated, and whether a partitioner logged that."""
    if why is None:
        return "", False
    return why.of_set(operators), any(i in why.logged for i in operators)


def recorded(program: Program, rejected: Mapping[int, str] | None = None) -> DelegationReport:
    """Return the report for an ETRecord alone: its delegate instances and what stays outside.

    rejected: what a partitioner logged of operators.

    Nothing ran, so all times are 0. Operators without an instruction in the ETRecord are in neither
    list.
    """
    outside = dict.fromkeys(
        operators_of(method, handles)
        for method in program.methods
        for instruction, handles in method.handles.items()
        if instruction not in method.delegates
    )
    why = _why_outside(program, rejected or {})
    rows = tuple(
        NotDelegated(
            " + ".join(program.operators[i].label for i in found),
            found,
            0,
            0,
            (),
            *_why(why, found),
        )
        for found in outside
        if found
    )
    nothing = Coverage(0, 0, 0, 0)
    return DelegationReport(tuple(instances_of(program)), rows, 0, nothing, (), ran=False)


def instances_of(program: Program) -> list[Instance]:
    """Return the delegate instances of an ETRecord, as if none had run."""
    instances = []
    for method in program.methods:
        for instruction, delegate in sorted(method.delegates.items()):
            handles = method.handles.get(instruction, ())
            if method.delegates_only:
                handles = tuple(h for value in (delegate.entries or {}).values() for h in value)
            operators = operators_of(method, handles)
            label = f"{delegate.backend or 'delegate'} · {operator_count(len(operators))}"
            if len(operators) == 1:
                label = program.operators[operators[0]].label
            why = "" if operators else f"The {program.title} has no operators for this call"
            instances.append(
                Instance(label, method.name, instruction, delegate.backend, operators, why, True)
            )
    return instances


def operators_of(method: Method, handles: Iterable[int]) -> tuple[int, ...]:
    """Return the indexes of the operators with some debug handles, without duplicates, in order."""
    known = (method.by_handle.get(handle) for handle in dict.fromkeys(handles))
    return tuple(operator.index for operator in known if operator is not None)


def _why_unknown(call: Link | None) -> str:
    return call.detail if call else "The file has no delegate calls, so their operators are unknown"


@dataclass(frozen=True, slots=True)
class LoweringCounts:
    """Numbers of operators, each counted once, of backends and of delegate calls.

    partly: operators with nodes both in a delegate call and outside; they are in neither of the
    other two numbers.
    """

    delegated: int
    partly: int
    not_delegated: int
    backends: int
    calls: int

    @property
    def operators_text(self) -> str:
        """Text such as "36 operators delegated, 3 partly, 2 not delegated"; "" without any."""
        counts = (
            (self.delegated, "delegated"),
            (self.partly, "partly" if self.delegated else "partly delegated"),
            (self.not_delegated, "not delegated"),
        )
        parts = [(count, how) for count, how in counts if count]
        texts = [f"{counted(count, 'operator')} {how}" for count, how in parts[:1]]
        return ", ".join(texts + [f"{group_digits(count)} {how}" for count, how in parts[1:]])

    @property
    def calls_text(self) -> str:
        """Text such as "1 backend, 5 delegate calls"; "" without calls."""
        if not self.calls:
            return ""
        return f"{counted(self.backends, 'backend')}, {counted(self.calls, 'delegate call')}"


def lowering_counts(report: DelegationReport) -> LoweringCounts:
    """Count the operators and calls of the report for an ETRecord alone."""
    inside = {i for instance in report.instances for i in instance.operators}
    outside = {i for row in report.not_delegated_rows for i in row.operators}
    return LoweringCounts(
        len(inside - outside),
        len(inside & outside),
        len(outside - inside),
        len({instance.backend for instance in report.instances}),
        len(report.instances),
    )


@dataclass(frozen=True, slots=True)
class RoundingLoss:
    """The most time that rounding can have taken from events, in ticks, and how many they are."""

    ticks: int
    events: int


def rounding_loss(trace: Trace, i: int) -> RoundingLoss | None:
    """Return what rounding can explain of the unattributed time of slice i.

    Slice i is a delegate call or an unattributed part of one; None for others, and if rounding
    explains nothing. The events are those before the part, or all of the call.
    """
    slices, kind = trace.slices, trace.keys.kind
    is_part = kind[slices.key[i]] == KeyKind.UNATTRIBUTED
    if slices.timing is None or not (is_part or kind[slices.key[i]] == KeyKind.DELEGATE_CALL):
        return None
    call = parent_of(slices, i) if is_part else i
    inner = children_of(slices, call) if call >= 0 else np.empty(0, np.int64)
    events = inner[(slices.timing[inner] & np.uint8(Timing.ROUNDED)) != 0]
    if not len(events):
        return None
    parts = inner[kind[slices.key[inner]] == KeyKind.UNATTRIBUTED]
    if is_part:
        parts = np.array([i])
        events = events[slices.end[events] <= slices.start[i]]
    after = parts[slices.start[parts] >= slices.end[events].min(initial=np.iinfo(np.int64).max)]
    unattributed = int((slices.end[after] - slices.start[after]).sum())
    ticks = min(ROUNDING_TICKS * len(events), unattributed)
    return RoundingLoss(ticks, len(events)) if ticks else None
