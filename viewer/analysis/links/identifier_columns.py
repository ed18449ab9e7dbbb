"""Columns of a profile whose values are a delegate's own identifiers, by the maps of a record.

An NPU's profile names its slices by event, dispatch, job, task or action; a record's debug handle
maps name operators by identifiers that the delegate's author chose. Where one of the columns holds
those identifiers the slices can be linked through it. Which column that is no file says, so the
columns are compared with the maps, and what was found is told with what it rests on.

JSON turns every identifier into a text, so a record cannot tell 1 from "1". A whole number of a
column is therefore looked up by its decimal text, as a delegate's logged number is: 10 is never
found under "1" or "010". Texts are looked up as a delegate's logged texts are.

Numbers prove nothing. Identifiers that a delegate had generated count from 0, and so do jobs, tasks
and actions of every file, so the job ids of any profile are in the map of any such record. Words
prove something once there are two of them. Hence a column is used without being asked for only if

* at least 2 identifiers that are words were met,
* at least 0.9 of its distinct values are identifiers: a column of other things has others too,
* at least 0.5 of the identifiers were met: an NPU may fuse or drop some of them, not most,
* every other column of which that is true has the same value on every slice.

A column of "conv2d" and "add" beside a map of a whole model's operators fails the third, a map of
two such words beside a column of a whole model's events the second.

A debug handle map file is opened for a profile, and is often of a part of it: beside what the map
names stand transfers, waiting, what the host did. So there it is also enough that 0.9 of its
identifiers were met, and among them two words (one, if it has no other), and that every other
column of which that is true has the same identifier, or none, on every slice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from viewer.arrays import Codes, Ints
from viewer.model.trace import Column, KeyKind, Keys, Trace
from viewer.program.debug_handles import DelegateMap, MapEntry, is_word
from viewer.program.program import Program

# The slice's own name, beside the columns of its trace.
NAME = "name"
MOSTLY_KNOWN = 0.9
HALF_MET = 0.5
FEWEST_WORDS = 2
# A map has an entry an operator. More values, or more text in them, than any model has operators
# are times, addresses or messages, and to look each of them up would take seconds.
MOST_VALUES = 1 << 16
MOST_TEXT = 1 << 22

_STATED = np.array(
    [KeyKind.OPERATOR_CALL, KeyKind.KERNEL, KeyKind.DELEGATE_CALL, KeyKind.DELEGATE_EVENT], np.uint8
)


@dataclass(frozen=True, slots=True)
class ColumnMatch:
    """How far a column's values are identifiers of a record's debug handle maps.

    values: its distinct values; known: how many of them are identifiers. identifiers: how many the
    maps have; met: how many of these occur; words: how many of the met are not decimal numbers.
    of_slices, of_time: the share of all slices that the file states, and of their summed lengths,
    whose value is an identifier.
    """

    column: str
    values: int
    known: int
    identifiers: int
    met: int
    words: int
    of_slices: float
    of_time: float
    # The texts of its values that are identifiers, where these are of a debug handle map file.
    of_file: frozenset[str] | None = field(default=None, compare=False, repr=False)

    @property
    def is_sure(self) -> bool:
        """Whether nothing but identifiers can be meant by this column alone."""
        if self.of_file is not None and self.met >= MOSTLY_KNOWN * self.identifiers:
            return self.words >= min(FEWEST_WORDS, self.identifiers)
        return (
            self.words >= FEWEST_WORDS
            and self.known >= MOSTLY_KNOWN * self.values
            and self.met >= HALF_MET * self.identifiers
        )

    @property
    def is_likely(self) -> bool:
        """Whether a user should be asked: by words, or by numbers that cover half of both sides."""
        halves = 2 * self.known >= self.values and self.met >= HALF_MET * self.identifiers
        return self.words > 0 or halves

    @property
    def rank(self) -> tuple[int, float, float, bool]:
        """Less is better: words before numbers, then what covers most of both sides."""
        both = (self.known / self.values) * (self.met / self.identifiers)
        return -min(self.words, FEWEST_WORDS), -both, -self.of_slices, self.column == NAME


def takes_column(trace: Trace) -> bool:
    """Whether a column may say what the slices are: the file states no identity of a record's."""
    counts = np.bincount(trace.keys.kind, minlength=len(KeyKind))
    return bool(trace.identifier_column) or not counts[_STATED].any()


def column_names(trace: Trace) -> list[str]:
    """The columns that may hold identifiers: texts and whole numbers, amounts with a unit not.

    In the order of the file; the slice's own name is the last.
    """
    found = [
        name
        for name, column in trace.slices.columns.items()
        if column.strings is not None or (column.values.dtype.kind in "iu" and not column.unit)
    ]
    return found if NAME in found else [*found, NAME]


def identifier_columns(trace: Trace, program: Program) -> list[ColumnMatch]:
    """The columns that have identifiers of a record's maps among their values, best first."""
    known = _all_identifiers(program)
    if not known.is_filled or not len(trace.slices) or not takes_column(trace):
        return []
    in_file = program.delegates_only
    matches = (_match(trace, name, known, in_file) for name in column_names(trace))
    found = [match for match in matches if match is not None]
    return sorted(found, key=lambda match: match.rank)


def sure_column(trace: Trace, matches: Sequence[ColumnMatch]) -> str | None:
    """The column that links without being asked for, None if there is none or several differ."""
    sure = {match.column: match for match in reversed(matches) if match.is_sure}
    columns = list(dict.fromkeys(match.column for match in matches if match.is_sure))
    of_file = [match.of_file for match in sure.values() if match.of_file is not None]
    known = frozenset().union(*of_file) if len(of_file) == len(sure) else None
    if not sure or not all(_same_values(trace, columns[0], c, known) for c in columns[1:]):
        return None
    return columns[0]


