"""The match: how well a program fits a trace that does not name it.

An ETRecord and an ETDump share no key, so a wrong pair would give plausible but wrong operators. So
everything comparable is compared, per scope of the trace (the runs of one method) and method of the
program:

    match = matching instruction IDs / union of the IDs in the ETRecord's maps and in the runs

averaged over the runs, since each takes one branch of a torch.cond. A kernel matches if its
operator is among those of its debug handle, and not more often than in the graph: an LSTM and a GRU
have the same operators behind their one handle, but not the same number of each. A DELEGATE_CALL
matches if the delegate map has its instruction, multiplied by the share of its logged identifiers
that a filled map contains. XNNPACK fills no map, but each of its events is of a type that one of
the call's operators becomes. Without any kernels, identifiers or types compared (`evidence`), the
pair cannot be checked.

Instructions that are in no map of any ETRecord are ignored: those inside branches of control flow,
write-backs of mutated buffers, what transform passes added, and the runtime's own primitives (views
and arithmetic on sizes, which log a call but no kernel). If they counted as mismatches, true pairs
of models with torch.cond or torch.map would drop to 0.10, and those with dynamic shapes to 0.70. A
run that failed or was cut short is compared up to its last instruction.

Passes replace operators and keep their debug handles (`.transform()`,
`ExecutorchBackendConfig(passes=...)`). If a run has exactly the instructions of the map, and the
kernels whose names the record has are where they should be, other kernels count as replaced: half a
match each.

A debug handle map file covers only delegates, so only the share of identifiers that its maps
contain counts, and no calls of other backends. Identifiers without instructions, as in a CSV
column, are one call; either side may be a subset of the other, so the share is relative to the
smaller one. Evidence is the unknown identifiers and the known words: numbers are in every such map.

True pairs reach at least 0.83; false pairs stay at or below 0.50 if there is evidence. Hence the
threshold of 0.6. Models of one family fall in between: one with an extra final layer has 0.64, a
GRU and an LSTM 0.75. Such pairs are linked with a warning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from viewer.analysis.links.logged_identities import (
    NO_CONTRADICTIONS,
    LoggedIdentities,
    Signature,
    TypeContradictions,
    contradictions,
    signatures,
)
from viewer.analysis.links.mlir_locations import TextPositions, positions_of
from viewer.dataclasses import dataclass, replace
from viewer.model.times import counted
from viewer.model.trace import Trace
from viewer.program.debug_handles import NO_INSTRUCTION, Identifier, is_of_whole_call, is_word
from viewer.program.program import NO_HANDLE, Method, Program, base_name

BELONG = 0.6
# Real pairs reach 0.83. Below this, the ETRecord may be from another version of the model.
IN_PART = 0.8
AHEAD = 0.2
REPLACED = 0.5  # of a match: a kernel that a pass may have put in place of the recorded one
MATCH_EXPLANATION = (
    "How well the two match, from 0 to 1. Opscope compares kernels with the operators of their "
    "debug handles, delegate identifiers with debug handle maps, and locations with the MLIR text. "
    "Below 0.6 they do not match, below 0.8 they match only in part."
)
UNCHECKABLE = "cannot be checked: nothing to compare"
# Added by the emitter itself: the write-back of a mutated buffer, and the slicing and size
# operators around a loop body.
WRITE_BACK = "copy_"
_AROUND_BODIES = frozenset({"sym_size", "select_copy"})


@dataclass(frozen=True, slots=True)
class Match:
    """How well two things match, 0 to 1, and the number of kernels and identifiers compared."""

    value: float
    evidence: int

    @property
    def belongs(self) -> bool:
        """Whether the value reaches the threshold `BELONG`."""
        return self.value >= BELONG

    @property
    def is_partial(self) -> bool:
        """Whether a checkable pair is accepted, but below `IN_PART`."""
        return self.checkable and BELONG <= self.value < IN_PART

    def with_types(self, checked: TypeContradictions) -> Match:
        """Return the match after comparing data types: a contradiction lowers it."""
        if not checked.count:
            return self
        return Match(self.value * checked.agreeing, max(self.evidence, checked.compared))

    @property
    def checkable(self) -> bool:
        """Whether anything was compared."""
        return self.evidence > 0

    def __str__(self) -> str:
        if not self.checkable:
            return UNCHECKABLE
        return f"match {self.value:.2f}, {names_compared(self)}"


def names_compared(match: Match) -> str:
    """Return "6 names compared", the evidence of a match. See `MATCH_EXPLANATION`."""
    return f"{counted(match.evidence, 'name')} compared"


def match_with_method(
    logged: LoggedIdentities,
    method: Method,
    finished: bool = True,
    replaced: Collection[int] = frozenset(),
) -> Match:
    """Return how well the runs of a scope match one method of an ETRecord.

    replaced: the instructions whose kernels a pass may have replaced.
    """

    if method.delegates_only:
        return _match_of_delegates(logged, method, finished)
    return _match_of_names(logged, method, finished, replaced).with_types(
        contradictions(logged, method)
    )


def _match_of_names(
    logged: LoggedIdentities, method: Method, finished: bool, replaced: Collection[int]
) -> Match:
    """Return how well the names that runs logged match one method of an ETRecord."""
    score, evidence = 0.0, 0
    ids: set[int] = set(method.handles) | set(method.delegates)
    if not finished:
        last = logged.last_instruction
        ids = {instruction for instruction in ids if instruction <= last}
    left = _Kernels(method)
    in_branches = 0
    for instruction, ops in logged.kernels.items():
        if instruction not in method.handles and is_never_mapped(ops, method, bool(logged.jumps)):
            in_branches += 1
            continue
        share = left.take(instruction, ops) / len(ops)
        score += REPLACED if instruction in replaced else share
        evidence += len(ops)
        ids.add(instruction)
    for instruction in logged.operator_calls - set(logged.kernels):
        if logged.kernels and not _may_log_no_kernel(instruction, method):
            ids.discard(instruction)  # a runtime primitive, or a manually registered kernel
            continue
        # A runtime without kernel events still logs which instructions are operators.
        score += instruction in method.handles and instruction not in method.delegates
        ids.add(instruction)
    # A table may contain a delegate's events without the call around them.
    for instruction in logged.delegate_calls | {i for i in logged.identifiers if i >= 0}:
        ids.add(instruction)
        delegate = method.delegates.get(instruction)
        if delegate is None:
            continue
        handles_of = {i: delegate.handles(i) for i in logged.identifiers.get(instruction, set())}
        compared = [h for i, h in handles_of.items() if h is not None or not is_of_whole_call(i)]
        if delegate.is_filled and compared:
            score += sum(handles is not None for handles in compared) / len(compared)
            evidence += len(compared)
        else:
            types = _match_of_types(logged.identifiers.get(instruction, ()), method, instruction)
            score += types.value if types.checkable else 1
            evidence += types.evidence
    unplaced = logged.identifiers.get(-1, set())
    if unplaced:
        # A table with identifiers only: all maps of the method together count as one instruction.
        maps = [d for d in method.delegates.values() if d.is_filled]
        score = sum(any(d.handles(i) is not None for d in maps) for i in unplaced) / len(unplaced)
        return Match(score, len(unplaced))
    if not (method.handles or method.delegates):
        # A name inside branches does not identify its instruction; any other name is a mismatch.
        return Match(float(0 < in_branches == len(logged.kernels)), 0)
    return Match(score / len(ids), evidence) if ids else Match(0.0, 0)


def _match_of_types(events: Collection[Identifier], method: Method, instruction: int) -> Match:
    """Return how well the types of XNNPACK's events match the operators of their call.

    It is the number of events that have an operator which can become them, each operator for one
    event, in relation to the number of events or operators. Nodes of one debug handle may be in
    several calls, so only the operators of no other call must have an event. Evidence is the number
    of events whose type proves anything.
    """
    from viewer.analysis.nodes.xnnpack_events import types_that_log
    from viewer.analysis.nodes.xnnpack_operators import is_counted, may_be_logged, operators_of

    left, alone = Counter[str](), 0
    for handle in dict.fromkeys(method.handles.get(instruction, ())):
        operator = method.by_handle.get(handle)
        names = [base_name(node.op) for node in operator.nodes] if operator else []
        left.update(filter(may_be_logged, names))
        alone += sum(map(is_counted, names)) if method.calls_of[handle] == 1 else 0
    possible = [
        operators
        for event in events
        if isinstance(event, str) and (operators := operators_of(types_that_log(event)))
    ]
    matches = 0
    # Events that few operators can become have the first choice.
    for operators in sorted(possible, key=len):
        name = max(operators, key=lambda each: left[each])
        matches += left[name] > 0
        left[name] -= 1
    most = max(len(possible), alone)
    return Match(matches / most, len(possible)) if possible and method.handles else Match(0.0, 0)


def _replaced_in_run(run: Signature, method: Method) -> frozenset[int]:
    """Return the instructions whose kernels a pass may have put in place of recorded operators.

    There are none if the run did not finish, if its instructions are not those of the map, if the
    record has the graph after its passes, or if other kernels contradict their debug handles.
    """
    logged = run.identities
    if not run.finished or method.delegates_only or method.later_names:
        return frozenset()
    kernels = {
        instruction: ops
        for instruction, ops in logged.kernels.items()
        if instruction in method.handles or not is_never_mapped(ops, method, bool(logged.jumps))
    }
    ran = kernels.keys() | logged.delegate_calls
    mapped = _instructions(method)
    if ran - mapped or mapped - ran - logged.operator_calls:
        return frozenset()
    recorded = frozenset[str]().union(*(operator.base_names for operator in method.operators))
    # Of relu → sigmoid, mul, the record may know mul from elsewhere: the handle decides.
    unknown = {method.handles.get(i) for i, ops in kernels.items() if recorded.isdisjoint(ops)}
    replaced = {
        i
        for i, ops in kernels.items()
        if (handles := method.handles.get(i, ())) in unknown
        and not any(method.kernel_names(handle) & ops for handle in handles)
    }
    others = {i: ops for i, ops in kernels.items() if i not in replaced}
    left = _Kernels(method)
    agree = sum(left.take(instruction, ops) for instruction, ops in others.items())
    compared = sum(map(len, others.values()))
    return frozenset(replaced) if compared and agree >= IN_PART * compared else frozenset()


def _match_of_delegates(logged: LoggedIdentities, method: Method, finished: bool) -> Match:
    """Return how well the delegates' logs match the maps of a debug handle map file."""
    unplaced = logged.identifiers.get(NO_INSTRUCTION, set())
    if unplaced:
        return _match_without_calls(unplaced, method)
    score, evidence, calls, unknown = 0.0, 0, 0, 0
    for instruction, identifiers in logged.identifiers.items():
        delegate = method.delegate_at(instruction)
        if delegate is None or not delegate.is_filled:
            continue
        is_mapped = {i: delegate.handles(i) is not None for i in identifiers}
        compared = [
            i for i, has_handles in is_mapped.items() if has_handles or not is_of_whole_call(i)
        ]
        if instruction not in method.delegates and not any(is_mapped.values()):
            unknown += len(compared)
        elif compared:
            calls += 1
            score += sum(is_mapped[i] for i in compared) / len(compared)
            evidence += sum(not is_mapped[i] or is_word(i) for i in compared)
    ran = logged.delegate_calls | set(logged.identifiers)
    for instruction in method.delegates.keys() - ran - {NO_INSTRUCTION}:
        # A call in the file that no run made is a mismatch, unless the run was cut short.
        calls += bool(ran) and (finished or instruction <= logged.last_instruction)
    return Match(score / calls, evidence) if calls else Match(0.0, unknown)


