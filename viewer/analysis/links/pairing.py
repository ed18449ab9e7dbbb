"""Which of several programs belongs to a trace: their order, ties between them, and what is said.

The agreement of each with the trace decides (see `viewer.analysis.links.match`); here agreements
are compared. An MLIR text explains a trace whose slices have locations, a record one whose slices
have identities; programs of the other kind stand aside. A debug handle map file is for where there
is no record: one that fits about as well goes before it, since it knows more.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from viewer.analysis.links.identifier_columns import takes_column
from viewer.analysis.links.match import AHEAD, Match, TraceMatch
from viewer.model.trace import Trace
from viewer.program.program import Program


@dataclass(frozen=True, slots=True)
class Candidate:
    """A program that might belong to a trace, and how well it fits."""

    program: Program
    fit: TraceMatch


def wants_text(trace: Trace) -> bool | None:
    """Whether MLIR texts go before records: locations ask for them, a column of identifiers not.

    None where the file states identities of a record's itself.
    """
    return not trace.identifier_column if takes_column(trace) else None


def is_aside(program: Program, text: bool | None) -> bool:
    """Whether a program is of the other kind than what the slices of a trace stand for now.

    text: what `wants_text` says of the trace.
    """
    return text is not None and bool(program.text_lines) != text


def rank(candidate: Candidate, text: bool | None) -> tuple[bool, bool, int, float]:
    """What belongs goes before what cannot be checked, and that before what does not belong."""
    agreement = candidate.fit.agreement
    group = 1 if not agreement.checkable else 0 if agreement.belongs else 2
    behind = AHEAD if candidate.program.delegates_only else 0.0
    return group != 0, is_aside(candidate.program, text), group, behind - agreement.value


def rivals(trace: Trace, rated: list[Candidate]) -> list[Candidate]:
    """The best candidate and those that are too close to it to tell, as far as can be checked."""
    best = rated[0].fit.agreement
    text = wants_text(trace)
    aside = is_aside(rated[0].program, text)
    return [
        c
        for c in rated
        if c.fit.agreement.checkable == best.checkable
        and is_aside(c.program, text) == aside
        and c.program.delegates_only == rated[0].program.delegates_only
        and round(best.value - c.fit.agreement.value, 9) < AHEAD
    ]


def links_alike(program: Program) -> object:
    """Equal for programs that link alike: the same maps, operators, shapes and source lines."""
    return [
        (
            m.name,
            dict(m.handles),
            dict(m.delegates),
            [
                (o.debug_handle, o.ops, o.source, [[t.shape for t in n.outputs] for n in o.nodes])
                for o in m.operators
            ],
        )
        for m in program.methods
    ]


def undecided_sentences(trace: Trace, found: TraceMatch) -> list[str]:
    """What to say of scopes whose runs could be of several methods."""
    texts = []
    for names in dict.fromkeys(n for n in found.undecided if n):
        scopes = [s.name for s, n in zip(trace.scopes, found.undecided, strict=True) if n == names]
        methods = " or ".join((", ".join(names[:-1]), names[-1]))
        texts.append(
            f"The runs {' and '.join(scopes)} of {os.path.basename(trace.path)} may be of "
            f"{methods}, which have the same instructions: not linked until one is chosen."
        )
    return texts


def uncheckable(trace: Trace, program: Program, agreement: Match) -> str:
    """What to say of a pair that has nothing to compare, or nothing that would prove anything."""
    why = "they have nothing to compare"
    if program.delegates_only and agreement.value:
        why = "the identifiers that they share are numbers, which match by chance too"
    return f"Whether {_name(program)} belongs to {_name(trace)} cannot be checked: {why}."


def partial(trace: Trace, program: Program, agreement: Match) -> str:
    """What to say of a pair that fits in part."""
    why = (
        "The record may be of another version of the model; kernels that contradict it are not "
        "linked."
    )
    if program.delegates_only:
        why = "Identifiers that its maps do not have are not linked."
    return f"{_name(trace)} and {_name(program)} fit in part only: {agreement}. {why}"


def mismatch(trace: Trace, program: Program, agreement: Match) -> str:
    """What to say of a pair that does not belong together."""
    why = "Either the record is of another model or export, or it was made without deepcopy."
    if program.delegates_only:
        why = "Its maps do not have most of the identifiers that were logged."
    return f"{_name(trace)} and {_name(program)} do not belong together: {agreement}. {why}"


def _name(item: Trace | Program) -> str:
    return os.path.basename(item.path)
