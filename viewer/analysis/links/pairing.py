"""Chooses which of several programs belongs to a trace, and which column has identifiers.

Programs are ordered by their match with the trace. An MLIR text explains a trace whose slices have
locations, an ETRecord one whose slices have identities; programs of the other kind rank lower. An
ETRecord with about the same match ranks above a debug handle map file, because it has more
information.

An NPU profile identifies its slices by event, dispatch, job, task or action. An ETRecord's debug
handle maps name operators by identifiers that the author of the delegate chose. No file says which
column contains them, so columns are compared with the maps, and the result is shown with its
evidence. JSON turns every identifier into a string, so an integer is looked up by its decimal text.

Numbers prove nothing: generated identifiers count from 0, and so do the jobs, tasks and actions of
every file. So a column is used automatically only if

* at least 2 matched identifiers are words,
* at least 0.9 of its distinct values are identifiers: an unrelated column has other values too,
* at least 0.5 of the identifiers occur: an NPU may fuse or drop some of them, not most,
* every other column that meets these conditions has the same value on every slice.

A column with "conv2d" and "add" does not meet the third condition for a whole model's map, and a
map with two such words does not meet the second for a column of a whole model's events. A debug
handle map file is opened for one profile, and often covers only part of it. So there it is also
sufficient that 0.9 of its identifiers occur, that two of these are words (one, if the map has only
one), and that every other such column has the same identifier, or none, on every slice.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.logged_identities import NO_CONTRADICTIONS, TypeContradictions
from viewer.analysis.links.match import AHEAD, Match, TraceMatch
from viewer.arrays import Codes, Ints, numbers_at
from viewer.dataclasses import dataclass, field, replace
from viewer.model.text import listed
from viewer.model.times import counted
from viewer.model.trace import Column, KeyKind, Keys, Trace
from viewer.program.debug_handles import DelegateMap, is_word
from viewer.program.executables import Executable
from viewer.program.program import Program

# The slice's own name, in addition to the columns of its trace.
NAME = "name"
MOSTLY_KNOWN = 0.9
HALF_MET = 0.5
FEWEST_WORDS = 2
# A map has one entry per operator. More values, or more text, than any model has operators must be
# times, addresses or messages; looking up each of them would take seconds.
MOST_VALUES = 1 << 16
MOST_TEXT = 1 << 22

_STATED = np.array(
    [KeyKind.OPERATOR_CALL, KeyKind.KERNEL, KeyKind.DELEGATE_CALL, KeyKind.DELEGATE_EVENT], np.uint8
)


@dataclass(frozen=True, slots=True)
class ColumnMatch:
    """How well a column's values match the identifiers of debug handle maps.

    values: the number of distinct values; known: how many of them are identifiers. identifiers: how
    many the maps have; met: how many of these occur; words: how many of those are not decimal
    numbers. of_slices, of_time: the share of the file's slices (not derived), and of their summed
    durations, whose value is an identifier.
    """

    column: str
    values: int
    known: int
    identifiers: int
    met: int
    words: int
    of_slices: float
    of_time: float
    # The texts of values that are identifiers, if the maps come from a debug handle map file.
    of_file: frozenset[str] | None = field(default=None, compare=False, repr=False)

    @property
    def is_sure(self) -> bool:
        """Whether this column alone is unambiguous evidence of identifiers."""
        if self.of_file is not None and self.met >= MOSTLY_KNOWN * self.identifiers:
            return self.words >= min(FEWEST_WORDS, self.identifiers)
        return (
            self.words >= FEWEST_WORDS
            and self.known >= MOSTLY_KNOWN * self.values
            and self.met >= HALF_MET * self.identifiers
        )

    @property
    def is_likely(self) -> bool:
        """Whether to suggest it to the user: it has words, or covers half of both sides."""
        halves = 2 * self.known >= self.values and self.met >= HALF_MET * self.identifiers
        return self.words > 0 or halves

    @property
    def rank(self) -> tuple[int, float, float, bool]:
        """The sort key, best first: words before numbers, then the coverage of both sides."""
        both = (self.known / self.values) * (self.met / self.identifiers)
        return -min(self.words, FEWEST_WORDS), -both, -self.of_slices, self.column == NAME


def takes_column(trace: Trace) -> bool:
    """Return whether a column may identify the slices: the file has no ExecuTorch identity."""
    kinds = trace.keys.kind
    return bool(trace.identifier_column) or not any((kinds == kind).any() for kind in _STATED)


def column_names(trace: Trace) -> list[str]:
    """Return the columns that may contain identifiers: strings, and integers without a unit.

    In file order; the slice's own name is last.
    """
    names = [
        name
        for name, column in trace.slices.columns.items()
        if column.strings is not None or (column.values.dtype.kind in "iu" and not column.unit)
    ]
    return names if NAME in names else [*names, NAME]


def identifier_columns(trace: Trace, program: Program) -> list[ColumnMatch]:
    """Return the columns that match identifiers of the program's maps, best first."""
    # The identifiers of all maps of a program, as one map without handles.
    maps = (d for method in program.methods for d in method.delegates.values())
    delegate_map = DelegateMap("", {key: () for source in maps for key in source.entries or ()})
    if not delegate_map.is_filled or not len(trace.slices) or not takes_column(trace):
        return []
    in_file = program.delegates_only
    matches = (_match(trace, name, delegate_map, in_file) for name in column_names(trace))
    column_matches = [match for match in matches if match is not None]
    return sorted(column_matches, key=lambda match: match.rank)


