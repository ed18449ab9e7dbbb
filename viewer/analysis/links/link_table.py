"""The links of a trace: per identity of its slices which operators it belongs to, and why.

Links are made once per distinct identity key, never per slice, and live beside the trace, so that
another record, another pairing or another choice costs no reading. `linker.py` makes them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

from viewer.analysis.links.match import TraceMatch
from viewer.arrays import Bools, Codes, Ints
from viewer.model.trace import Trace
from viewer.program.program import Operator, Program


class LinkState(Enum):
    """What a reason means for coverage."""

    LINKED = "linked"
    UNLINKED = "unlinked"  # linkable, and no operator was found
    NOT_LINKABLE = "not linkable"  # the file gives no identity that a program should know


class Reason(Enum):
    """Why a key is linked or not: a name for scripts and its state."""

    BY_INSTRUCTION = ("instruction in the debug handle map", LinkState.LINKED)
    BY_IDENTIFIER = ("identifier in the delegate's debug handle map", LinkState.LINKED)
    BY_NODE_ID = ("delegate_node_id in the delegate's debug handle map", LinkState.LINKED)
    BY_TENSOR = ("tensor in the delegate's debug handle map", LinkState.LINKED)
    BY_LOCATION = ("location in the MLIR text", LinkState.LINKED)
    NO_IDENTITY = ("no identity in the file", LinkState.NOT_LINKABLE)
    FRAMEWORK = ("framework scope", LinkState.NOT_LINKABLE)
    CONTROL = ("instruction without an operator", LinkState.NOT_LINKABLE)
    OUTSIDE_CALLS = ("logged outside any delegate call", LinkState.NOT_LINKABLE)
    WHOLE_CALL = ("a total or host event of its whole call", LinkState.NOT_LINKABLE)
    UNATTRIBUTED = (
        "time of a call that its delegate's events do not cover",
        LinkState.NOT_LINKABLE,
    )
    UNKNOWN_LOCATION = ("unknown location", LinkState.NOT_LINKABLE)
    NO_PROGRAM = ("no record or source is linked", LinkState.UNLINKED)
    METHOD_UNDECIDED = ("several methods fit equally well", LinkState.UNLINKED)
    NO_METHOD = ("method not in the record", LinkState.UNLINKED)
    NOT_IN_MAP = ("instruction not in the debug handle map", LinkState.UNLINKED)
    IN_BRANCH = ("inside a branch of control flow, which has no debug handle", LinkState.UNLINKED)
    ONLY_DELEGATES = (
        "the debug handle map tells only of what delegates log",
        LinkState.UNLINKED,
    )
    NOT_IN_GRAPH = ("debug handle not in the graph", LinkState.UNLINKED)
    OTHER_OPERATOR = ("kernel contradicts its debug handle", LinkState.UNLINKED)
    NO_DELEGATE_MAP = ("backend wrote no debug handle map", LinkState.UNLINKED)
    IDENTIFIER_UNKNOWN = ("identifier not in the debug handle map", LinkState.UNLINKED)
    IDENTIFIER_AMBIGUOUS = ("identifier in several delegate instances", LinkState.UNLINKED)
    NO_DEBUG_INFO = ("no debug info of its dispatch is open", LinkState.UNLINKED)
    NOT_IN_DEBUG_INFO = ("not in the dispatch's debug info", LinkState.UNLINKED)
    NOT_IN_TEXT = ("location not in the MLIR text", LinkState.UNLINKED)
    LOCATION_ALONE = ("a location and no identifier; the record knows none", LinkState.UNLINKED)

    def __init__(self, text: str, state: LinkState) -> None:
        self.text = text
        self.state = state


@dataclass(frozen=True, slots=True)
class Link:
    """One key's answer.

    handles: debug handles in the record's order, duplicates kept. operators: indexes into
    `Program.operators`, distinct. near: where there is no link, the operators of which it is one or
    some: of its call for a delegate event, of the branches for a kernel inside of control flow.
    detail: the reason as a sentence about this key.
    """

    reason: Reason
    detail: str
    handles: tuple[int, ...] = ()
    operators: tuple[int, ...] = ()
    near: tuple[int, ...] = ()
    backend: str = ""


@dataclass(frozen=True, eq=False)
class LinkTable:
    """The links of one trace to one program (or to none), one `Link` per key of the trace."""

    trace: Trace
    program: Program | None
    fit: TraceMatch | None
    links: tuple[Link, ...]

    @cached_property
    def sets(self) -> tuple[tuple[int, ...], ...]:
        """The distinct sets of operators that keys are linked to; cost is charged to these."""
        return tuple(dict.fromkeys(tuple(sorted(x.operators)) for x in self.links if x.operators))

    @cached_property
    def set_of_key(self) -> Ints:
        """Per key the index into `sets`, -1 if it is not linked (int64)."""
        number = {operators: i for i, operators in enumerate(self.sets)}
        return np.array([number.get(tuple(sorted(x.operators)), -1) for x in self.links], np.int64)

    @cached_property
    def states(self) -> Codes:
        """Per key 0 not linkable, 1 unlinked, 2 linked."""
        rank = {LinkState.NOT_LINKABLE: 0, LinkState.UNLINKED: 1, LinkState.LINKED: 2}
        return np.array([rank[x.reason.state] for x in self.links], np.uint32)

    def keys_of(self, operators: Collection[int], *, exact: bool = False) -> Bools:
        """Per key whether it is linked to any of some operators; exact: to just all of them.

        Asked of the distinct sets, as with every frame and selection there may be 200,000 keys.
        """
        wanted = frozenset(operators)
        hit = [wanted == set(x) if exact else not wanted.isdisjoint(x) for x in self.sets]
        return np.array([*hit, False], np.bool_)[self.set_of_key]

    def operators(self, key: int) -> tuple[Operator, ...]:
        """The operators of a key."""
        if self.program is None:
            return ()
        return tuple(self.program.operators[i] for i in self.links[key].operators)

    def method_of_scope(self, scope: int) -> str | None:
        """The method that a scope's runs are of, as stated by the file or decided by agreement."""
        stated = self.trace.scopes[scope].method
        return stated or (self.fit.methods[scope] if self.fit else None)

    def method_of_track(self, track: int) -> str | None:
        """The one method whose inferences a track holds, else None."""
        methods = {self.method_of_scope(scope) for scope in self.scopes_of_tracks.get(track, ())}
        return methods.pop() if len(methods) == 1 else None

    @cached_property
    def scopes_of_tracks(self) -> dict[int, set[int]]:
        """The scopes of the inferences of every track that has any."""
        found: dict[int, set[int]] = {}
        for run in self.trace.inferences():
            found.setdefault(run.track, set()).add(run.scope)
        return found
