"""Delegation: what was handed to delegates and what it took, what stayed outside, what has no link.

A *delegate instance* is one DELEGATE_CALL instruction of a method: one lowered partition of the
graph. Every instant of a track is charged once, as in `viewer.analysis.cost.costs`: to the instance
whose call is under way, else to the operators that ran outside, else to nobody. So calls, outside
and neither are the whole, which is Method::execute where the file has it.

Inside a call the innermost event accounts for its time; what no event on the dump's own clock
accounts for is the call's *unattributed* part. Where no such event was logged that part is not
known, and not 0. All times are ticks of the trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from viewer.analysis.cost.costs import (
    free_time,
    length_within,
    made_of_others,
    stated_alone,
    whole_slices,
)
from viewer.analysis.links.coverage import (
    Coverage,
    begins_within,
    coverage,
    covered_ticks,
    stated_per_key,
)
from viewer.analysis.links.labels import key_labels, operator_count, set_label
from viewer.analysis.links.link_table import Link, LinkState, LinkTable, Reason
from viewer.analysis.links.remedies import remedy
from viewer.arrays import Bools, Ints
from viewer.model.intervals import Intervals
from viewer.model.queries import Segments, charge, foreign, total_per_group
from viewer.model.trace import KeyKind
from viewer.program.debug_handles import NO_INSTRUCTION
from viewer.program.program import Method, Program

_DELEGATED = (int(KeyKind.DELEGATE_CALL), int(KeyKind.DELEGATE_EVENT))
_CALLED = (int(KeyKind.OPERATOR_CALL), int(KeyKind.KERNEL))
_CALL, _EVENT = _DELEGATED


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """One delegate instance of a method, and what its calls took in a range.

    label: as on the timeline, "XnnpackBackend · 5 ops". method: where no record tells it, what the
    file calls the runs. instruction: -1 for events that name no call. operators: indexes into
    `Program.operators`; empty where they are not known, and `why` says why. calls: how many begin
    in the range. ticks: of the calls, or of the events where the file has no calls. covered: ticks
    of it in which an event runs. events, foreign: how many begin in the range, and how many of
    them on a clock of their own. keys: of its calls and events, empty where it never ran.
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
        """Ticks of the calls that no event inside accounts for; None where nothing tells them."""
        return None if self.why_not_attributed else self.ticks - self.covered

    @property
    def why_not_attributed(self) -> str:
        """Why it is not known how much of the calls their events account for; "" if it is."""
        if not self.keys:
            return "this profile has no call of it"
        if not self.has_call:
            return "the file has events of the delegate, and not the calls around them"
        if not self.events:
            return "the delegate logged no events in its calls"
        if self.events == self.foreign:
            return "the delegate's events are on a clock of their own"
        return ""


