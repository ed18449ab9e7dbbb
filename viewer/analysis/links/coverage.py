"""Coverage: the share of linkable slices and time that is linked, and how to link the rest.

A slice of the file counts where it starts; those derived from them do not. Time is the union of
these slices per track, so a kernel inside its call counts once. Slices on foreign clocks count by
number only. How well a file is linked (`coverage_facts`) is about every slice, not only those of
`counted_slices`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from viewer.analysis.links.link_table import LinkTable, Reason
from viewer.arrays import Bools, Ints, counts_of
from viewer.dataclasses import dataclass
from viewer.model import intervals
from viewer.model.figures import WHOLE, TimeScope
from viewer.model.queries import counted_slices, foreign, starts_between
from viewer.model.trace import Slices, Trace
from viewer.program.executables import XNNPACK


@dataclass(frozen=True, slots=True)
class Coverage:
    """The number of linkable and of linked slices, and the ticks in which they run."""

    linkable: int
    linked: int
    linkable_ticks: int
    linked_ticks: int


def coverage(table: LinkTable, scope: TimeScope = WHOLE) -> Coverage:
    trace, states = table.trace, table.states
    count = stated_per_key(trace, scope)
    return Coverage(
        int(count[states > 0].sum()),
        int(count[states == 2].sum()),
        covered_ticks(trace, states > 0, scope),
        covered_ticks(trace, states == 2, scope),
    )


def stated_per_key(trace: Trace, scope: TimeScope = WHOLE) -> Ints:
    """Return per key the number of slices in the file (not derived) that start in a scope."""
    inside = starts_within(trace, scope)
    if trace.slices.derived is not None:
        inside &= ~trace.slices.derived
    return counts_of(trace.slices.key, len(trace.keys), inside)


def starts_within(trace: Trace, scope: TimeScope = WHOLE) -> Bools:
    """Return per slice whether it starts in a scope and counts there."""
    slices, (first, last, track) = trace.slices, scope.span
    inside = starts_between(trace, slices.start, first, last)
    counted = counted_slices(trace, warm_up=scope.warm_up) if scope.is_whole else None
    if counted is not None:
        inside &= counted
    if track is not None:
        inside &= (slices.row_track == track)[slices.rows()]
    return inside


def covered_ticks(trace: Trace, of_key: Bools, scope: TimeScope = WHOLE) -> int:
    """Return the ticks of a scope in which slices with some keys run, summed over tracks.

    of_key: one bool per key. Foreign slices add nothing.
    """
    if not of_key.any():
        return 0
    slices, (first, last, track) = trace.slices, scope.span
    selected = of_key[slices.key]
    selected[foreign(slices)] = False
    counted = counted_slices(trace, warm_up=scope.warm_up) if scope.is_whole else None
    if counted is not None:
        selected &= counted
    lo = trace.start if first is None else first
    hi = trace.end if last is None else last
    rows = np.flatnonzero(np.append(True, np.diff(slices.row_track) != 0)[: len(slices.row_track)])
    bounds = slices.row_ptr[np.append(rows, len(slices.row_track))]
    used = np.flatnonzero(np.logical_or.reduceat(selected, bounds[:-1])) if len(rows) else rows
    if track is not None:
        used = used[slices.row_track[rows[used]] == track]
    total = 0
    for begin, end in zip(bounds[used].tolist(), bounds[used + 1].tolist(), strict=True):
        part = slice(begin, end)
        start, stop = slices.start[part], slices.end[part]
        if not selected[part].all():
            start, stop = start[selected[part]], stop[selected[part]]
        elif slices.order is None:
            outer = _outermost_rows(slices, begin, end)
            start, stop = start[outer], stop[outer]
        total += intervals.length(*intervals.clip(start, stop, lo, hi))
    return total


def _outermost_rows(slices: Slices, begin: int, end: int) -> Ints | slice:
    """Return the slices of a track that are inside no other one, from its first."""
    rows = slice(*np.searchsorted(slices.row_ptr, [begin, end]).tolist())
    outer = np.flatnonzero(slices.row_depth[rows] == 0) + rows.start
    if len(outer) == 1:
        return slice(*(slices.row_ptr[outer[0] : outer[0] + 2] - begin).tolist())
    bounds = zip(slices.row_ptr[outer].tolist(), slices.row_ptr[outer + 1].tolist(), strict=True)
    return np.concatenate([np.arange(first - begin, last - begin) for first, last in bounds])


def coverage_facts(table: LinkTable, scopes: Ints) -> dict[str, Any]:
    """Return the coverage of some scopes by slices and by time, and slices per link reason.

    The entries are those that `opscope info --json` prints.
    """
    trace = table.trace
    keys, everything = trace.keys, TimeScope(ticks=(trace.start, trace.end))
    key_in = np.isin(keys.scope, scopes)
    # An ETRecord may have hundreds of methods without a run.
    count = stated_per_key(trace, everything) if key_in.any() else np.zeros(len(keys), np.int64)
    by_reason: dict[str, int] = {}
    for k in np.flatnonzero(key_in & (count > 0)).tolist():
        text = table.links[k].reason.text
        by_reason[text] = by_reason.get(text, 0) + int(count[k])
    linkable = int(count[key_in & (table.states > 0)].sum())
    linked = int(count[key_in & (table.states == 2)].sum())
    possible = covered_ticks(trace, key_in & (table.states > 0), everything)
    return {
        "linkable": linkable,
        "linked": linked,
        "coverage": round(linked / linkable, 4) if linkable else None,
        "covered_time": (
            round(covered_ticks(trace, key_in & (table.states == 2), everything) / possible, 4)
            if possible
            else None
        ),
        "by_reason": dict(sorted(by_reason.items())),
    }


_coverage: WeakKeyDictionary[LinkTable, dict[str, Any]] = WeakKeyDictionary()


def coverage_of(table: LinkTable) -> dict[str, Any]:
    """Return the coverage of a whole trace, cached because every selection needs it."""
    if table not in _coverage:
        _coverage[table] = coverage_facts(table, np.arange(len(table.trace.scopes)))
    return _coverage[table]


# The backends that never return a debug handle map, and their common names.
WITHOUT_MAPS = {XNNPACK: "XNNPACK", "EnnBackend": "ENN"}

_RECORD = (
    "Open the ETRecord that was saved when this model was exported (generate_etrecord=True), or "
    "choose one under Links."
)
_TEXT = "Open the .mlir text that was compiled, or choose it under Links."
_REFUSED = (
    "The open files are not linked to this profile. Links shows why and lets you choose one. "
    "Otherwise, open the ETRecord that was saved with the program that ran."
)

_REMEDIES = {
    Reason.METHOD_UNDECIDED: "Choose the method under Links: the ETDump does not name it, and "
    "several methods of the ETRecord match.",
    Reason.NO_METHOD: "Open the ETRecord of the program that ran: the linked one has no such "
    "method.",
    Reason.NOT_IN_MAP: "Nothing to do: only the name is missing. Export adds such instructions "
    "late, without a debug handle.",
    Reason.IN_BRANCH: "Nothing to do: export assigns no debug handles inside control flow. Details "
    "lists the possible operators of a slice.",
    Reason.ONLY_DELEGATES: "Open the ETRecord of the model instead of the debug handle map: it "
    "also covers whole calls and operators outside delegates.",
    Reason.NOT_ALIGNED: "Check that the program file is from the same export as the ETRecord: the "
    "events in this call do not match its nodes.",
    Reason.NOT_IN_GRAPH: "The ETRecord's maps and graph contradict each other. Save it again in "
    "the same export as the program, from a deep copy of the edge program.",
    Reason.OTHER_OPERATOR: "The ETRecord is probably from another version of the model. Open the "
    "one that was saved with the program that ran.",
    Reason.IDENTIFIER_AMBIGUOUS: "Add a column instruction_id to the profile, so that each event "
    "names its call.",
    Reason.NO_DEBUG_INFO: "Compile with --torq-debug-info=DIR and open the text of this dispatch "
    "with the profile.",
    Reason.NOT_IN_DEBUG_INFO: "Open the debug info of the compilation that ran: the open debug "
    "info does not have these numbers.",
    Reason.NOT_IN_TEXT: "Open the .mlir text that was compiled: the open text has no operation at "
    "these locations.",
    Reason.LOCATION_ALONE: "Choose the column of identifiers under Links, or open the .mlir text "
    "that the locations name.",
    # Reasons for which there is nothing to link.
    Reason.NO_IDENTITY: "Nothing to link: the file has names for these slices, but no operator "
    "IDs.",
    Reason.FRAMEWORK: "Nothing to link: scopes of the runtime itself, such as Method::execute.",
    Reason.CONTROL: "Nothing to link: instructions that move values or control.",
    Reason.OUTSIDE_CALLS: "Nothing to link: logged outside any call, e.g. during load.",
    Reason.WHOLE_CALL: "Nothing to link: totals and host events of a whole call.",
    Reason.UNATTRIBUTED: "Nothing to link: time between the events of a call.",
    Reason.INSERTED: "Nothing to link: inserted by XNNPACK's export, usually to convert a layout.",
    Reason.UNKNOWN_LOCATION: "Nothing to link: the compiler recorded no source location.",
}


def remedy(
    trace: Trace, reason: Reason, backend: str, calls: int, operators: int, details: Sequence[str]
) -> str:
    """Return how to fix unlinked slices of one reason, as one or two sentences.

    backend: their backend, "" if unknown. calls, operators: the number of linked delegate calls
    that contain them, and the operators that these are linked to. details: the different detail
    texts of their links.
    """
    from viewer.analysis.links.linker import NO_RECORD

    detail = details[0]
    if reason is Reason.NO_PROGRAM:
        if detail != NO_RECORD:
            return _REFUSED
        return _TEXT if trace.format.startswith("Torq") else _RECORD
    if reason is Reason.IDENTIFIER_UNKNOWN:
        more = f", and {len(details) - 1} more like it" if len(details) > 1 else ""
        return (
            f"{detail}{more}. The delegate must register exactly the text or number that it logs; "
            "Handle map lists both."
        )
    if reason is not Reason.NO_DELEGATE_MAP:
        return _REMEDIES[reason]
    if not backend:
        return f"{detail}. Links shows how well this ETRecord matches the profile."
    still = ""
    if operators:
        count = "operator" if operators == 1 else f"{operators} operators"
        still = f" The delegate call itself is linked to its {count}."
        if calls > 1:
            still = f" The {calls} delegate calls themselves are linked to {operators} operators."
    if backend == XNNPACK:
        return (
            f"{backend} writes no debug handle map. Also open the program file (.pte) that ran: "
            f"its nodes have the debug handles.{still}"
        )
    if backend in WITHOUT_MAPS:
        return f"{backend} returned no debug handle map: {WITHOUT_MAPS[backend]} never does.{still}"
    return (
        f"{backend} returned no debug handle map. Fill one in its preprocess() with a "
        f"DelegateMappingBuilder, and export again.{still}"
    )
