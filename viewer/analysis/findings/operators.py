"""Findings about operators: most expensive, copies, not delegated, time without operator, links.

Times are those of `viewer.analysis.cost.costs` and `viewer.analysis.cost.work_time`, which charge
every instant once, so nothing is counted twice. Time shared by several operators is reported as
shared and never divided.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from viewer.analysis.cost.costs import CostRow
from viewer.analysis.cost.work_time import WorkPart
from viewer.analysis.findings.finding import (
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
    plural,
    share_text,
)
from viewer.analysis.links.coverage import stated_per_key
from viewer.analysis.links.labels import set_label
from viewer.analysis.links.link_table import Reason
from viewer.model.queries import execute_keys
from viewer.model.scope import TimeScope
from viewer.model.times import counted, group_digits

# Few enough to look at one by one; half of the time makes that worthwhile.
FEW, HALF = 5, Fraction(1, 2)
# Copies below 5%, or work outside delegates below 10%, make no noticeable difference.
COPIES_SHARE = Fraction(1, 20)
OUTSIDE_SHARE = Fraction(1, 10)
# If 10% of the time has no operator, the costs of operators miss 10%.
NO_OPERATOR_SHARE = Fraction(1, 10)
# The same for linkable slices without a link.
UNLINKED_SHARE = Fraction(1, 10)

NO_PROGRAM = "no record or source is linked to this profile"


def largest(context: FindingContext) -> FamilyAnswer:
    """Report the few operators (without an ETRecord: the few events) that take half of the time."""
    links, cost = context.links, context.table
    if links.program is None or not cost.rows:
        return _largest_events(context)
    # A function is only the caller of most locations, not an operator.
    program = links.program
    rows = [
        row
        for row in cost.rows
        if row.ticks and not all(program.operators[i].is_function for i in row.operators)
    ]
    count, ticks = _until_half([row.ticks for row in rows], context.whole_ticks)
    things = "operators, or sets that share slices,"
    if why := _not_few(count, ticks, len(rows), context, things):
        return why
    named = [(_row_name(context, row), row.ticks) for row in rows[:count]]
    who = _operators_text(rows[:count])
    return [
        Finding(
            Family.LARGEST,
            f"{who} {plural(count, 'takes', 'take')} {share_text(ticks, context.whole_ticks)} of "
            f"{context.whole}",
            f"{_shares(context, named, context.whole_ticks)}. "
            f"{group_digits(len(rows))} in all have any time.",
            _few_rule(things),
            ticks,
            context.whole_ticks,
            OperatorSets(tuple(row.operators for row in rows[:count])),
        )
    ]


def _largest_events(context: FindingContext) -> FamilyAnswer:
    """Report the most expensive events by name, if no slice is linked to an operator."""
    work, whole = context.work, context.whole_ticks
    named = work.by_thing(context.ticks)
    count, most = _until_half([ticks for _, ticks in named], whole)
    if why := _not_few(count, most, len(named), context, "events, by name,"):
        return why
    who = plural(count, "Events of one name take", f"Events of {count} names take")
    most_expensive = {name for name, _ in named[:count]}
    groups = (group for group in work.groups if work.things[group.thing] in most_expensive)
    return [
        Finding(
            Family.LARGEST,
            f"{who} {share_text(most, whole)} of {context.whole}",
            f"{_shares(context, named[:count], whole)}. {group_digits(len(named))} in all have any "
            "time; which operators they are of is not known.",
            _few_rule("events, by name,"),
            most,
            whole,
            SliceKeys(tuple(key for group in groups for key in group.keys)),
        )
    ]


def _until_half(ticks: Sequence[int], whole: int) -> tuple[int, int]:
    """Return how many of the largest values reach half of the total, and their sum.

    (0, sum of all) if they do not reach it.
    """
    total = 0
    for count, part in enumerate(ticks, 1):
        total += part
        if total >= HALF * whole:
            return count, total
    return 0, total


def _not_few(
    count: int, ticks: int, of: int, context: FindingContext, things: str
) -> NotReported | None:
    if not of or not context.whole_ticks:
        return NotReported(Family.LARGEST, f"nothing in {context.scope} has a length", False)
    if not count:
        part = share_text(ticks, context.whole_ticks)
        why = f"all {group_digits(of)} with any time take {part} of {context.whole}"
        return NotReported(Family.LARGEST, f"{why}. {_few_rule(things)}", True)
    if count > FEW or 2 * count > of:
        why = f"it takes {count} of {group_digits(of)} to make half of {context.whole}"
        return NotReported(Family.LARGEST, f"{why}. {_few_rule(things)}", True)
    return None


def _few_rule(things: str) -> str:
    return (
        f"Told when at most {FEW} {things} and no more than half of those with any time, take "
        f"{percent(HALF)} of it."
    )


def _operators_text(rows: Sequence[CostRow]) -> str:
    """Return "3 operators", "1 operator and 2 sets of operators that share slices"."""
    shared = sum(row.is_shared for row in rows)
    alone = len(rows) - shared
    parts = [counted(alone, "operator")] if alone else []
    if shared:
        parts.append(
            f"{counted(shared, 'set')} of operators that {plural(shared, 'shares', 'share')} slices"
        )
    return " and ".join(parts)


def _row_name(context: FindingContext, row: CostRow) -> str:
    name = set_label(context.links, row.operators)
    return f"{name} (shared by {len(row.operators)})" if row.is_shared else name


def _shares(context: FindingContext, named: Sequence[tuple[str, int]], whole: int) -> str:
    """Format names with times and shares: "conv 3 µs (12 %), relu 1 µs (4 %) and 2 more"."""
    return joined(
        [f"{name} {context.time(ticks)} ({share_text(ticks, whole)})" for name, ticks in named]
    )


# -- copies ----------------------------------------------------------------------------------------


def copies(context: FindingContext) -> FamilyAnswer:
    """Report events that only copy, rearrange or convert data."""
    ticks, whole = context.ticks, context.whole_ticks
    copy_groups = [(n, group) for n, group in enumerate(context.work.groups) if group.copy]
    total = sum(int(ticks[n]) for n, _ in copy_groups)
    rule = f"Told when copies take at least {percent(COPIES_SHARE)} of it."
    if not copy_groups:
        return NotReported(Family.COPIES, "no event is known to be a copy", True)
    if not whole or total < COPIES_SHARE * whole:
        part = share_text(total, whole)
        return NotReported(Family.COPIES, f"copies take {part} of {context.whole}. {rule}", True)
    by_name: dict[str, int] = {}
    for n, group in copy_groups:
        by_name[group.copy] = by_name.get(group.copy, 0) + int(ticks[n])
    named = sorted(by_name.items(), key=lambda item: -item[1])
    return [
        Finding(
            Family.COPIES,
            f"Copies, changes of layout and conversions take {share_text(total, whole)} of "
            f"{context.whole}",
            f"{context.time(total)}: {context.listed([item for item in named if item[1]])}.",
            rule,
            total,
            whole,
            SliceKeys(tuple(key for _, group in copy_groups for key in group.keys)),
        )
    ]


# -- not delegated ---------------------------------------------------------------------------------


def outside(context: FindingContext) -> FamilyAnswer:
    """Report what ran outside delegates, if any delegate ran."""
    groups, ticks, whole = context.work.groups, context.ticks, context.whole_ticks
    delegated = any(g.part is WorkPart.DELEGATED and ticks[n] for n, g in enumerate(groups))
    if not delegated:
        return NotReported(Family.OUTSIDE, f"no delegate ran in {context.scope}", False)
    is_outside = np.array([group.part is WorkPart.OUTSIDE for group in groups], np.bool_)
    outside_ticks = np.where(is_outside, ticks, 0)
    total = int(outside_ticks.sum())
    rule = f"Told when what ran outside of delegates takes at least {percent(OUTSIDE_SHARE)} of it."
    if not whole or total < OUTSIDE_SHARE * whole:
        part = share_text(total, whole)
        why = f"what ran outside of delegates takes {part} of {context.whole}. {rule}"
        return NotReported(Family.OUTSIDE, why, True)
    named = context.work.by_thing(outside_ticks)
    keys = tuple(key for i in np.flatnonzero(outside_ticks).tolist() for key in groups[i].keys)
    return [
        Finding(
            Family.OUTSIDE,
            f"What ran outside of delegates takes {share_text(total, whole)} of {context.whole}",
            f"{context.time(total)}: {context.listed(named)}. Delegating it would save at most "
            "this, since a delegate takes time too.",
            rule,
            total,
            whole,
            SliceKeys(keys),
        )
    ]


# -- without an operator ---------------------------------------------------------------------------


def no_operator(context: FindingContext) -> FamilyAnswer:
    """Report time of inferences in which no linked slice runs."""
    cost = context.table
    if context.links.program is None:
        return NotReported(Family.NO_OPERATOR, NO_PROGRAM, False)
    if not execute_keys(context.trace).any() or not context.whole_ticks or not cost.rows:
        why = "the file has no Method::execute, or no operator is linked"
        return NotReported(Family.NO_OPERATOR, why, False)
    rule = f"Told when at least {percent(NO_OPERATOR_SHARE)} of it lies in no operator's slice."
    part = share_text(cost.without_operator, context.whole_ticks)
    where = context.costs.longest_without_operator(TimeScope(context.run))
    if where is None or cost.without_operator < NO_OPERATOR_SHARE * context.whole_ticks:
        why = f"{part} of {context.whole} lies in no slice of an operator. {rule}"
        return NotReported(Family.NO_OPERATOR, why, True)
    track, start, end = where
    return [
        Finding(
            Family.NO_OPERATOR,
            f"{part} of {context.whole} lies in no slice of an operator",
            f"{context.time(cost.without_operator)} of Method::execute; the longest stretch "
            f"without one is {context.time(end - start)}.",
            rule,
            cost.without_operator,
            context.whole_ticks,
            TimeSpan(start, end, (track,)),
        )
    ]


def links(context: FindingContext) -> FamilyAnswer:
    """Report linkable slices that have no link, by the most frequent reasons."""
    table, trace = context.links, context.trace
    if table.program is None:
        return NotReported(Family.LINKS, NO_PROGRAM, False)
    count = stated_per_key(trace, TimeScope(context.run))
    linkable = int(count[table.states > 0].sum())
    found: dict[tuple[Reason, str], int] = {}
    for key in np.flatnonzero((table.states == 1) & (count > 0)).tolist():
        link = table.links[key]
        place = link.reason, link.backend
        found[place] = found.get(place, 0) + int(count[key])
    missing = sum(found.values())
    rule = f"Told when at least {percent(UNLINKED_SHARE)} of the linkable slices have no operator."
    if not linkable:
        return NotReported(Family.LINKS, f"no slice of {context.scope} could be linked", False)
    part = f"{group_digits(missing)} of {counted(linkable, 'linkable slice')}"
    if missing < UNLINKED_SHARE * linkable:
        return NotReported(
            Family.LINKS, f"{part} of {context.scope} have no operator. {rule}", True
        )
    reasons = [
        f"{group_digits(n)}: {reason.text}{f' ({backend})' if backend else ''}"
        for (reason, backend), n in sorted(found.items(), key=lambda item: -item[1])
    ]
    return [
        Finding(
            Family.LINKS,
            f"{part} of {context.scope} ({share_text(missing, linkable)}) have no operator of "
            "their own",
            f"{joined(reasons)}. The delegation report says what can be done.",
            rule,
            0,
            0,
            PanelRef("delegation"),
        )
    ]