@dataclass(frozen=True, slots=True, eq=False)
class NotDelegated:
    """A set of operators, or kernels of one name without a link, that ran outside any delegate.

    operators: indexes into `Program.operators`, empty for kernels without a link. ticks: its own
    time. slices: how many begin in the range; a kernel inside its call is not counted beside it.
    """

    label: str
    operators: tuple[int, ...]
    ticks: int
    slices: int
    keys: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Unlinked:
    """The slices that have no link for one reason (of one backend), and what to do about them.

    slices: stated ones that begin in the range. ticks: in which any of them runs, which may be
    inside those of another reason; without those on foreign clocks. detail: what the link of the
    first key says; details: how many different things the links say.
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
    """What was delegated in a range of a trace, dearest first.

    whole = the ticks of all instances + of all outside + neither. unlinked: by slices, the
    linkable before those that nothing could link. ran: False for a record alone, where all times
    are 0 since nothing ran. has_calls: whether the file is of a runtime that calls delegates.
    """

    instances: tuple[Instance, ...]
    outside: tuple[NotDelegated, ...]
    neither: int
    coverage: Coverage
    unlinked: tuple[Unlinked, ...]
    ran: bool = True
    has_calls: bool = True

    @property
    def delegated(self) -> int:
        """Ticks of all delegate calls."""
        return sum(instance.ticks for instance in self.instances)

    @property
    def stayed(self) -> int:
        """Ticks of all that ran outside."""
        return sum(row.ticks for row in self.outside)

    @property
    def whole(self) -> int:
        """What shares are shares of: Method::execute, or the busy time of all tracks."""
        return self.delegated + self.stayed + self.neither


class Delegation:
    """Questions about the delegates of one linked trace; what is of no range is worked out once."""

    def __init__(self, table: LinkTable) -> None:
        self.table = table
        self._trace = table.trace

    def report(
        self, first: int | None = None, last: int | None = None, track: int | None = None
    ) -> DelegationReport:
        """The report of the ticks [first, last], on one track or on all."""
        trace, table = self._trace, self.table
        inside = begins_within(trace, first, last, track) & ~made_of_others(trace)
        count = np.bincount(trace.slices.key[inside], minlength=len(trace.keys))
        native = np.zeros(len(trace.slices), np.bool_)
        native[foreign(trace.slices)] = True
        on_own_clock = np.bincount(trace.slices.key[inside & native], minlength=len(trace.keys))
        groups = 2 * len(self._places) + len(self._outside)
        ticks = total_per_group(self._segments, groups, first, last, track)
        calls, events = ticks[: 2 * len(self._places)].reshape(-1, 2).T.tolist()
        instances = [
            self._instance(place, keys, calls[n], events[n], count, on_own_clock)
            for n, (place, keys) in enumerate(self._places.items())
        ]
        instances = sorted(instances, key=lambda row: -row.ticks) + self._not_run
        first_own = 2 * len(self._places)
        outside = [
            NotDelegated(label, operators, spent, called, keys)
            for (label, operators, keys), spent, called in zip(
                self._outside,
                ticks[first_own:].tolist(),
                self._calls(count)[first_own:].tolist(),
                strict=True,
            )
            if called or spent
        ]
        return DelegationReport(
            tuple(instances),
            tuple(sorted(outside, key=lambda row: -row.ticks)),
            length_within(self._free, trace, first, last, track),
            coverage(table, first, last, track),
            self._unlinked(first, last, track),
            has_calls=bool(np.isin(trace.keys.kind, (*_DELEGATED, *_CALLED)).any()),
        )

    def slices_of(
        self,
        keys: Iterable[int],
        first: int | None = None,
        last: int | None = None,
        track: int | None = None,
    ) -> Ints:
        """The slices of some keys that begin in a range and that the file states, ascending."""
        wanted = np.zeros(len(self._trace.keys), np.bool_)
        wanted[list(keys)] = True
        wanted = wanted[self._trace.slices.key] & begins_within(self._trace, first, last, track)
        if self._trace.slices.derived is not None:
            wanted &= ~self._trace.slices.derived
        return np.flatnonzero(wanted)

    def call_keys(self, instance: Instance) -> list[int]:
        """The keys of the calls of an instance; of its events where the file has no calls."""
        kind = self._trace.keys.kind
        calls = [k for k in instance.keys if kind[k] == _CALL]
        return calls or list(instance.keys)

    # -- instances ---------------------------------------------------------------------------------

    @cached_property
    def _places(self) -> dict[tuple[str | int, int], list[int]]:
        """(method, or scope where no method is known; instruction) -> the keys of that instance."""
        keys, links = self._trace.keys, self.table.links
        scope, instruction = keys.scope.tolist(), keys.instruction.tolist()
        methods = [self.table.method_of_scope(s) for s in range(len(self._trace.scopes))]
        found: dict[tuple[str | int, int], list[int]] = {}
        for key in np.flatnonzero(np.isin(keys.kind, _DELEGATED)).tolist():
            if links[key].reason is not Reason.OUTSIDE_CALLS:
                of = methods[scope[key]] or scope[key]
                found.setdefault((of, instruction[key]), []).append(key)
        return found

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
        (of, instruction), kind, links = place, self._trace.keys.kind, self.table.links
        calls = [key for key in keys if kind[key] == _CALL]
        events = [key for key in keys if kind[key] == _EVENT]
        backends = dict.fromkeys(links[key].backend for key in keys if links[key].backend)
        backend = " and ".join(backends)
        call = next((links[key] for key in calls), None)
        label = self._labels[calls[0]] if calls else backend or "delegate"
        return Instance(
            label=label,
            method=of if isinstance(of, str) else self._trace.scopes[of].name,
            instruction=instruction,
            backend=backend,
            operators=call.operators if call else _of_events(links[key] for key in events),
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
        """The instances of the record whose call the trace does not have.

        None of a method whose events name no call; none at all where a method is undecided.
        """
        program, ran = self.table.program, set(self._places)
        if program is None or any(isinstance(of, int) for of, _ in ran):
            return []
        methods = {of for of, _ in ran}
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
        """2 n: a call of instance n; 2 n + 1: an event in it; then sets, then labels; -1: none.

        What a call's gaps are drawn as is the call's own time, as is all that lies in it without a
        group.
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
        """Label -> the keys of calls and kernels that are called so and that have no link."""
        kinds = np.isin(self._trace.keys.kind, _CALLED) & (self.table.set_of_key < 0)
        found: dict[str, list[int]] = {}
        for key in np.flatnonzero(kinds).tolist():
            found.setdefault(self._labels[key], []).append(key)
        return found

    @cached_property
    def _segments(self) -> Segments:
        return charge(self._trace, self._group_of_key)

    @cached_property
    def _free(self) -> list[Intervals]:
        return free_time(self._trace, self._segments, whole_slices(self._trace))

    # -- outside -----------------------------------------------------------------------------------

    @cached_property
    def _outside(self) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
        """What runs outside of delegates, in the order of the groups behind those of instances:
        label, operators and keys. First the sets of operators, then what has no link."""
        named = [(set_label(self.table, own), own) for own in self.table.sets]
        named += [(label, ()) for label in self._outside_labels]
        keys = [*self._keys_of_sets, *self._outside_labels.values()]
        return [(*one, tuple(own)) for one, own in zip(named, keys, strict=True)]

    @cached_property
    def _keys_of_sets(self) -> list[list[int]]:
        """Per set of operators the keys outside of delegates that are linked to it."""
        found: list[list[int]] = [[] for _ in self.table.sets]
        kind = self._trace.keys.kind
        sets = self.table.set_of_key.tolist()
        for key in np.flatnonzero((self.table.set_of_key >= 0) & ~np.isin(kind, _DELEGATED)):
            found[sets[key]].append(int(key))
        return found

    def _calls(self, count: Ints) -> Ints:
        """Per group how many slices it has, without kernels where there are calls around them.

        count: that of every key.
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
        """(reason, backend) -> the keys that are not linked for it."""
        found: dict[tuple[Reason, str], list[int]] = {}
        for key, link in enumerate(self.table.links):
            if link.reason.state is not LinkState.LINKED:
                told = link.backend if link.reason.state is LinkState.UNLINKED else ""
                found.setdefault((link.reason, told), []).append(key)
        return found

    def _unlinked(
        self, first: int | None, last: int | None, track: int | None
    ) -> tuple[Unlinked, ...]:
        trace, links = self._trace, self.table.links
        count = stated_per_key(trace, first, last, track)
        rows = []
        for (reason, backend), keys in self._reasons.items():
            slices = int(count[keys].sum())
            if not slices:
                continue
            met = [key for key in keys if count[key]]
            details = list(dict.fromkeys(links[key].detail for key in met))
            # Per call the operators that it is linked to; the same ones may be in several calls.
            calls = {
                (int(trace.keys.scope[key]), int(trace.keys.instruction[key])): links[key].near
                for key in met
                if links[key].near
            }
            operators = len({i for near in calls.values() for i in near})
            rows.append(
                Unlinked(
                    reason,
                    backend,
                    slices,
                    covered_ticks(trace, _mask(len(trace.keys), keys), first, last, track),
                    details[0],
                    len(details),
                    remedy(trace, reason, backend, len(calls), operators, details),
                    tuple(keys),
                )
            )
        linkable = {LinkState.UNLINKED: 0, LinkState.NOT_LINKABLE: 1}
        return tuple(sorted(rows, key=lambda row: (linkable[row.reason.state], -row.slices)))


def recorded(program: Program) -> DelegationReport:
    """What a record alone says: its delegate instances, and the operators that stay outside.

    Nothing ran, so nothing has a time. Operators that no instruction of the record stands for are
    in neither list.
    """
    outside = dict.fromkeys(
        operators_of(method, handles)
        for method in program.methods
        for instruction, handles in method.handles.items()
        if instruction not in method.delegates
    )
    rows = tuple(
        NotDelegated(" + ".join(program.operators[i].label for i in found), found, 0, 0, ())
        for found in outside
        if found
    )
    nothing = Coverage(0, 0, 0, 0)
    return DelegationReport(tuple(instances_of(program)), rows, 0, nothing, (), ran=False)


def instances_of(program: Program) -> list[Instance]:
    """The delegate instances that a record tells of, as if none had run."""
    found = []
    for method in program.methods:
        for instruction, delegate in sorted(method.delegates.items()):
            handles = method.handles.get(instruction, ())
            if method.delegates_only:
                handles = tuple(h for own in (delegate.entries or {}).values() for h in own)
            operators = operators_of(method, handles)
            label = f"{delegate.backend or 'delegate'} · {operator_count(len(operators))}"
            if len(operators) == 1:
                label = program.operators[operators[0]].label
            why = "" if operators else f"The {program.noun} names no operator of this call"
            found.append(
                Instance(label, method.name, instruction, delegate.backend, operators, why, True)
            )
    return found


def operators_of(method: Method, handles: Iterable[int]) -> tuple[int, ...]:
    """The indexes of the operators with some debug handles, each once, in their order."""
    known = (method.by_handle.get(handle) for handle in dict.fromkeys(handles))
    return tuple(operator.index for operator in known if operator is not None)


def _of_events(links: Iterable[Link]) -> tuple[int, ...]:
    """The operators that some events are linked to, in the order of the program."""
    return tuple(sorted({i for link in links for i in link.operators}))


def _why_unknown(call: Link | None) -> str:
    """Why it is not known which operators a call swallowed."""
    return call.detail if call else "The file names no call, and so not all that is in it"


def _mask(size: int, at: Sequence[int]) -> Bools:
    made = np.zeros(size, np.bool_)
    made[list(at)] = True
    return made
