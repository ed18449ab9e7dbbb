"""What the runs of a trace logged, per instruction, for comparison with a program.

A run logs kernels, calls and delegate debug identifiers under instruction IDs. Runs that logged the
same keys share one *signature*. A scope may have several, since each run takes one branch of a
torch.cond.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.model.names.executorch import JUMP, kernel_operator
from viewer.model.queries import execute_keys, run_of_slices
from viewer.model.trace import KeyKind, RunKind, Trace
from viewer.program.debug_handles import Identifier
from viewer.program.program import base_name

# If all runs differ, as with identifiers that keep counting up, the most common signatures are
# enough; each is compared in Python, identity by identity.
MOST_KINDS = 64
_COMPARED = np.array(
    [KeyKind.KERNEL, KeyKind.OPERATOR_CALL, KeyKind.DELEGATE_CALL, KeyKind.DELEGATE_EVENT], np.uint8
)


@dataclass(frozen=True)
class LoggedIdentities:
    """What runs logged, by instruction ID (-1 if the file gives none).

    jumps: the instructions that select a branch; without one, no branch was entered.
    """

    kernels: dict[int, set[str]]
    operator_calls: set[int]
    delegate_calls: set[int]
    identifiers: dict[int, set[Identifier]]
    jumps: set[int]

    @property
    def is_empty(self) -> bool:
        """Whether nothing was logged that could be compared."""
        return not (self.kernels or self.operator_calls or self.delegate_calls or self.identifiers)

    @property
    def last_instruction(self) -> int:
        """The highest instruction ID, -1 if there is none."""
        calls = self.operator_calls | self.delegate_calls
        return max([-1, *self.kernels, *calls, *self.identifiers])


@dataclass(frozen=True)
class Signature:
    """What one kind of run of a scope logged; `runs` is the number of runs with these keys.

    finished: whether they ran to completion, shown by `Method::execute` if scopes are logged.
    """

    scope: int
    runs: int
    identities: LoggedIdentities
    finished: bool = True


def scope_identities(trace: Trace, scopes: Collection[int] | None = None) -> list[LoggedIdentities]:
    """Return the identities of every scope over all its runs; empty for scopes not selected."""
    compared = _compared_keys(trace)
    if scopes is not None:
        compared &= np.isin(trace.keys.scope, np.array(sorted(scopes), np.int64))
    keys = np.flatnonzero(compared)
    keys = keys[np.argsort(trace.keys.scope[keys], kind="stable")]
    bounds = np.searchsorted(trace.keys.scope[keys], np.arange(len(trace.scopes) + 1))
    return [_collected(trace, keys[lo:hi]) for lo, hi in pairwise(bounds.tolist())]


def signatures(trace: Trace) -> list[Signature]:
    """Return the distinct sets of keys that runs logged; a scope without runs is one signature."""
    collected: list[Signature] = []
    kinds = _kinds_of_runs(trace)
    executes = execute_keys(trace)
    has_scopes = bool((trace.keys.kind == KeyKind.FRAMEWORK).any())
    for scope in range(len(trace.scopes)):
        kinds_of_scope = [(count, keys) for (s, keys), count in kinds.items() if s == scope]
        kinds_of_scope.sort(key=lambda kind: -kind[0])
        for count, packed in kinds_of_scope[:MOST_KINDS]:
            keys = np.frombuffer(packed, np.int64)
            finished = not has_scopes or bool(executes[keys].any())
            collected.append(Signature(scope, count, _collected(trace, keys), finished))
    alone = set(range(len(trace.scopes))) - {signature.scope for signature in collected}
    logged = scope_identities(trace, alone)
    return collected + [Signature(scope, 1, logged[scope]) for scope in sorted(alone)]


def _kinds_of_runs(trace: Trace) -> dict[tuple[int, bytes], int]:
    """Count inferences by (scope, packed keys), in order of first appearance."""
    keys, runs = trace.keys, trace.runs
    compared = _compared_keys(trace) | execute_keys(trace)
    is_inference = np.array([*(r.kind is RunKind.INFERENCE for r in runs), False])
    scope = np.array([*(r.scope for r in runs), 0])
    key, run = trace.slices.key, run_of_slices(trace)
    selected = compared[key] & is_inference[run] & (scope[run] == keys.scope[key])
    pair = np.sort(run[selected] * len(keys) + key[selected])
    pair = pair[np.append(True, np.diff(pair) > 0)[: len(pair)]]
    bounds = np.searchsorted(pair, np.arange(len(runs) + 1) * len(keys))
    logged = pair % max(len(keys), 1)
    kinds: dict[tuple[int, bytes], int] = {}
    for i in np.flatnonzero(is_inference).tolist():
        kind = (int(scope[i]), logged[bounds[i] : bounds[i + 1]].tobytes())
        kinds[kind] = kinds.get(kind, 0) + 1
    return kinds


def _compared_keys(trace: Trace) -> Bools:
    """Return a mask of the keys to compare; of control instructions, only the jumps."""
    keys = trace.keys
    jump = np.array([text == JUMP for text in trace.strings], np.bool_)
    jumps = (keys.kind == KeyKind.CONTROL) & jump[keys.name]
    compared: Bools = np.isin(keys.kind, _COMPARED) | jumps
    return compared


def _collected(trace: Trace, logged: Ints) -> LoggedIdentities:
    """Collect what some keys are; kernels and calls without an instruction are left out."""
    keys = trace.keys
    kind, instruction = keys.kind[logged], keys.instruction[logged]

    def ids(of: KeyKind) -> list[int]:
        numbers: list[int] = instruction[(kind == of) & (instruction >= 0)].tolist()
        return numbers

    codes = keys.name[logged[(kind == KeyKind.KERNEL) & (instruction >= 0)]]
    names = {
        code: base_name(kernel_operator(trace.strings[code])) for code in np.unique(codes).tolist()
    }
    kernels: dict[int, set[str]] = {}
    for number, code in zip(ids(KeyKind.KERNEL), codes.tolist(), strict=True):
        kernels.setdefault(number, set()).add(names[code])
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
    """Return whether a delegate event was logged outside any call, such as during init.

    ETDumps give such events chain index -1 and so no instruction. A plain table may also have
    identifiers without instructions, which are looked up in the whole method; there a row is
    outside only if other rows name their method and this one does not. Identifiers from a column
    were not logged by a runtime, so they are never outside.
    """
    if int(trace.keys.instruction[key]) >= 0 or trace.identifier_column:
        return False
    if any(scope.method for scope in trace.scopes):
        return trace.scopes[int(trace.keys.scope[key])].method is None
    return bool(trace.runs)
