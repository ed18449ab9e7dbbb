"""Findings about operators: hot spots, copies, time without an operator, links.

Every instant is charged once. Time shared by several operators is reported as shared and never
divided.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil

import numpy as np

from viewer.analysis.cost.costs import CostRow
from viewer.analysis.cost.event_times import WorkPart
from viewer.analysis.findings.finding import (
    NO_GAIN,
    Family,
    FamilyAnswer,
    Finding,
    FindingContext,
    NotReported,
    OperatorSets,
    PanelRef,
    SliceKeys,
    TimeSpan,
    joined,
    percent,
    share_text,
)
from viewer.analysis.links.coverage import stated_per_key
from viewer.analysis.links.labels import brief_label
from viewer.analysis.links.link_table import Reason
from viewer.model.times import counted, group_digits

# Few enough to look at one by one; half of the time makes that worthwhile.
FEW, HALF = 5, Fraction(1, 2)
# Of equal ones, none is worth a look before the others.
APART = Fraction(11, 10)
# Copies below 5% make no noticeable difference.
COPIES_SHARE = Fraction(1, 20)
# If 10% of the time has no operator, the costs of operators miss 10%.
NO_OPERATOR_SHARE = Fraction(1, 10)
# The same for linkable slices without a link.
UNLINKED_SHARE = Fraction(1, 10)

NO_PROGRAM = "no ETRecord or source is linked to this profile"
_LONGEST_IN_TITLE = 40  # longer lists of names are in the detail only

_FEW_RULE = (
    f"Reported when at most {FEW} operators (or groups of operators with shared time), and no more "
    f"than half of those with any time, take at least {percent(HALF)} of the time, and "
    f"{float(APART):g} times as much each as the others; else the same of the types of operators, "
    "else of modules. Without linked operators, the same of events by name; spans that cover their "
    "whole thread do not count."
)
_COPIES_RULE = (
    "Reported when events that copy, rearrange or convert data take at least "
    f"{percent(COPIES_SHARE)} of the time."
)
_NO_OPERATOR_RULE = (
    f"Reported when no operator's slice runs in at least {percent(NO_OPERATOR_SHARE)} of the time "
    "of the inferences."
)
_LINKS_RULE = (
    f"Reported when at least {percent(UNLINKED_SHARE)} of the linkable slices have no operator."
)


_ADVICE = {
    WorkPart.OUTSIDE: "Delegate them, or use optimized kernels or a smaller data type for them.",
    WorkPart.DELEGATED: "Use a smaller data type or smaller tensors in them, or another delegate.",
    WorkPart.CONTROL: "Look at what they move; plan memory so that less is copied.",
    WorkPart.OTHER: "Open them in Calls to see what they spend it on: call them less, let them do "
    "less, or use a faster implementation.",
}


def largest(context: FindingContext) -> FamilyAnswer:
    """Report the few operators (without an ETRecord: the few events) that take half of the time."""
    links, cost = context.links, context.table
    if links.program is None or links.program.is_nested or not cost.rows:
        return _largest_events(context)
    # A function is only the caller of most locations, not an operator.
    program = links.program
    rows = [
        row
        for row in cost.rows
        if row.wall and not all(program.operators[i].is_function for i in row.operators)
    ]
    rows.sort(key=lambda row: -row.wall)
    count, ticks = _until_half([row.wall for row in rows], context.whole_ticks)
    if why := _not_few(count, ticks, [row.wall for row in rows], context):
        answer = _largest_kind(context, rows, "type") or _largest_kind(context, rows, "module")
        return answer or NotReported(Family.LARGEST, why, _FEW_RULE, bool(rows))
    named = [(_row_name(context, row), row.wall) for row in rows[:count]]
    who = _title_name(context, rows[0]) if count == 1 else _operators_text(rows[:count])
    return [
        Finding(
            Family.LARGEST,
            f"Speed up {who}",
            context.gain(ticks),
            f"{_parts(context, named)} of {_counted_rows(rows)}.{_busy_text(context)}",
            _FEW_RULE,
            OperatorSets(tuple(row.operators for row in rows[:count])),
            advice=_what_to_do(context, {n for row in rows[:count] for n in row.operators}),
        )
    ]


def _largest_kind(context: FindingContext, rows: Sequence[CostRow], kind: str) -> list[Finding]:
    """Report the few types or modules with half of the time, where no few operators have it."""
    operators = context.links.program.operators if context.links.program else ()
    of: dict[str, list[CostRow]] = {}
    for row in rows:
        row_operators = (operators[i] for i in row.operators)
        names = {
            operator.op if kind == "type" else operator.module_path for operator in row_operators
        }
        # What several share is of none of them; an operator may be in no module.
        if len(names) == 1 and all(names):
            of.setdefault(names.pop(), []).append(row)
    groups = sorted(of.items(), key=lambda entry: -sum(row.wall for row in entry[1]))
    named = [(name, sum(row.wall for row in cost_rows)) for name, cost_rows in groups]
    count, ticks = _until_half([wall for _, wall in named], context.whole_ticks)
    several = any(len(cost_rows) > 1 for _, cost_rows in groups[:count])
    if not several or _not_few(count, ticks, [wall for _, wall in named], context):
        return []
    chosen = [row for _, cost_rows in groups[:count] for row in cost_rows]
    advice = _what_to_do(context, {n for row in chosen for n in row.operators})
    who = joined([name for name, _ in named[:count]])
    what = "operators" if kind == "type" else "the operators"
    action = f"Speed up {who} {what}" if kind == "type" else f"Speed up {what} of {who}"
    return [
        Finding(
            Family.LARGEST,
            action,
            context.gain(ticks),
            f"{context.listed(named[:count], with_share=True)}, of {counted(len(named), kind)}; "
            f"{counted(len(chosen), 'operator')} of similar cost."
            f"{_busy_text(context)}",
            _FEW_RULE,
            OperatorSets(tuple(row.operators for row in chosen)),
            advice=advice,
        )
    ]


def _what_to_do(context: FindingContext, operators: set[int]) -> str:
    """Return what speeds up some operators, by where most of their time is."""
    keys = [
        key
        for key, link in enumerate(context.links.links)
        if operators.issuperset(link.operators) and link.operators
    ]
    return _advice(context, keys)


def _advice(context: FindingContext, keys: Sequence[int]) -> str:
    """Return what speeds up the work of some keys; "" if they have no time."""
    work_groups = set(context.work.group_of_key[list(keys)].tolist()) - {-1}
    ticks = dict.fromkeys(WorkPart, 0)
    for group in work_groups:
        ticks[context.work.groups[group].part] += int(context.ticks[group])
    part = max(ticks, key=lambda work_part: ticks[work_part])
    return _ADVICE[part] if ticks[part] else ""


def _largest_events(context: FindingContext) -> FamilyAnswer:
    """Report the most expensive events by name, if no slice is linked to an operator."""
    work, whole = context.work, context.whole_ticks
    named = work.by_thing(context.ticks)
    count, most = _until_half([ticks for _, ticks in named], whole)
    if why := _not_few(count, most, [wall for _, wall in named], context):
        return NotReported(Family.LARGEST, why, _FEW_RULE, bool(named))
    who = " and ".join(name for name, _ in named[:count])
    if len(who) > _LONGEST_IN_TITLE:
        who = f"the {count} most expensive events" if count > 1 else "the most expensive event"
    most_expensive = {name for name, _ in named[:count]}
    return [
        Finding(
            Family.LARGEST,
            f"Speed up {who}",
            context.gain(most),
            f"{_parts(context, named[:count])} of {counted(len(named), 'event name')}."
            f"{_busy_text(context)}",
            _FEW_RULE,
            SliceKeys(work.keys_named(most_expensive)),
            advice=_advice(context, work.keys_named(most_expensive)),
        )
    ]


def _parts(context: FindingContext, named: Sequence[tuple[str, int]]) -> str:
    """Return the time and share of each of several names; not of one: the title has them."""
    if len(named) == 1:
        return "The most expensive"
    return f"{context.listed(named, with_share=True)},"


def _counted_rows(rows: Sequence[CostRow]) -> str:
    if any(row.is_shared for row in rows):
        return f"{group_digits(len(rows))} operators and groups"
    return counted(len(rows), "operator")


def _busy_text(context: FindingContext) -> str:
    """Return the busy time that shares refer to, and which spans it excludes."""
    if context.is_timed:
        return ""
    text = f" {context.busy}: {context.time(context.whole_ticks)}"
    if context.threads is not None and context.run is None:
        trace, spans = context.trace, context.threads.originals_not_counted
        keys = dict.fromkeys(trace.slices.key[spans].tolist())
        # A function that several threads call has several keys.
        names = list(dict.fromkeys(trace.strings[int(trace.keys.name[key])] for key in keys))
        text += f", not counting {joined(names)}" if names else ""
    return f"{text}."


def _until_half(ticks: Sequence[int], whole: int) -> tuple[int, int]:
    """Return how many of the largest values reach half of the total, and their sum.

    (0, sum of all) if they do not reach it.
    """
    sums = np.cumsum(np.array(ticks, np.int64))  # there can be a million
    total = int(sums[-1]) if len(sums) else 0
    if not len(sums) or total < HALF * whole:
        return 0, total
    # Times are not negative, so the sums ascend.
    count = int(np.searchsorted(sums, ceil(HALF * whole))) + 1
    return count, int(sums[count - 1])


def _not_few(count: int, ticks: int, times: Sequence[int], context: FindingContext) -> str:
    """Return why the first `count` of some times, `ticks` together, are no hot spots, or ""."""
    of = len(times)
    if not of or not context.whole_ticks:
        return f"nothing in {context.scope} has a duration to compare"
    if not count:
        part = share_text(ticks, context.whole_ticks)
        return f"all {group_digits(of)} with any time take {part} of {context.whole}"
    if count > FEW or 2 * count > of:
        return f"{group_digits(count)} of {group_digits(of)} are needed for half of {context.whole}"
    # Exactly: mean of the chosen < APART * mean of the others.
    if ticks * (of - count) < APART * (sum(times) - ticks) * count:
        return f"all {group_digits(of)} take about the same"
    return ""


def _operators_text(rows: Sequence[CostRow]) -> str:
    """Return "the 3 most expensive operators", "3 operators and 2 groups with shared time"."""
    shared = sum(row.is_shared for row in rows)
    alone = len(rows) - shared
    if not shared:
        return f"the {alone} most expensive operators"
    groups = f"{counted(shared, 'group')} of operators with shared time"
    return f"{counted(alone, 'operator')} and {groups}" if alone else groups


def _title_name(context: FindingContext, row: CostRow) -> str:
    """Return a row's name in a title: a call with many operators is named by its delegate."""
    if len(row.operators) < FEW:
        return _row_name(context, row)
    members = set(row.operators)
    calls = (link for link in context.links.links if members.issuperset(link.operators))
    backend = next((link.backend for link in calls if link.operators and link.backend), "")
    return f"the {f'{backend} ' if backend else ''}call of {len(row.operators)} operators"


