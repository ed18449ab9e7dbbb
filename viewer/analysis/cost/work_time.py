"""The work in a trace by kind: wall time, each instant once, of the innermost work event.

Work is every event that is not a scope of a runtime: calls of operators and delegates, kernels,
delegate events, jobs and actions, and all slices of a plain profile. Events belong to one *thing*
if they have the same operators or, without a link, the same label on screen. A delegate call is a
separate thing from the events in it, which take their time from it; so is the call around a kernel
without a link, whose label is the same. The groups of a thing are its
copies (`viewer.analysis.workload.node_traffic`), one per kind, and the rest. Unlike
`viewer.analysis.cost.costs` it needs no ETRecord.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

from viewer.analysis.cost.stated_time import stated_alone
from viewer.analysis.links.labels import brief_label, key_labels
from viewer.analysis.links.link_table import LinkTable, Reason
from viewer.arrays import Ints
from viewer.model.charging import Charged, Segments, charge, total_per_group, total_self
from viewer.model.scope import WHOLE, TimeScope
from viewer.model.text import name_text
from viewer.model.trace import KeyKind


class WorkPart(Enum):
    """The part of a runtime's work that a group belongs to."""

    OUTSIDE = "ran outside delegates"
    DELEGATED = "a delegate's"
    CONTROL = "instructions without an operator"
    OTHER = "of a file without delegate calls"


_PARTS = {
    int(KeyKind.OPERATOR_CALL): WorkPart.OUTSIDE,
    int(KeyKind.KERNEL): WorkPart.OUTSIDE,
    int(KeyKind.DELEGATE_CALL): WorkPart.DELEGATED,
    int(KeyKind.DELEGATE_EVENT): WorkPart.DELEGATED,
    int(KeyKind.CONTROL): WorkPart.CONTROL,
    int(KeyKind.PLAIN): WorkPart.OTHER,
    int(KeyKind.LOCATION): WorkPart.OTHER,
    int(KeyKind.ACTION): WorkPart.OTHER,
    int(KeyKind.JOB): WorkPart.OTHER,
}


@dataclass(frozen=True, slots=True)
class WorkGroup:
    """Keys with the same thing, part and kind of copy.

    thing: an index into `WorkTime.things`. copy: the kind of copy, "" if it is not a copy.
    """

    thing: int
    part: WorkPart
    copy: str
    keys: tuple[int, ...]


class WorkTime:
    """The work of one linked trace; charging happens once, so range queries are cheap."""

    def __init__(self, table: LinkTable) -> None:
        self.table = table

    @property
    def groups(self) -> tuple[WorkGroup, ...]:
        """All groups, in the order of their first keys."""
        return self._named[0]

    @property
    def things(self) -> tuple[str, ...]:
        """The labels of all things; two sets of operators may have the same label."""
        return self._named[1]

    @cached_property
    def thing_of_group(self) -> Ints:
        """The thing of every group (int64)."""
        return np.array([group.thing for group in self.groups], np.int64)

    @cached_property
    def _named(self) -> tuple[tuple[WorkGroup, ...], tuple[str, ...]]:
        from viewer.analysis.workload.node_traffic import copies_of

        table = self.table
        labels, copies = key_labels(table), copies_of(table)
        kinds = table.trace.keys.kind
        events = bool((kinds == KeyKind.DELEGATE_EVENT).any())
        kernels = bool((kinds == KeyKind.KERNEL).any())
        keys_of_work: dict[tuple[WorkPart, str, int], list[int]] = {}
        things: dict[tuple[tuple[int, ...] | str, bool], int] = {}
        program = table.program
        text = program is not None and program.is_mlir
        by_label = program is not None and program.is_nested
        for key, kind in enumerate(table.trace.keys.kind.tolist()):
            part = _PARTS.get(kind)
            # Events that a delegate logs outside any call, as during load, do not belong to a run.
            if part is not None and table.links[key].reason is not Reason.OUTSIDE_CALLS:
                operators = tuple(sorted(table.links[key].operators))
                if text and all(operator.is_function for operator in table.operators(key)):
                    operators = ()  # the location is a call site; label it as in the file
                if by_label:
                    operators = ()  # an operator has many call sites
                is_rest = events and kind == KeyKind.DELEGATE_CALL
                if not operators:  # the label of a kernel is that of the call around it, too
                    is_rest |= kernels and kind == KeyKind.OPERATOR_CALL
                thing = things.setdefault((operators or labels[key], is_rest), len(things))
                keys_of_work.setdefault((part, copies[key], thing), []).append(key)
        groups = (
            WorkGroup(thing, part, copy, tuple(k))
            for (part, copy, thing), k in keys_of_work.items()
        )
        names = (
            ("rest of the call " if is_rest else "")
            + (name_text(what) if isinstance(what, str) else brief_label(table, what))
            for what, is_rest in things
        )
        return tuple(groups), tuple(names)

    @cached_property
    def group_of_key(self) -> Ints:
        """Per key the index into `groups`, -1 for keys that are not work and for derived slices."""
        of_key = np.full(len(self.table.trace.keys), -1)
        for number, group in enumerate(self.groups):
            of_key[list(group.keys)] = number
        return stated_alone(self.table.trace, of_key)

    @cached_property
    def _charged(self) -> Charged:
        return charge(self.table.trace, self.group_of_key)

    @property
    def segments(self) -> Segments:
        """The time of the groups, disjoint on each thread."""
        return self._charged.of_threads

    def ticks(self, scope: TimeScope = WHOLE) -> Ints:
        """Return the wall ticks of every group in a scope (int64)."""
        return total_per_group(self.segments, len(self.groups), *scope.span, warm_up=scope.warm_up)

    def self_ticks(self, scope: TimeScope = WHOLE) -> Ints:
        """Return the self ticks of every group in a scope (int64)."""
        count, warm_up = len(self.groups), scope.warm_up
        if scope.is_whole:  # without segments: of ten million slices, they take 500 MB
            return total_self(self.table.trace, self.group_of_key, count, warm_up=warm_up)
        return total_per_group(self._charged.of_lanes, count, *scope.span, warm_up=warm_up)

    def by_thing(self, ticks: Ints) -> list[tuple[str, int]]:
        """Sum ticks (one per group) by thing; only things with time, largest first."""
        total = np.zeros(len(self.things), np.int64)
        np.add.at(total, self.thing_of_group, ticks)
        order = np.argsort(-total, kind="stable")
        return [(self.things[i], int(total[i])) for i in order[total[order] > 0].tolist()]

    def keys_named(self, names: Collection[str]) -> tuple[int, ...]:
        """Return the keys of all things with some labels."""
        groups = (group for group in self.groups if self.things[group.thing] in names)
        return tuple(key for group in groups for key in group.keys)