def sure_column(trace: Trace, matches: Sequence[ColumnMatch]) -> str | None:
    """Return the column to use automatically, None if there is none or several disagree."""
    sure = {match.column: match for match in reversed(matches) if match.is_sure}
    columns = list(dict.fromkeys(match.column for match in matches if match.is_sure))
    of_file = [match.of_file for match in sure.values() if match.of_file is not None]
    texts = frozenset().union(*of_file) if len(of_file) == len(sure) else None
    if not sure or not all(_same_values(trace, columns[0], c, texts) for c in columns[1:]):
        return None
    return columns[0]


def identified_by(trace: Trace, column: str) -> Trace:
    """Return the trace with the values in `column` as the delegate's logged identifiers.

    Slices with a value get keys of kind DELEGATE_EVENT; scope, name and location stay. Slices
    without one, and derived slices, keep their identity. Raises ValueError for a column that is not
    among `column_names`.
    """
    if column not in column_names(trace):
        raise ValueError(f"no column {column!r}; the columns are {said(column_names(trace))}")
    values, number = _distinct(trace, column)
    old, keys = trace.slices.key.astype(np.int64), trace.keys
    pairs, key = np.unique(old * (len(values) + 1) + number + 1, return_inverse=True)
    old_key, value = pairs // (len(values) + 1), pairs % (len(values) + 1) - 1
    has_value = value >= 0
    identifier = keys.identifier[old_key]
    identifier[has_value] = _objects(values)[value[has_value]]
    new_keys = Keys(
        kind=np.where(has_value, np.uint8(KeyKind.DELEGATE_EVENT), keys.kind[old_key]),
        scope=keys.scope[old_key],
        name=keys.name[old_key],
        instruction=np.where(has_value, -1, keys.instruction[old_key]),
        identifier=identifier,
        location=keys.location[old_key],
    )
    slice_keys: Codes = key.astype(np.uint32)
    for array in (
        new_keys.kind,
        new_keys.scope,
        new_keys.name,
        new_keys.instruction,
        identifier,
        new_keys.location,
    ):
        array.flags.writeable = False
    slice_keys.flags.writeable = False
    return replace(
        trace,
        keys=new_keys,
        slices=replace(trace.slices, key=slice_keys),
        identifier_column=column,
        calls=None,
    )


