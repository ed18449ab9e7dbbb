"""What the runs of a trace logged, instruction by instruction: what a program is compared with.

A run logs kernels, calls and delegate debug identifiers under instruction ids. Runs that logged the
same are one *signature*, since each run takes one branch of a torch.cond.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.model.executorch_names import JUMP, KERNEL_PREFIX
from viewer.model.queries import execute_keys, run_of_slices
from viewer.model.trace import KeyKind, RunKind, Trace
from viewer.program.debug_handles import Identifier
from viewer.program.program import base_name

# Of runs that all differ, as with identifiers that count on, the commonest signatures tell enough;
# each is compared in Python, identity by identity.
MOST_KINDS = 64
_COMPARED = np.array(
    [KeyKind.KERNEL, KeyKind.OPERATOR_CALL, KeyKind.DELEGATE_CALL, KeyKind.DELEGATE_EVENT], np.uint8
)


@dataclass(frozen=True)
class LoggedIdentities:
    """What runs logged, by instruction id (-1 where the file gives none).

    jumps: instructions that decide over a branch; without one, none was entered.
    """

    kernels: dict[int, set[str]]
    operator_calls: set[int]
    delegate_calls: set[int]
    identifiers: dict[int, set[Identifier]]
    jumps: set[int]

    @property
    def is_empty(self) -> bool:
        return not (self.kernels or self.operator_calls or self.delegate_calls or self.identifiers)

    @property
    def last_instruction(self) -> int:
        """The highest instruction id of all, -1 if there is none."""
        calls = self.operator_calls | self.delegate_calls
        return max([-1, *self.kernels, *calls, *self.identifiers])


@dataclass(frozen=True)
class Signature:
    """What one kind of run of a scope logged; `runs` of them logged the same keys.

    finished: whether they came to their end, as a Method::execute says where scopes are logged.
    """

    scope: int
    runs: int
    identities: LoggedIdentities
    finished: bool = True


def scope_identities(trace: Trace, scopes: Collection[int] | None = None) -> list[LoggedIdentities]:
    """The identities of every scope, or of some (the others are empty), all its runs together."""
    compared = _compared_keys(trace)
    if scopes is not None:
        compared &= np.isin(trace.keys.scope, np.array(sorted(scopes), np.int64))
    keys = np.flatnonzero(compared)
    keys = keys[np.argsort(trace.keys.scope[keys], kind="stable")]
    bounds = np.searchsorted(trace.keys.scope[keys], np.arange(len(trace.scopes) + 1))
    return [_collected(trace, keys[lo:hi]) for lo, hi in pairwise(bounds.tolist())]


def signatures(trace: Trace) -> list[Signature]:
    """The distinct sets of keys that runs logged; a scope without runs is one signature."""
    found: list[Signature] = []
    kinds = _kinds_of_runs(trace)
    executes = execute_keys(trace)
    has_scopes = bool((trace.keys.kind == KeyKind.FRAMEWORK).any())
    for scope in range(len(trace.scopes)):
        own = [(count, keys) for (s, keys), count in kinds.items() if s == scope]
        own.sort(key=lambda kind: -kind[0])
        for count, packed in own[:MOST_KINDS]:
            keys = np.frombuffer(packed, np.int64)
            finished = not has_scopes or bool(executes[keys].any())
            found.append(Signature(scope, count, _collected(trace, keys), finished))
    alone = set(range(len(trace.scopes))) - {signature.scope for signature in found}
    logged = scope_identities(trace, alone)
    return found + [Signature(scope, 1, logged[scope]) for scope in sorted(alone)]


def _kinds_of_runs(trace: Trace) -> dict[tuple[int, bytes], int]:
    """(scope, its packed keys) of the inferences, by first appearance, and how many are so."""
    keys, runs = trace.keys, trace.runs
    compared = _compared_keys(trace) | execute_keys(trace)
    is_inference = np.array([*(r.kind is RunKind.INFERENCE for r in runs), False])
    scope = np.array([*(r.scope for r in runs), 0])
    key, run = trace.slices.key, run_of_slices(trace)
    own = compared[key] & is_inference[run] & (scope[run] == keys.scope[key])
    pair = np.sort(run[own] * len(keys) + key[own])
    pair = pair[np.append(True, np.diff(pair) > 0)[: len(pair)]]
    bounds = np.searchsorted(pair, np.arange(len(runs) + 1) * len(keys))
    logged = pair % max(len(keys), 1)
    kinds: dict[tuple[int, bytes], int] = {}
    for i in np.flatnonzero(is_inference).tolist():
        kind = (int(scope[i]), logged[bounds[i] : bounds[i + 1]].tobytes())
        kinds[kind] = kinds.get(kind, 0) + 1
    return kinds


def _compared_keys(trace: Trace) -> Bools:
    """Which keys are compared: of those that move control, the jumps."""
    keys = trace.keys
    jump = np.array([text == JUMP for text in trace.strings], np.bool_)
    jumps = (keys.kind == KeyKind.CONTROL) & jump[keys.name]
    compared: Bools = np.isin(keys.kind, _COMPARED) | jumps
    return compared


def _collected(trace: Trace, logged: Ints) -> LoggedIdentities:
    """What some keys are; a kernel's or a call's without an instruction is left out."""
    keys = trace.keys
    kind, instruction = keys.kind[logged], keys.instruction[logged]

    def ids(of: KeyKind) -> list[int]:
        found: list[int] = instruction[(kind == of) & (instruction >= 0)].tolist()
        return found

    codes = keys.name[logged[(kind == KeyKind.KERNEL) & (instruction >= 0)]]
    names = {
        code: base_name(trace.strings[code].removeprefix(KERNEL_PREFIX))
        for code in np.unique(codes).tolist()
    }
    kernels: dict[int, set[str]] = {}
    for at, code in zip(ids(KeyKind.KERNEL), codes.tolist(), strict=True):
        kernels.setdefault(at, set()).add(names[code])
    identifiers: dict[int, set[Identifier]] = {}
    for key in logged[kind == KeyKind.DELEGATE_EVENT].tolist():
        if not is_outside_calls(trace, key):
            identifiers.setdefault(int(keys.instruction[key]), set()).add(keys.identifier[key])
    return LoggedIdentities(
        kernels,
        set(ids(KeyKind.OPERATOR_CALL)),
        set(ids(KeyKind.DELEGATE_CALL)),
        identifiers,
        set(ids(KeyKind.CONTROL)),
    )


def is_outside_calls(trace: Trace, key: int) -> bool:
    """Whether a delegate's event was logged outside any call, as during its initialization.

    Dumps give such events chain index -1 and so no instruction. A plain table may have identifiers
    without instructions too, to be looked up in the whole method; only where other rows of it name
    their method is a row without one outside. Identifiers that stand in a column were never logged
    by a runtime that could tell a call from what lies outside.
    """
    if int(trace.keys.instruction[key]) >= 0 or trace.identifier_column:
        return False
    if any(scope.method for scope in trace.scopes):
        return trace.scopes[int(trace.keys.scope[key])].method is None
    return bool(trace.runs)