def _row_name(context: FindingContext, row: CostRow) -> str:
    name = brief_label(context.links, row.operators)
    return f"{name} (shared by {len(row.operators)})" if row.is_shared else name


# -- copies ----------------------------------------------------------------------------------------


def copies(context: FindingContext) -> FamilyAnswer:
    """Report events that only copy, rearrange or convert data."""
    ticks, whole = context.ticks, context.whole_ticks
    copy_groups = [(n, group) for n, group in enumerate(context.work.groups) if group.copy]
    total = sum(int(ticks[n]) for n, _ in copy_groups)
    if not copy_groups:
        # Kernels and MLIR operations have known names; the events of a plain profile do not.
        applies = context.threads is None
        why = "no event is a copy" if applies else "copies are not recognized in this format"
        return NotReported(Family.COPIES, why, _COPIES_RULE, applies)
    if not whole or total < COPIES_SHARE * whole:
        why = f"copies take {share_text(total, whole)} of {context.whole}"
        return NotReported(Family.COPIES, why, _COPIES_RULE, True)
    by_name: dict[str, int] = {}
    for n, group in copy_groups:
        by_name[group.copy] = by_name.get(group.copy, 0) + int(ticks[n])
    named = sorted((item for item in by_name.items() if item[1]), key=lambda item: -item[1])
    return [
        Finding(
            Family.COPIES,
            "Avoid copies, layout changes and conversions",
            context.gain(total),
            f"{context.listed(named)}.{_busy_text(context)}",
            _COPIES_RULE,
            SliceKeys(tuple(key for _, group in copy_groups for key in group.keys)),
        )
    ]


