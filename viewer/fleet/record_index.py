"""Which of many ETRecords and programs a profile may belong to.

To compare each of a hundred records with each profile would take a hundred times as long. So each
is read once for what it would log: its operators and delegate calls by their instructions, and the
identifiers of its debug handle maps. Those that have most in common with what a profile logged are
then compared in full, which decides as it does for any others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from viewer.analysis.links.logged_identities import LoggedIdentities, signatures
from viewer.analysis.nodes.executable_calls import kernel_name
from viewer.analysis.nodes.xnnpack_events import types_that_log
from viewer.analysis.nodes.xnnpack_operators import may_be_logged, operators_of
from viewer.model.trace import Trace
from viewer.program.executable.executable import Executable, ExecutableMethod, InstructionKind
from viewer.program.program import Method, Program, base_name

# So many of each kind are compared with a profile in full.
MOST_RECORDS = 8
# An instruction and what it calls: an operator, any, or a delegate. Or, wherever it is, an
# identifier, an operator whose node may log one, or an operator.
_Token = tuple[int, str]
_ANY, _DELEGATE = "", "delegate"
_IDENTIFIER, _LOGGED, _OPERATOR = -1, -2, -3


@dataclass(slots=True)
class RecordIndex:
    """What each method of some records would log."""

    # Token -> the methods that have it, by their number.
    _methods_of: dict[_Token, list[int]] = field(default_factory=dict)
    # Of each method, the number of its record and of its tokens.
    _record_of: list[int] = field(default_factory=list)
    _sizes: list[int] = field(default_factory=list)
    # Number of a record -> its kind.
    _kinds: dict[int, str] = field(default_factory=dict)

    def add(self, number: int, record: Program | Executable) -> None:
        """Add a record under a number of its own."""
        for method in record.methods:
            tokens = set(_tokens_of(method))
            for token in tokens:
                self._methods_of.setdefault(token, []).append(len(self._sizes))
            self._record_of.append(number)
            self._sizes.append(len(tokens))
        self._kinds[number] = _kind_of(record)

    def closest(self, trace: Trace) -> list[int]:
        """Return the numbers of the records that a trace may belong to, ascending.

        A record without anything in common with the trace is none of them.
        """
        shares: dict[int, float] = {}
        for logged in set(map(frozenset, _logged_by_scope(trace).values())):
            common = Counter(m for token in logged for m in self._methods_of.get(token, ()))
            for method, count in common.items():
                share = count / (len(logged) + self._sizes[method] - count)
                record = self._record_of[method]
                shares[record] = max(shares.get(record, 0.0), share)
        best = sorted(shares, key=lambda record: (-shares[record], record))
        of_kind = [
            [r for r in best if self._kinds[r] == kind] for kind in set(self._kinds.values())
        ]
        return sorted(record for records in of_kind for record in records[:MOST_RECORDS])


def _kind_of(record: Program | Executable) -> str:
    """What records are compared with: those of their kind, as other kinds log more or less."""
    if isinstance(record, Executable):
        return "program"
    if record.delegates_only:
        return "map"
    has_map = any(method.handles or method.delegates for method in record.methods)
    return "ETRecord" if has_map else "ETRecord of branches alone"


def _logged_by_scope(trace: Trace) -> dict[int, set[_Token]]:
    """Return what all runs of each scope logged."""
    tokens: dict[int, set[_Token]] = {}
    for run in signatures(trace):
        tokens.setdefault(run.scope, set()).update(_logged(run.identities))
    return tokens


def _logged(identities: LoggedIdentities) -> Iterator[_Token]:
    """Yield what a run logged."""
    for instruction, operators in identities.kernels.items():
        yield instruction, _ANY  # a pass may have put another kernel there
        for operator in operators:
            yield instruction, operator
            yield _OPERATOR, operator
    yield from ((instruction, _DELEGATE) for instruction in identities.delegate_calls)
    for identifiers in identities.identifiers.values():
        for text in map(str, identifiers):
            yield _IDENTIFIER, text
            yield from ((_LOGGED, name) for name in operators_of(types_that_log(text)))


def _tokens_of(method: Method | ExecutableMethod) -> Iterator[_Token]:
    """Yield what a method would log."""
    if isinstance(method, ExecutableMethod):
        for instruction in method.instructions:
            if instruction.kind is InstructionKind.KERNEL_CALL:
                name = kernel_name(instruction)
                yield from ((instruction.number, _ANY), (instruction.number, name))
                yield _OPERATOR, name
            elif instruction.kind is InstructionKind.DELEGATE_CALL:
                yield instruction.number, _DELEGATE
        return
    yield from ((_OPERATOR, name) for name in method.in_branches)
    for number, handles in method.handles.items():
        operators = filter(None, map(method.by_handle.get, handles))
        names = {base_name(node.op) for operator in operators for node in operator.nodes}
        if number in method.delegates:
            yield from ((_LOGGED, name) for name in names if may_be_logged(name))
            continue
        yield number, _ANY
        for name in names:
            yield from ((number, name), (_OPERATOR, name))
    for number, delegate in method.delegates.items():
        if number >= 0:
            yield number, _DELEGATE
        yield from ((_IDENTIFIER, str(identifier)) for identifier in delegate.entries or ())
