"""Whether a program file (`.pte`) is what ran in a trace.

The instructions of a program file are what an ETDump logs by number: the operator of every kernel,
and every delegate call. All of them are compared; one difference shows that another program ran.

XNNPACK also logs its own operators, which are the nodes of its delegates after rewrites that differ
by release and processor. So an event without a node, or a node without an event, shows nothing. But
another program ran if the nodes that no rewrite removes (convolutions, matrix products, pooling)
differ from what was logged, or if a large part of all calls differs.

Without any kernel or event of XNNPACK to compare, nothing is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.logged_identities import LoggedIdentities, Signature
from viewer.analysis.nodes.executable_calls import delegate_of, kernel_name, kind_at
from viewer.analysis.nodes.xnnpack_events import (
    MOST_UNEXPLAINED,
    Alignment,
    align,
    call_events,
    may_have_logged,
)
from viewer.model.names.executorch import xnnpack_operator
from viewer.model.trace import Trace
from viewer.program.executable.executable import (
    XNNPACK,
    Delegate,
    Executable,
    ExecutableMethod,
    InstructionKind,
)

_KERNEL, _DELEGATE = InstructionKind.KERNEL_CALL, InstructionKind.DELEGATE_CALL
_JUMP = InstructionKind.JUMP_FALSE_CALL
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
    counts = [_counts(method) for method in executable.methods]
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


def _counts(method: ExecutableMethod) -> _Counts:
    return method.count(_KERNEL), method.count(_DELEGATE), method.count(_JUMP) > 0


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