# -- without an operator ---------------------------------------------------------------------------


def no_operator(context: FindingContext) -> FamilyAnswer:
    """Report time of inferences in which no linked slice runs."""
    cost, rule = context.table, _NO_OPERATOR_RULE
    if context.links.program_path is None:
        return NotReported(Family.NO_OPERATOR, NO_PROGRAM, rule, False)
    if not context.is_timed or not context.whole_ticks or not cost.rows:
        why = "the file has no Method::execute, or no operator is linked"
        return NotReported(Family.NO_OPERATOR, why, rule, False)
    where = context.costs.longest_without_operator(context.within)
    if where is None or cost.without_operator < NO_OPERATOR_SHARE * context.whole_ticks:
        part = share_text(cost.without_operator, context.whole_ticks)
        why = f"no operator's slice runs in {part} of {context.whole}"
        return NotReported(Family.NO_OPERATOR, why, rule, True)
    track, start, end = where
    return [
        Finding(
            Family.NO_OPERATOR,
            "Look into time without an operator",
            context.gain(cost.without_operator),
            f"Time of Method::execute in which no operator's slice runs; the longest interval is "
            f"{context.time(end - start)}.",
            rule,
            TimeSpan(start, end, (track,)),
        )
    ]


def links(context: FindingContext) -> FamilyAnswer:
    """Report linkable slices that have no link, by the most frequent reasons."""
    table, trace = context.links, context.trace
    if table.program_path is None:
        return NotReported(Family.LINKS, NO_PROGRAM, _LINKS_RULE, False)
    count = stated_per_key(trace, context.within)
    linkable = int(count[table.states > 0].sum())
    count_of_place: dict[tuple[Reason, str], int] = {}
    for key in np.flatnonzero((table.states == 1) & (count > 0)).tolist():
        link = table.links[key]
        place = link.reason, link.backend
        count_of_place[place] = count_of_place.get(place, 0) + int(count[key])
    missing = sum(count_of_place.values())
    if not linkable:
        why = f"no slice of {context.scope} can be linked"
        return NotReported(Family.LINKS, why, _LINKS_RULE, False)
    part = f"{group_digits(missing)} of {counted(linkable, 'linkable slice')}"
    if missing < UNLINKED_SHARE * linkable:
        why = f"{part} of {context.scope} have no operator"
        return NotReported(Family.LINKS, why, _LINKS_RULE, True)
    reasons = [
        f"{group_digits(n)}: {reason.text}{f' ({backend})' if backend else ''}"
        for (reason, backend), n in sorted(count_of_place.items(), key=lambda item: -item[1])
    ]
    return [
        Finding(
            Family.LINKS,
            f"Link {part} ({share_text(missing, linkable)}) to their operators",
            NO_GAIN,
            f"{joined(reasons)}. The delegation report lists what to do.",
            _LINKS_RULE,
            PanelRef("delegation"),
        )
    ]
