"""Agreement: how well a program fits a trace that names it nowhere.

A record and a dump share no key at all, so a wrong pair would give plausible wrong operators. What
can be compared is compared, per scope of the trace (the runs of one method) and method of the
program:

    agreement = agreeing instruction ids / (ids in the record's maps joined with ids in the runs)

averaged over the runs, since each takes one branch of a torch.cond. A kernel agrees if its operator
is among those of its debug handle. A DELEGATE_CALL agrees if the delegate map has its instruction,
times the share of its logged identifiers that a filled map knows. `evidence` counts the kernels and
identifiers compared; with none the pair cannot be checked.

Measured on real pairs: those that belong together reach 0.69 and more, those that do not stay at
0.50 and less once there is evidence. Hence the threshold of 0.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from viewer.model.trace import Trace
from viewer.program.debug_handles import is_of_whole_call
from viewer.program.graph import Method, Program
from viewer.program.logged import LoggedIdentities, Signature, signatures
from viewer.program.text_positions import TextPositions, positions_of

BELONG = 0.6
AHEAD = 0.2


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two things fit, 0 to 1, and how many kernels and identifiers that rests on."""

    value: float
    evidence: int

    @property
    def belongs(self) -> bool:
        """Whether nothing speaks against the pair."""
        return self.value >= BELONG

    @property
    def checkable(self) -> bool:
        return self.evidence > 0

    def __str__(self) -> str:
        if not self.checkable:
            return "cannot be checked: nothing to compare"
        return f"agreement {self.value:.2f} on {self.evidence} compared"


def agreement_with_method(logged: LoggedIdentities, method: Method) -> Agreement:
    """How far the runs of a scope fit one method of a record."""
    score, evidence = 0.0, 0
    ids: set[int] = set(method.handles) | set(method.delegates)
    for instruction, ops in logged.kernels.items():
        known = _ops_at(method, instruction)
        score += len(ops & known) / len(ops)
        evidence += len(ops)
        ids.add(instruction)
    for instruction in logged.operator_calls - set(logged.kernels):
        # A runtime without kernel events still says which instructions are operators.
        score += instruction in method.handles and instruction not in method.delegates
        ids.add(instruction)
    # A table may state a delegate's events without the call around them.
    for instruction in logged.delegate_calls | {i for i in logged.identifiers if i >= 0}:
        ids.add(instruction)
        delegate = method.delegates.get(instruction)
        if delegate is None:
            continue
        found = {i: delegate.handles(i) for i in logged.identifiers.get(instruction, set())}
        asked = [h for i, h in found.items() if h is not None or not is_of_whole_call(i)]
        if delegate.is_filled and asked:
            score += sum(handles is not None for handles in asked) / len(asked)
            evidence += len(asked)
        else:
            score += 1
    unplaced = logged.identifiers.get(-1, set())
    if unplaced:
        # A table with identifiers alone: all maps of the method together stand for one instruction.
        maps = [d for d in method.delegates.values() if d.is_filled]
        score = sum(any(d.handles(i) is not None for d in maps) for i in unplaced) / len(unplaced)
        return Agreement(score, len(unplaced))
    return Agreement(score / len(ids), evidence) if ids else Agreement(0.0, 0)


def _ops_at(method: Method, instruction: int) -> set[str]:
    found = (method.by_handle.get(h) for h in method.handles.get(instruction, ()))
    return {name for operator in found if operator for name in operator.base_names}


@dataclass(frozen=True)
class Fit:
    """How a program fits a whole trace.

    methods: per scope the method that its runs are of, None for loads and where none can be
    decided; by_scope: its agreement; undecided: per scope the methods that fit equally well.
    """

    agreement: Agreement
    methods: tuple[str | None, ...]
    by_scope: tuple[Agreement | None, ...]
    undecided: tuple[tuple[str, ...], ...]


def fit(
    trace: Trace,
    program: Program,
    chosen: Mapping[int, str] | None = None,
    logged: Sequence[Signature] | None = None,
) -> Fit:
    """Attribute the scopes of a trace to the methods of a program and say how well they fit.

    chosen: scope -> the method that the user says it is of, whatever the agreement. logged: the
    signatures of the trace, where they are known from its fit to another program.
    """
    if program.text_lines:
        return _fit_text(trace, program)
    logged = signatures(trace) if logged is None else logged
    return _fit_methods(trace, logged, program.methods, chosen or {})


def _fit_methods(
    trace: Trace,
    logged: Sequence[Signature],
    candidates: Sequence[Method],
    chosen: Mapping[int, str],
) -> Fit:
    methods: list[str | None] = []
    scores: list[Agreement | None] = []
    undecided: list[tuple[str, ...]] = []
    mapped = [m for m in candidates if m.is_mapped]
    for number, scope in enumerate(trace.scopes):
        own = [x for x in logged if x.scope == number and not x.identities.is_empty]
        said = chosen.get(number) or scope.method
        stated = [m for m in mapped if m.name == said] if said else mapped
        rated = [(_mean(own, m), m.name) for m in stated] if own else []
        best = max((a.value for a, _ in rated), default=0.0)
        top = [(a, name) for a, name in rated if a.value == best]
        methods.append(top[0][1] if len(top) == 1 else None)
        scores.append(top[0][0] if top else None)
        undecided.append(tuple(name for _, name in top) if len(top) > 1 else ())
    _decide_the_last(methods, undecided, chosen)
    total = mean_agreement([s for s in scores if s is not None])
    return Fit(total, tuple(methods), tuple(scores), tuple(undecided))


def _decide_the_last(
    methods: list[str | None], undecided: list[tuple[str, ...]], chosen: Mapping[int, str]
) -> None:
    """Where as many scopes as methods were in question and all but one are chosen, decide it.

    The scopes of a dump are different methods, or they would be one scope.
    """
    for names in set(undecided) - {()}:
        left = [scope for scope, rivals in enumerate(undecided) if rivals == names]
        taken = {name for name in chosen.values() if name in names}
        rest = [name for name in names if name not in taken]
        if len(left) == len(rest) == 1:
            methods[left[0]], undecided[left[0]] = rest[0], ()


def mean_agreement(known: Sequence[Agreement]) -> Agreement:
    """The agreement of several scopes together, weighted by what each of them rests on.

    So a scope with one stray identifier does not outweigh the runs of a whole method.
    """
    evidence = sum(a.evidence for a in known)
    weights = [a.evidence if evidence else 1 for a in known]
    value = sum(a.value * w for a, w in zip(known, weights, strict=True)) / max(sum(weights), 1)
    return Agreement(value, evidence)


def _mean(own: Sequence[Signature], method: Method) -> Agreement:
    """The agreement averaged over runs; the evidence is that of the richest one."""
    rated = [(agreement_with_method(x.identities, method), x.runs) for x in own]
    runs = sum(count for _, count in rated)
    return Agreement(
        sum(a.value * count for a, count in rated) / runs, max(a.evidence for a, _ in rated)
    )


def _fit_text(trace: Trace, program: Program) -> Fit:
    """The share of the distinct positions in locations at which the text has an operation."""
    texts = TextPositions(program)
    asked = {
        position
        for location in trace.keys.location.tolist()
        if location is not None
        for position in positions_of(location)
    }
    hits = sum(texts.operator_at(position) is not None for position in asked)
    total = Agreement(hits / len(asked) if asked else 0.0, len(asked))
    n = len(trace.scopes)
    return Fit(total, (None,) * n, (total,) * n, ((),) * n)