def _match_without_calls(unplaced: Collection[Identifier], method: Method) -> Match:
    """Return the match of identifiers without calls, with all maps treated as one."""
    maps = [d for d in method.delegates.values() if d.is_filled]
    keys_of = {i: {entry.key for d in maps if (entry := d.find(i)) is not None} for i in unplaced}
    met = {key for keys in keys_of.values() for key in keys}
    stated = {key for d in maps for key in d.entries or ()}
    shared = sum(bool(keys) for keys in keys_of.values())
    if not shared:
        return Match(0.0, len(unplaced))
    value = max(shared / len(unplaced), len(met) / len(stated))
    return Match(value, sum(is_word(i) for i, keys in keys_of.items() if keys))


def is_never_mapped(ops: Collection[str], method: Method, has_jumps: bool) -> bool:
    """Return whether kernels may belong to the method although its map has no handle for them."""
    unmapped = {WRITE_BACK} | method.later_names.get(NO_HANDLE, frozenset())
    if has_jumps and method.in_branches:
        unmapped |= _AROUND_BODIES | method.in_branches.keys()
    return unmapped.issuperset(ops)


def _may_log_no_kernel(instruction: int, method: Method) -> bool:
    """Return whether the instruction maps to an operator whose kernel logs nothing.

    These are size operators and custom operators.
    """
    operators = (method.by_handle.get(h) for h in method.handles.get(instruction, ()))
    ops = (op for operator in operators if operator for op in operator.ops)
    return any(not op.startswith("aten.") or op.startswith("aten.sym_") for op in ops)


