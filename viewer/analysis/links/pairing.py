"""Chooses which of several programs belongs to a trace, and describes the outcome.

Programs are ordered by their match with the trace (see `viewer.analysis.links.match`). An MLIR text
explains a trace whose slices have locations, an ETRecord one whose slices have identities; programs
of the other kind rank lower. A debug handle map file is for cases without an ETRecord: an ETRecord
with about the same match ranks higher, because it has more information.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from viewer.analysis.links.data_types import NO_CONTRADICTIONS
from viewer.analysis.links.identifier_columns import takes_column
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.match import AHEAD, Match, TraceMatch
from viewer.model.text import listed
from viewer.model.times import counted
from viewer.model.trace import Trace
from viewer.program.executable.executable import Executable
from viewer.program.program import Program

if TYPE_CHECKING:
    from viewer.analysis.links.data_types import TypeContradictions


@dataclass(frozen=True, slots=True)
class Candidate:
    """A program that may belong to a trace, and how well it matches."""

    program: Program
    trace_match: TraceMatch


def wants_text(trace: Trace) -> bool | None:
    """Return whether MLIR texts rank before ETRecords: True for locations, False for identifiers.

    None if the file itself contains ExecuTorch identities.
    """
    return not trace.identifier_column if takes_column(trace) else None


def is_aside(program: Program, text: bool | None) -> bool:
    """Return whether a program is not of the kind that the trace needs.

    text: the result of `wants_text` for the trace.
    """
    return text is not None and bool(program.text_lines) != text


def rank(candidate: Candidate, text: bool | None) -> tuple[bool, bool, int, float]:
    """Return the sort key of a candidate: matching, then uncheckable, then not matching."""
    match = candidate.trace_match.match
    group = 1 if not match.checkable else 0 if match.belongs else 2
    behind = AHEAD if candidate.program.delegates_only else 0.0
    return group != 0, is_aside(candidate.program, text), group, behind - match.value


def rivals(trace: Trace, rated: list[Candidate]) -> list[Candidate]:
    """Return the best candidate and those that are too close to it to decide."""
    best = rated[0].trace_match.match
    text = wants_text(trace)
    aside = is_aside(rated[0].program, text)
    return [
        c
        for c in rated
        if c.trace_match.match.checkable == best.checkable
        and is_aside(c.program, text) == aside
        and c.program.delegates_only == rated[0].program.delegates_only
        and round(best.value - c.trace_match.match.value, 9) < AHEAD
    ]


def decided(trace: Trace, rated: list[Candidate]) -> Program | None:
    """Return the program that belongs to a trace, of candidates of which the best does.

    Rivals must link alike. If they do not, one with the trace's file name without its suffix is it.
    """
    close = rivals(trace, rated)
    named = [c for c in close if stem(c.program.path) == stem(trace.path)]
    if len(named) == 1:
        return named[0].program
    best = rated[0].program
    alike = all(links_alike(c.program) == links_alike(best) for c in close)
    return best if alike else None


def what_ran(trace: Trace, fitting: Sequence[Executable]) -> Executable | None:
    """Return the program file that ran, of those whose instructions are what a trace logged.

    If several are, one with the trace's file name without its suffix is it. Otherwise they must be
    alike. None if that does not decide.
    """
    named = [e for e in fitting if stem(e.path) == stem(trace.path)]
    likely = named if len(named) == 1 else fitting
    return likely[0] if likely and all(_runs_alike(e, likely[0]) for e in likely[1:]) else None


def stem(path: str) -> str:
    """Return the file name without its folder and suffix."""
    return os.path.splitext(os.path.basename(path))[0]


def _runs_alike(a: Executable, b: Executable) -> bool:
    """Return whether two program files link alike; their weights may differ."""

    def what(executable: Executable) -> object:
        return [
            (
                method.name,
                [(x.kind, x.name, x.target, x.delegate) for x in method.instructions],
                [(d.backend, d.nodes, d.unread) for d in method.delegates],
            )
            for method in executable.methods
        ]

    return what(a) == what(b)


def links_alike(program: Program) -> object:
    """Return an object that is equal for programs with equal maps, operators, shapes and lines."""
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


def undecided_executables(trace: Trace, fitting: Sequence[Executable]) -> list[str]:
    """Return the message about program files that may each have run; empty if that is decided."""
    if len(fitting) < 2 or what_ran(trace, fitting) is not None:
        return []
    names = " and ".join(os.path.basename(e.path) for e in fitting)
    return [f"{_name(trace)} matches {names} equally well. Close all but the one that ran."]


def warnings_of_linked(table: LinkTable, proposal: str) -> list[str]:
    """Return the warnings about a trace that is linked to a program.

    proposal: what to say if the pair cannot be checked, instead of that.
    """
    assert table.program is not None
    assert table.trace_match is not None
    trace, match = table.trace, table.trace_match.match
    undecided = undecided_sentences(trace, table.trace_match)
    if undecided and not match.checkable:
        return undecided
    return [*undecided, *doubts_of_linked(table, proposal)]


def doubts_of_linked(table: LinkTable, proposal: str) -> list[str]:
    """Return the warnings about a linked trace that say why the pair may be wrong."""
    assert table.program is not None
    assert table.trace_match is not None
    trace, program, trace_match = table.trace, table.program, table.trace_match
    match = trace_match.match
    if not match.checkable:
        return [proposal or uncheckable(trace, program, match)]
    if not match.belongs:
        why = mismatch(trace, program, match, trace_match.types)
        return [f"{why} They are linked because you chose so."]
    texts = []
    if trace_match.types.count:
        texts.append(other_types(trace, program, trace_match.types))
    elif match.is_partial:
        texts.append(partial(trace, program, match))
    count = sum(map(len, trace_match.replaced))
    return [*texts, replaced(trace, program, count)] if count else texts


def undecided_sentences(trace: Trace, trace_match: TraceMatch) -> list[str]:
    """Return the messages about scopes whose runs match several methods."""
    texts = []
    for names in dict.fromkeys(n for n in trace_match.undecided if n):
        scopes = [
            s.name for s, n in zip(trace.scopes, trace_match.undecided, strict=True) if n == names
        ]
        what = f"{listed(scopes)} in {os.path.basename(trace.path)}"
        texts.append(
            f"{what} may have run {listed(names, 'or')}, which have the same instructions. Slices "
            "are linked to what these methods agree on. Choose one to link them to the rest."
        )
    return texts


def uncheckable(trace: Trace, program: Program, match: Match) -> str:
    """Return the message about a pair with nothing to compare, or nothing conclusive."""
    why = "there is nothing to compare"
    if program.delegates_only and match.value:
        why = "they share only numbers as identifiers, which can match by chance"
    return f"Whether {_name(program)} matches {_name(trace)} cannot be checked: {why}."


def partial(trace: Trace, program: Program, match: Match) -> str:
    """Return the message about a pair that matches only in part."""
    why = (
        "The ETRecord may be from another version of the model. Kernels that contradict it are not "
        "linked."
    )
    if program.delegates_only:
        why = "Identifiers that are not in its maps are not linked."
    return f"{_name(trace)} and {_name(program)} match only in part ({match}). {why}"


def replaced(trace: Trace, program: Program, count: int) -> str:
    """Return the message about instructions whose kernels are not in the ETRecord."""
    return (
        f"{counted(count, 'instruction')} of {_name(trace)} ran kernels that are not in "
        f"{_name(program)}: an export pass replaced operators, or the ETRecord is from another "
        f"version of the model. They are linked by their debug handles."
    )


def other_types(trace: Trace, program: Program, types: TypeContradictions) -> str:
    """Return the message about a pair whose data types differ in part."""
    return (
        f"{_name(trace)} and {_name(program)} may not belong together: {_types_text(types)} The "
        "ETRecord may be of the model before or after quantization."
    )


def _types_text(types: TypeContradictions) -> str:
    """Return "3 of 3 events computed in other types than recorded, as '...': ..."."""
    return (
        f"{types.count} of {counted(types.compared, 'event')} computed in other data types than "
        f"recorded, such as {types.event!r}: {types.logged}; the ETRecord has {types.recorded}."
    )


def mismatch(
    trace: Trace, program: Program, match: Match, types: TypeContradictions = NO_CONTRADICTIONS
) -> str:
    """Return the message about a pair that does not match."""
    why = (
        "The ETRecord is probably from a different model or export, or was saved without deepcopy."
    )
    if program.delegates_only:
        why = "Most of the logged identifiers are not in its maps."
    elif types.count:
        why = f"{_types_text(types)} It is probably of the model before or after quantization."
    return f"{_name(trace)} does not match {_name(program)} ({match}). {why}"


def _name(item: Trace | Program) -> str:
    return os.path.basename(item.path)
