"""Whether a program file is what ran in a trace, and whether an ETRecord is of that program.

An ETRecord and an ETDump share no key. The program file (`.pte`) has both sides: the instructions
that the dump logs by number, and the debug handles that the record has. So with it, both questions
are comparisons of whole lists, and nothing is estimated: the operator of every kernel, the backend
of every delegate call, and for XNNPACK the types of all nodes and their debug handles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from viewer.analysis.links.logged_identities import LoggedIdentities, Signature
from viewer.analysis.links.match import REPLACED, WRITE_BACK, Match, TraceMatch, mean_match
from viewer.analysis.nodes.executable_calls import (
    delegate_of,
    in_branches,
    kernel_name,
    kind_at,
)
from viewer.analysis.nodes.xnnpack_events import call_events, may_have_logged
from viewer.analysis.nodes.xnnpack_operators import operators_of, short_type
from viewer.model.trace import Trace
from viewer.program.executable.executable import (
    Delegate,
    Executable,
    ExecutableMethod,
    InstructionKind,
)
from viewer.program.program import Method, Program

_KERNEL, _DELEGATE = InstructionKind.KERNEL_CALL, InstructionKind.DELEGATE_CALL
_JUMP = InstructionKind.JUMP_FALSE_CALL
# Only this format lists every instruction that ran; a table may have a part of them.
_COMPLETE = "ETDump"
# Views and arithmetic on sizes, which the runtime registers itself.
_PRIMITIVES = "executorch_prim::"


def methods_that_ran(
    trace: Trace, executable: Executable, logged: Sequence[Signature]
) -> list[tuple[str, ...]] | None:
    """Return per scope of a trace the methods that its runs may have executed.

    logged: the signatures of the trace. Empty for a scope that logged no instructions. None if a
    scope did run instructions, but those of no method of the program file; or if none did.
    """
    events = call_events(trace)
    found: list[tuple[str, ...]] = []
    for scope in range(len(trace.scopes)):
        runs = [run for run in logged if run.scope == scope and not run.identities.is_empty]
        texts = {
            at: [str(trace.keys.identifier[key]) for key in keys]
            for (of, at), keys in events.items()
            if of == scope
        }
        names = tuple(
            method.name
            for method in executable.methods
            if runs
            and all(
                _is_run_of(run.identities, method, run.finished and trace.format == _COMPLETE)
                for run in runs
            )
            and all(
                may_have_logged(delegate_of(method, at).nodes, own)
                for at, own in texts.items()
                if delegate_of(method, at).nodes
            )
        )
        if runs and not names:
            return None
        found.append(names)
    return found if any(found) else None


def _is_run_of(logged: LoggedIdentities, method: ExecutableMethod, finished: bool) -> bool:
    """Return whether a run may have logged what it did by executing a method."""
    instructions = method.instructions
    expected = (
        (_KERNEL, logged.operator_calls | logged.kernels.keys()),
        (_DELEGATE, logged.delegate_calls | {i for i in logged.identifiers if i >= 0}),
        (_JUMP, logged.jumps),
    )
    if any(kind_at(method, i) is not kind for kind, numbers in expected for i in numbers):
        return False
    if any(kernel_name(instructions[i]) not in ops for i, ops in logged.kernels.items()):
        return False
    if not finished or any(instruction.kind is _JUMP for instruction in instructions):
        return True
    # Without a jump, a run that finished executed all instructions.
    return all(len(numbers) in (0, method.count(kind)) for kind, numbers in expected[:2])


def match_with_executable(method: Method, ran: ExecutableMethod) -> Match:
    """Return how well a method of an ETRecord matches the program that ran, 0 to 1.

    1: each instruction of its debug handle map is the operator or delegate call that the program
    has there. 0: a delegate call is of another backend, or its nodes have debug handles that the
    record does not have for it. A kernel with another name may have been put there by a pass.
    Evidence is the number of instructions compared.
    """
    numbers = method.handles.keys() | {i for i in method.delegates if i >= 0}
    numbers |= _mapped_by_export(ran)
    score = 0.0
    for number in numbers:
        kind = kind_at(ran, number)
        if kind is _KERNEL and number not in method.delegates:
            if number not in method.handles:
                continue
            known = {n for handle in method.handles[number] for n in method.kernel_names(handle)}
            instruction = ran.instructions[number]
            is_same = instruction.name.startswith(_PRIMITIVES) or kernel_name(instruction) in known
            score += 1 if is_same else REPLACED
        elif kind is not _DELEGATE or not _is_same_call(method, ran, number):
            return Match(0.0, len(numbers))
        elif number in method.delegates:
            score += _share_of_nodes(method, delegate_of(ran, number))
    return Match(score / len(numbers), len(numbers)) if numbers else Match(0.0, 0)


def replaced_instructions(method: Method, ran: ExecutableMethod) -> frozenset[int]:
    """Return the instructions whose kernels are not those of their debug handles."""
    return frozenset(
        number
        for number, handles in method.handles.items()
        if kind_at(ran, number) is _KERNEL
        and not ran.instructions[number].name.startswith(_PRIMITIVES)
        and not any(
            kernel_name(ran.instructions[number]) in method.kernel_names(handle)
            for handle in handles
        )
    )


def decided_by(
    executable: Executable,
    ran: Sequence[tuple[str, ...]],
    found: TraceMatch,
    program: Program,
    chosen: Mapping[int, str],
) -> TraceMatch:
    """Return the match of a trace and an ETRecord, decided by the program file that ran.

    ran: the result of `methods_that_ran`. found: their match without the program file. chosen:
    scope -> the method that the user chose.
    """
    decisions = [
        _decided_scope(executable, found, program, scope, (chosen[scope],))
        if scope in chosen
        else _decided_scope(executable, found, program, scope, names)
        for scope, names in enumerate(ran)
    ]
    return TraceMatch(
        mean_match([d.match for d in decisions if d.match is not None]),
        tuple(d.method for d in decisions),
        tuple(d.match for d in decisions),
        tuple(d.undecided for d in decisions),
        tuple(d.replaced for d in decisions),
    )


@dataclass(frozen=True, slots=True)
class _Decision:
    """The method of one scope, as in `TraceMatch`."""

    method: str | None
    match: Match | None
    undecided: tuple[str, ...] = ()
    replaced: frozenset[int] = frozenset()


def _decided_scope(
    executable: Executable, found: TraceMatch, program: Program, scope: int, names: Sequence[str]
) -> _Decision:
    before = _Decision(
        found.methods[scope], found.by_scope[scope], found.undecided[scope], found.replaced[scope]
    )
    if not names:
        return before
    pairs = {
        name: (method, part)
        for name in names
        if (method := program.method(name)) and (part := executable.method(name))
    }
    rated = {name: match_with_executable(*pair) for name, pair in pairs.items()}
    if not rated:
        # The program file names its methods otherwise than the record.
        return replace(before, match=Match(0.0, 1)) if before.match else before
    best = max(rated.values(), key=lambda match: match.value)
    top = [name for name, match in rated.items() if match.value == best.value]
    if len(top) > 1:
        return _Decision(None, best, tuple(top))
    # Kernels that passes replaced are half a match. Without the program file, the others count.
    if before.match and before.method == top[0] and best.value >= REPLACED:
        best = max(best, before.match, key=lambda match: match.value)
    return _Decision(top[0], best, (), replaced_instructions(*pairs[top[0]]))


def _mapped_by_export(ran: ExecutableMethod) -> set[int]:
    """Return the instructions that export maps to debug handles: calls outside of branches.

    Without the runtime's own primitives and the write-back of mutated buffers.
    """
    inside = in_branches(ran)
    return {
        x.number
        for x in ran.instructions
        if x.number not in inside
        and (
            x.kind is _DELEGATE
            or (
                x.kind is _KERNEL
                and not x.name.startswith(_PRIMITIVES)
                and kernel_name(x) != WRITE_BACK
            )
        )
    }


def _is_same_call(method: Method, ran: ExecutableMethod, number: int) -> bool:
    """Return whether a delegate call of the program may be that of the record."""
    delegate, known = delegate_of(ran, number), method.delegates.get(number)
    if known is not None and known.backend not in ("", delegate.backend):
        return False
    handles = set(method.handles.get(number, ()))
    return not handles or all(
        x.debug_handle in handles for x in delegate.nodes if not x.is_inserted
    )


def _share_of_nodes(method: Method, delegate: Delegate) -> float:
    """Return the share of XNNPACK's nodes that can come from the operators of their handles.

    1 if that cannot be compared, as for other backends.
    """
    found = [
        not names.isdisjoint(operator.base_names)
        for node in delegate.nodes
        if (operator := method.by_handle.get(node.debug_handle)) is not None
        and (names := operators_of([short_type(node.type)]))
    ]
    return sum(found) / len(found) if found else 1.0