class _Kernels:
    """The operators of a method's debug handles that are not yet matched to a kernel."""

    def __init__(self, method: Method) -> None:
        self._method = method
        self._left: dict[tuple[int, ...], Counter[str]] = {}

    def take(self, instruction: int, ops: Collection[str]) -> int:
        """Match an instruction's kernels to its remaining operators; return how many matched."""
        handles = self._method.handles.get(instruction, ())
        if handles not in self._left:
            operators = (self._method.by_handle.get(h) for h in dict.fromkeys(handles))
            nodes = (node for operator in operators if operator for node in operator.nodes)
            self._left[handles] = Counter(base_name(node.op) for node in nodes)
        left = self._left[handles]
        later = {n for h in handles for n in self._method.later_names.get(h, ())}
        taken = 0
        for op in ops:
            if op in later if later else left[op] > 0:
                left[op] -= 1
                taken += 1
        return taken


@dataclass(frozen=True)
class TraceMatch:
    """How a program matches a whole trace.

    methods: per scope the method of its runs, None for loads and if undecided. by_scope: per scope
    its match. undecided: per scope the methods that match equally well. replaced: per scope the
    instructions whose kernels a pass may have put in place of the recorded ones. types: how many
    events contradict the data types of the method of their scope, or of the first that it may be.
    """

    match: Match
    methods: tuple[str | None, ...]
    by_scope: tuple[Match | None, ...]
    undecided: tuple[tuple[str, ...], ...]
    replaced: tuple[frozenset[int], ...]
    types: TypeContradictions = NO_CONTRADICTIONS