def identified_by(trace: Trace, column: str) -> Trace:
    """The same trace, where a value in `column` is the identifier that a delegate logged.

    Slices with a value have keys of kind DELEGATE_EVENT; scope, name and location stay as they
    were. Slices without one, and those that a reader computed, keep their identity. Raises
    ValueError for a column that is not among `column_names`.
    """
    if column not in column_names(trace):
        raise ValueError(f"there is no column {column!r}; there are {said(column_names(trace))}")
    values, number = _distinct(trace, column)
    old, keys = trace.slices.key.astype(np.int64), trace.keys
    pairs, key = np.unique(old * (len(values) + 1) + number + 1, return_inverse=True)
    before, value = pairs // (len(values) + 1), pairs % (len(values) + 1) - 1
    has_value = value >= 0
    identifier = keys.identifier[before]
    identifier[has_value] = _objects(values)[value[has_value]]
    made = Keys(
        kind=np.where(has_value, np.uint8(KeyKind.DELEGATE_EVENT), keys.kind[before]),
        scope=keys.scope[before],
        name=keys.name[before],
        instruction=np.where(has_value, -1, keys.instruction[before]),
        identifier=identifier,
        location=keys.location[before],
    )
    own: Codes = key.astype(np.uint32)
    for array in (made.kind, made.scope, made.name, made.instruction, identifier, made.location):
        array.flags.writeable = False
    own.flags.writeable = False
    return replace(
        trace, keys=made, slices=replace(trace.slices, key=own), identifier_column=column
    )


def said(columns: Sequence[str], most: int = 20) -> str:
    """Names of columns for one line of a message."""
    more = f" and {len(columns) - most} more" if len(columns) > most else ""
    return ", ".join(columns[:most]) + more


def _all_identifiers(program: Program) -> DelegateMap:
    """The identifiers of all maps of a record, as one map that has no handles."""
    maps = (d for method in program.methods for d in method.delegates.values())
    return DelegateMap("", {key: () for one in maps for key in one.entries or ()})


def _match(trace: Trace, name: str, known: DelegateMap, in_file: bool) -> ColumnMatch | None:
    """How a column matches the identifiers of a record, or of a debug handle map file."""
    values, number = _distinct(trace, name)
    if not 0 < len(values) <= MOST_VALUES or _length(values) > MOST_TEXT:
        return None
    entries = [known.find(value) for value in values]
    met = {entry.key for entry in entries if entry is not None}
    if not met:
        return None
    slices = trace.slices
    is_known = np.array([*(entry is not None for entry in entries), False], np.bool_)
    hit = is_known[number]
    stated = np.ones(len(slices), np.bool_) if slices.derived is None else ~slices.derived
    # As floats: lengths of a hostile file need not add up inside of int64.
    length = slices.end.astype(np.float64) - slices.start
    whole = float(length[stated].sum())
    return ColumnMatch(
        column=name,
        values=len(values),
        known=int(is_known.sum()),
        identifiers=len(known.entries or ()),
        met=len(met),
        words=sum(is_word(key) for key in met),
        of_slices=int(hit.sum()) / max(int(stated.sum()), 1),
        of_time=float(length[hit].sum()) / whole if whole else 0.0,
        of_file=_known_texts(values, entries) if in_file else None,
    )


def _known_texts(values: Sequence[int | str], entries: Sequence[MapEntry | None]) -> frozenset[str]:
    """The texts of those values that have an entry."""
    return frozenset(
        str(value) for value, entry in zip(values, entries, strict=True) if entry is not None
    )


def _distinct(trace: Trace, name: str) -> tuple[Sequence[int | str], Ints]:
    """The distinct values of a column, and of every slice which it has; -1 where it has none."""
    slices = trace.slices
    column = slices.columns.get(name) or Column(slices.name, None, trace.strings)
    has = np.ones(len(slices), np.bool_) if column.valid is None else column.valid.copy()
    if slices.derived is not None:
        has &= ~slices.derived
    own = column.values[has]
    number = np.full(len(slices), -1, np.int64)
    if not len(own):
        return (), number
    low, high = int(own.min()), int(own.max())
    if high - low <= 4 * len(own):
        # Codes and ids lie close together: counted, which is several times as fast as sorted.
        offset = (own - own.dtype.type(low)).astype(np.int64)
        used = np.flatnonzero(np.bincount(offset))
        place = np.full(high - low + 1, -1, np.int64)
        place[used] = np.arange(len(used))
        number[has] = place[offset]
        values = [low + step for step in used.tolist()]
    else:
        distinct, number[has] = np.unique(own, return_inverse=True)
        values = distinct.tolist()
    if column.strings is None:
        return values, number
    texts = [column.strings[code] for code in values]
    if "" in texts:  # a cell without a text
        empty = texts.index("")
        texts.pop(empty)
        number = np.where(number == empty, -1, number - (number > empty))
    return texts, number


def _length(values: Sequence[int | str]) -> int:
    """The characters of all texts together."""
    return sum(len(value) for value in values if isinstance(value, str))


def _objects(values: Sequence[int | str]) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    """Values as an array of objects, whatever they are."""
    made = np.empty(len(values), np.object_)
    made[:] = values
    return made


def _same_values(trace: Trace, one: str, other: str, known: frozenset[str] | None) -> bool:
    """Whether two columns have the same text, or none, on every slice.

    known: the texts that count, all others are as none; None if all count.
    """
    codes: dict[str, int] = {}

    def coded(name: str) -> Ints:
        values, number = _distinct(trace, name)
        common = [
            codes.setdefault(text, len(codes)) if known is None or text in known else -1
            for text in map(str, values)
        ]
        return np.array([*common, -1], np.int64)[number]

    return bool(np.array_equal(coded(one), coded(other)))