def said(columns: Sequence[str], most: int = 20) -> str:
    """Join column names for a message, at most `most` of them."""
    more = f" and {len(columns) - most} more" if len(columns) > most else ""
    return ", ".join(columns[:most]) + more


def _match(trace: Trace, name: str, delegate_map: DelegateMap, in_file: bool) -> ColumnMatch | None:
    """Return how a column matches the known identifiers, None if not at all or too large.

    in_file: the identifiers come from a debug handle map file.
    """
    values, number = _distinct(trace, name)
    letters = sum(len(value) for value in values if isinstance(value, str))
    if not 0 < len(values) <= MOST_VALUES or letters > MOST_TEXT:
        return None
    entries = [delegate_map.find(value) for value in values]
    met = {entry.key for entry in entries if entry is not None}
    if not met:
        return None
    texts = (str(value) for value, entry in zip(values, entries, strict=True) if entry is not None)
    slices = trace.slices
    is_known = np.array([*(entry is not None for entry in entries), False], np.bool_)
    hit = is_known[number]
    stated = np.ones(len(slices), np.bool_) if slices.derived is None else ~slices.derived
    # As floats, because the durations in a malformed file may overflow int64.
    length = slices.end.astype(np.float64) - slices.start
    total = float(length[stated].sum())
    return ColumnMatch(
        column=name,
        values=len(values),
        known=int(is_known.sum()),
        identifiers=len(delegate_map.entries or ()),
        met=len(met),
        words=sum(is_word(key) for key in met),
        of_slices=int(hit.sum()) / max(int(stated.sum()), 1),
        of_time=float(length[hit].sum()) / total if total else 0.0,
        of_file=frozenset(texts) if in_file else None,
    )


def _distinct(trace: Trace, name: str) -> tuple[Sequence[int | str], Ints]:
    """Return the distinct values of a column, and per slice the index of its value (-1: none)."""
    slices = trace.slices
    column = slices.columns.get(name) or Column(slices.name, None, trace.strings)
    has = np.ones(len(slices), np.bool_) if column.valid is None else column.valid.copy()
    if slices.derived is not None:
        has &= ~slices.derived
    column_values = column.values[has]
    number = np.full(len(slices), -1, np.int64)
    if not len(column_values):
        return (), number
    low, high = int(column_values.min()), int(column_values.max())
    if high - low <= 4 * len(column_values):
        # Codes and IDs are dense: counting them is several times faster than sorting.
        offset = (column_values - column_values.dtype.type(low)).astype(np.int64)
        used = np.flatnonzero(np.bincount(offset))
        place = numbers_at(high - low + 1, used, np.arange(len(used)), -1)
        number[has] = place[offset]
        values = [low + step for step in used.tolist()]
    else:
        distinct, number[has] = np.unique(column_values, return_inverse=True)
        values = distinct.tolist()
    if column.strings is None:
        return values, number
    texts = [column.strings[code] for code in values]
    if "" in texts:  # a cell without text
        empty = texts.index("")
        texts.pop(empty)
        number = np.where(number == empty, -1, number - (number > empty))
    return texts, number


def _objects(values: Sequence[int | str]) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    """Return values as an array of objects, whatever their type."""
    array = np.empty(len(values), np.object_)
    array[:] = values
    return array


def _same_values(trace: Trace, name: str, other: str, texts: frozenset[str] | None) -> bool:
    """Return whether two columns have the same text, or none, on every slice.

    texts: only these texts count, others are treated as none; None: all texts count.
    """
    codes: dict[str, int] = {}

    def coded(name: str) -> Ints:
        values, number = _distinct(trace, name)
        common = [
            codes.setdefault(text, len(codes)) if texts is None or text in texts else -1
            for text in map(str, values)
        ]
        return np.array([*common, -1], np.int64)[number]

    return bool(np.array_equal(coded(name), coded(other)))


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