def type_contradictions(
    logged: Sequence[Signature], program: Program, methods: Mapping[int, Sequence[str]]
) -> TypeContradictions:
    """Return how many events contradict the data types of methods, over all scopes of a trace.

    logged: the signatures of the trace. methods: per scope those that its runs may be of.
    """

    total = NO_CONTRADICTIONS
    for run in logged:
        names = methods[run.scope]
        method = program.method(names[0]) if names else None
        if method is not None and not method.delegates_only:
            total = total.plus(contradictions(run.identities, method))
    return total


def match_trace(
    trace: Trace,
    program: Program,
    chosen: Mapping[int, str] | None = None,
    logged: Sequence[Signature] | None = None,
) -> TraceMatch:
    """Assign the scopes of a trace to the methods of a program and compute their match.

    chosen: scope -> the method that the user chose, regardless of the match. logged: the signatures
    of the trace, if known from its match with another program.
    """
    if program.text_lines:
        return _fit_text(trace, program)
    logged = signatures(trace) if logged is None else logged
    trace_match = _fit_methods(trace, logged, program.methods, chosen or {})
    return with_types(trace_match, logged, program)


def with_types(
    trace_match: TraceMatch, logged: Sequence[Signature], program: Program
) -> TraceMatch:
    """Return a match that states how many events contradict the data types of its methods."""
    names = zip(trace_match.methods, trace_match.undecided, strict=True)
    methods = {scope: (name,) if name else several for scope, (name, several) in enumerate(names)}
    return replace(trace_match, types=type_contradictions(logged, program, methods))


