"""Whether a program file (`.pte`) is what ran in a trace, and whether an ETRecord matches it.

All instructions that an ETDump logs by number are compared; one difference shows that another
program ran. XNNPACK also logs its own operators, which are the nodes of its delegates after
rewrites that differ by release and processor. So an event without a node, or a node without an
event, shows nothing. But another program ran if the nodes that no rewrite removes (convolutions,
matrix products, pooling) differ from what was logged, or if a large part of all calls differs.

An ETRecord and an ETDump share no key. The program file has both sides. So once it is known to have
run, its instructions are compared with the record's debug handle map, and the nodes of XNNPACK with
the record's debug handles for their call. With a delegate of another backend, whose work is not in
the program file, the match of the ETDump and the ETRecord is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.logged_identities import LoggedIdentities, Signature
from viewer.analysis.links.match import (
    REPLACED,
    Match,
    TraceMatch,
    is_never_mapped,
    mean_match,
    type_contradictions,
    with_types,
)
from viewer.analysis.nodes.instruction_nodes import (
    branch_nodes,
    delegate_of,
    in_control_flow,
    kernel_name,
    kind_at,
)
from viewer.analysis.nodes.xnnpack_events import (
    MOST_UNEXPLAINED,
    Alignment,
    align,
    call_events,
    may_have_logged,
)
from viewer.analysis.nodes.xnnpack_operators import operators_of, short_type
from viewer.dataclasses import dataclass, replace
from viewer.model.recorded_names import xnnpack_operator
from viewer.model.trace import Trace
from viewer.program.executables import (
    XNNPACK,
    Delegate,
    Executable,
    ExecutableMethod,
    Instruction,
    InstructionKind,
)
from viewer.program.program import Method, Program

_KERNEL, _DELEGATE = InstructionKind.KERNEL_CALL, InstructionKind.DELEGATE_CALL
_JUMP = InstructionKind.JUMP_FALSE_CALL
# Views and arithmetic on sizes, which the runtime registers itself.
_PRIMITIVES = "executorch_prim::"


def match_with_executable(method: Method, ran: ExecutableMethod) -> Match:
    """Return how well a method of an ETRecord matches the program that ran, 0 to 1.

    1: each instruction of its debug handle map is the operator or delegate call that the program
    has there. 0: the map has something else where the program has a call, a delegate call is of
    another backend, or its nodes have debug handles that the record does not have for it. A kernel
    with another name may have been put there by a pass. Evidence is the number of instructions
    compared; 0 if the map has none, as for a method that consists of branches.
    """
    numbers = method.handles.keys() | {i for i in method.delegates if i >= 0}
    numbers |= _mapped_by_export(method, ran)
    score = 0.0
    for number in numbers:
        kind = kind_at(ran, number)
        if kind is _KERNEL and number not in method.delegates:
            if number not in method.handles:
                continue
            score += 1 if _is_as_recorded(method, ran.instructions[number]) else REPLACED
        elif kind is not _DELEGATE or not _is_same_call(method, ran, number):
            return Match(0.0, len(numbers))
        elif number in method.delegates:
            score += _share_of_nodes(method, delegate_of(ran, number))
    return Match(score / len(numbers), len(numbers)) if numbers else Match(0.0, 0)


def replaced_instructions(method: Method, ran: ExecutableMethod) -> frozenset[int]:
    """Return the instructions whose kernels are not those of their debug handles."""
    return frozenset(
        number
        for number in method.handles
        if kind_at(ran, number) is _KERNEL and not _is_as_recorded(method, ran.instructions[number])
    )


def _is_as_recorded(method: Method, ran: Instruction) -> bool:
    """Return whether a kernel call is an operator of its debug handles, or a primitive."""
    return ran.name.startswith(_PRIMITIVES) or any(
        kernel_name(ran) in method.kernel_names(handle) for handle in method.handles[ran.number]
    )


def decided_by(
    trace: Trace,
    executable: Executable,
    ran: Sequence[tuple[str, ...]],
    trace_match: TraceMatch,
    program: Program,
    chosen: Mapping[int, str],
    logged: Sequence[Signature] = (),
) -> TraceMatch:
    """Return the match of a trace and an ETRecord, decided by the program file that ran.

    ran: the result of `methods_that_ran`. found: their match without the program file; it stands
    for scopes whose runs executed another method than the user chose or the file states. chosen:
    scope -> the method that the user chose. logged: the signatures of the trace, to compare types.
    """
    decisions = []
    for scope, names in enumerate(ran):
        before = _Decision(
            trace_match.methods[scope],
            trace_match.by_scope[scope],
            trace_match.undecided[scope],
            trace_match.replaced[scope],
        )
        stated = chosen.get(scope) or trace.scopes[scope].method
        possible = tuple(name for name in names if stated in (None, name))
        if not possible:
            decisions.append(before)
            continue
        decision = _decided(executable, program, possible, before)
        signatures = [run for run in logged if run.scope == scope]
        types = type_contradictions(signatures, program, {scope: possible})
        if decision is not before and decision.match is not None and types.count:
            decision = replace(decision, match=decision.match.with_types(types))
        decisions.append(decision)
    trace_match = TraceMatch(
        mean_match([d.match for d in decisions if d.match is not None]),
        tuple(d.method for d in decisions),
        tuple(d.match for d in decisions),
        tuple(d.undecided for d in decisions),
        tuple(d.replaced for d in decisions),
    )
    return with_types(trace_match, logged, program)


@dataclass(frozen=True, slots=True)
class _Decision:
    """The method of one scope, as in `TraceMatch`."""

    method: str | None
    match: Match | None
    undecided: tuple[str, ...] = ()
    replaced: frozenset[int] = frozenset()


def _decided(
    executable: Executable, program: Program, names: Sequence[str], before: _Decision
) -> _Decision:
    """Return the method of a scope whose runs executed one of some methods.

    Methods with the same instructions stay undecided, whatever the ETRecord contains.
    """
    pairs = {
        name: (method, part)
        for name in names
        if (method := program.method(name)) and (part := executable.method(name))
    }
    rated = {name: _rated(program, *pair) for name, pair in pairs.items()}
    if not rated:  # the record has no such method
        return replace(before, match=Match(0.0, 1)) if before.match else before
    best = max(rated.values(), key=lambda match: match.value)
    if len(names) > 1:
        return _Decision(None, best if best.checkable else before.match, tuple(names))
    (name,) = names
    # Whether a delegate call does not show what it executes.
    if not best.checkable or any(
        not delegate_of(pairs[name][1], x.number).nodes
        for x in pairs[name][1].instructions
        if x.kind is _DELEGATE
    ):
        return before
    # Kernels that passes replaced are half a match. Without the program file, the others count.
    if before.match and before.method == name and best.value >= REPLACED:
        best = max(best, before.match, key=lambda match: match.value)
    return _Decision(name, best, (), replaced_instructions(*pairs[name]))


def _rated(program: Program, method: Method, ran: ExecutableMethod) -> Match:
    """Return the match of a method, also of one that consists of branches."""
    match = match_with_executable(method, ran)
    branches = {} if match.checkable else branch_nodes(program, method, ran)
    return Match(1.0, len(branches)) if branches else match


def _mapped_by_export(method: Method, ran: ExecutableMethod) -> set[int]:
    """Return the calls of a program that the debug handle map of its ETRecord has.

    It has none inside control flow, none of the runtime's own primitives, and none of the kernels
    that export adds late.
    """
    inside = in_control_flow(ran)
    has_jumps = any(x.kind is _JUMP for x in ran.instructions)
    return {
        x.number
        for x in ran.instructions
        if x.number not in inside
        and (
            x.kind is _DELEGATE
            or (
                x.kind is _KERNEL
                and not x.name.startswith(_PRIMITIVES)
                and not is_never_mapped({kernel_name(x)}, method, has_jumps)
            )
        )
    }


def _is_same_call(method: Method, ran: ExecutableMethod, number: int) -> bool:
    """Return whether a delegate call of the program may be that of the record."""
    delegate, delegate_map = delegate_of(ran, number), method.delegates.get(number)
    if delegate_map is not None and delegate_map.backend not in ("", delegate.backend):
        return False
    handles = set(method.handles.get(number, ()))
    return not handles or all(
        x.debug_handle in handles for x in delegate.nodes if not x.is_inserted
    )


def _share_of_nodes(method: Method, delegate: Delegate) -> float:
    """Return the share of XNNPACK's nodes that can come from the operators of their handles.

    1 if that cannot be compared, as for other backends.
    """
    matches = [
        not names.isdisjoint(operator.base_names)
        for node in delegate.nodes
        if (operator := method.by_handle.get(node.debug_handle)) is not None
        and (names := operators_of([short_type(node.type)]))
    ]
    return sum(matches) / len(matches) if matches else 1.0


# Only this format lists every instruction that ran; a table may have a part of them.
_COMPLETE = "ETDump"

_Events = Mapping[int, Sequence[str]]  # instruction -> the events of its call, as logged


def methods_that_ran(
    trace: Trace, executable: Executable, logged: Sequence[Signature]
) -> list[tuple[str, ...]] | None:
    """Return per scope of a trace the methods that its runs may have executed.

    logged: the signatures of the trace. Empty for a scope that logged no instructions. None if the
    runs of any scope executed none of the methods, or if there is nothing to compare.
    """
    runs: list[list[Signature]] = [[] for _ in trace.scopes]
    for run in logged:
        if not run.identities.is_empty:
            runs[run.scope].append(run)
    events: list[dict[int, list[str]]] = [{} for _ in trace.scopes]
    for (scope, instruction), keys in call_events(trace).items():
        events[scope][instruction] = [str(trace.keys.identifier[key]) for key in keys]
    is_complete = trace.format == _COMPLETE
    counts = [
        (method.count(_KERNEL), method.count(_DELEGATE), method.count(_JUMP) > 0)
        for method in executable.methods
    ]
    names_of_scopes: list[tuple[str, ...]] = []
    evidence = 0
    for signatures, texts in zip(runs, events, strict=True):
        finished = is_complete and all(run.finished for run in signatures)
        names = tuple(
            method.name
            for method, count in zip(executable.methods, counts, strict=True)
            if signatures
            and all(_is_run_of(run.identities, method, count, finished) for run in signatures)
            and _logged_its_nodes(method, texts, finished)
        )
        if signatures and not names:
            return None
        evidence += sum(len(run.identities.kernels) for run in signatures)
        evidence += sum(
            xnnpack_operator(text) is not None for value in texts.values() for text in value
        )
        names_of_scopes.append(names)
    return names_of_scopes if evidence else None


def methods_of_scopes(
    table: LinkTable, executable: Executable, ran: Sequence[Sequence[str]]
) -> tuple[ExecutableMethod | None, ...]:
    """Return per scope of a linked trace the method that its runs executed, None if unknown.

    ran: per scope the methods that they may have executed. Of several, the links decide.
    """
    methods = []
    for scope, names in enumerate(ran):
        linked = table.method_of_scope(scope)
        name = linked if linked in names else names[0] if len(names) == 1 else None
        methods.append(None if name is None else executable.method(name))
    return tuple(methods)


_Counts = tuple[int, int, bool]  # kernel calls, delegate calls, and whether there is any jump


def _is_run_of(
    logged: LoggedIdentities, method: ExecutableMethod, counts: _Counts, finished: bool
) -> bool:
    """Return whether a run may have logged its instructions by executing a method."""
    kernels = logged.operator_calls | logged.kernels.keys()
    delegates = logged.delegate_calls | {i for i in logged.identifiers if i >= 0}
    expected = ((_KERNEL, kernels), (_DELEGATE, delegates), (_JUMP, logged.jumps))
    if any(kind_at(method, i) is not kind for kind, numbers in expected for i in numbers):
        return False
    if any(kernel_name(method.instructions[i]) not in ops for i, ops in logged.kernels.items()):
        return False
    if any(
        delegate_of(method, i).backend == XNNPACK
        and any(not isinstance(x, str) for x in identifiers)
        for i, identifiers in logged.identifiers.items()
    ):
        return False
    # Without a jump, a run that finished executed all instructions.
    is_whole = len(kernels) in (0, counts[0]) and len(delegates) in (0, counts[1])
    return is_whole or counts[2] or not finished


def _logged_its_nodes(method: ExecutableMethod, texts: _Events, finished: bool) -> bool:
    """Return whether the delegates of a method may have logged the events of their calls."""
    differences = explained = 0
    for instruction, events in texts.items():
        alignment = _alignment(delegate_of(method, instruction), events, finished)
        if not alignment.is_possible:
            return False
        differences += alignment.differences
        explained += alignment.explained
    return differences <= MOST_UNEXPLAINED * explained


def _alignment(delegate: Delegate, events: Sequence[str], finished: bool) -> Alignment:
    """Return how the events of a call agree with its nodes, as far as that is known."""
    of_xnnpack = [xnnpack_operator(event) is not None for event in events]
    if delegate.backend != XNNPACK:
        return Alignment(is_possible=not any(of_xnnpack))
    if not all(of_xnnpack):
        return Alignment(is_possible=False)
    if not delegate.nodes:
        return Alignment()  # they could not be read
    if finished:
        return align(events, delegate.nodes, delegate.dataflow)
    may_be = may_have_logged(delegate.nodes, events, delegate.dataflow)
    return Alignment(is_possible=may_be)