def _fit_methods(
    trace: Trace,
    logged: Sequence[Signature],
    candidates: Sequence[Method],
    chosen: Mapping[int, str],
) -> TraceMatch:
    methods: list[str | None] = []
    scores: list[Match | None] = []
    undecided: list[tuple[str, ...]] = []
    mapped = [m for m in candidates if m.is_mapped]
    runs = [
        [x for x in logged if x.scope == number and not x.identities.is_empty]
        for number in range(len(trace.scopes))
    ]
    plain = [
        {m.name: _mean(signatures_of_run, m) for m in mapped} if signatures_of_run else {}
        for signatures_of_run in runs
    ]
    replaced = _replaced_kernels(trace, runs, mapped, plain)
    for number, (scope, run_signatures) in enumerate(zip(trace.scopes, runs, strict=True)):
        run_method = chosen.get(number) or scope.method
        rated = dict(plain[number])
        for method in mapped:
            if run_method and method.name != run_method:
                rated.pop(method.name, None)
            elif (number, method.name) in replaced:
                rated[method.name] = _mean(run_signatures, method, replaced[number, method.name])
        best = max((match.value for match in rated.values()), default=0.0)
        top = [name for name, match in rated.items() if match.value == best]
        methods.append(top[0] if len(top) == 1 else None)
        scores.append(rated[top[0]] if top else None)
        undecided.append(tuple(top) if len(top) > 1 else ())
    total = mean_match([s for s in scores if s is not None])
    return TraceMatch(
        total,
        tuple(methods),
        tuple(scores),
        tuple(undecided),
        tuple(
            replaced.get((number, name or ""), frozenset()) for number, name in enumerate(methods)
        ),
    )


def _replaced_kernels(
    trace: Trace,
    runs: Sequence[Sequence[Signature]],
    methods: Sequence[Method],
    plain: Sequence[Mapping[str, Match]],
) -> dict[tuple[int, str], frozenset[int]]:
    """Return the instructions whose kernels passes may have replaced, per scope and method.

    Scopes are different methods, so only the scope that fits a method best can be it after passes.
    If another method has the same instructions, the kernels may be its own: its graph may not be in
    the record. plain: per scope, the match with each method, with no kernel replaced.
    """
    instructions_of = {}
    instructions = Counter(map(_instructions, methods))
    for method in methods:
        values = [rated[method.name].value if rated else -1.0 for rated in plain]
        best = max(values, default=-1.0)
        # The parts of a split scope have its name.
        scopes = [scope for scope, value in enumerate(values) if value == best]
        names = {trace.scopes[scope].name for scope in scopes}
        if best < 0 or len(names) > 1 or instructions[_instructions(method)] > 1:
            continue
        for scope in scopes:
            replaced = frozenset[int]().union(*(_replaced_in_run(x, method) for x in runs[scope]))
            if replaced:
                instructions_of[scope, method.name] = replaced
    return instructions_of


def _instructions(method: Method) -> frozenset[int]:
    return frozenset(method.handles) | frozenset(method.delegates)


def mean_match(matches: Sequence[Match]) -> Match:
    """Return the mean match of several scopes, weighted by their evidence.

    So a scope with one stray identifier does not outweigh the runs of a whole method.
    """
    evidence = sum(a.evidence for a in matches)
    weights = [a.evidence if evidence else 1 for a in matches]
    value = sum(a.value * w for a, w in zip(matches, weights, strict=True)) / max(sum(weights), 1)
    return Match(value, evidence)


def _mean(
    run_signatures: Sequence[Signature], method: Method, replaced: Collection[int] = frozenset()
) -> Match:
    """Return the match averaged over runs; the evidence is the largest of any signature."""
    rated = [
        (match_with_method(x.identities, method, x.finished, replaced), x.runs)
        for x in run_signatures
    ]
    runs = sum(count for _, count in rated)
    return Match(
        sum(a.value * count for a, count in rated) / runs, max(a.evidence for a, _ in rated)
    )


def _fit_text(trace: Trace, program: Program) -> TraceMatch:
    """Match by the share of distinct positions in locations that have an operation in the text."""
    texts = TextPositions(program)
    named = {
        position
        for location in trace.keys.location.tolist()
        if location is not None
        for position in positions_of(location)
    }
    hits = sum(texts.operator_at(position) is not None for position in named)
    total = Match(hits / len(named) if named else 0.0, len(named))
    n = len(trace.scopes)
    return TraceMatch(total, (None,) * n, (total,) * n, ((),) * n, (frozenset(),) * n)
