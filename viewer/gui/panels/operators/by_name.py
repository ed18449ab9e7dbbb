"""The names of slices with their times, for a profile without operators."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.analysis.statistics.busy_names import BusyNames
from viewer.analysis.statistics.group_table import GroupTable
from viewer.analysis.statistics.grouping import Grouping
from viewer.gui.panels.base.group_rows import group_contents
from viewer.gui.panels.base.operator_tables.contents import OperatorContents
from viewer.gui.session.feeds.costs import CostAnswer
from viewer.gui.session.session import Session
from viewer.model.scope import TimeScope
from viewer.model.times import counted
from viewer.view.open_trace import OpenTrace

KEY = "name"
BY_NAME = "by name"
_MOST_NAMED = 3


@dataclass(frozen=True, eq=False, slots=True)
class ListedNames:
    """The names of a trace in a scope.

    The figures are those of Statistics by name; but they leave out the warm-up, as costs do, and
    the self time of a plain profile is that of Summary and Findings, which counts every instant of
    a thread once. busy: its names, or None.
    """

    shown: OpenTrace
    scope: TimeScope
    grouping: Grouping
    busy: BusyNames | None
    table: GroupTable
    contents: OperatorContents


def has_only_names(session: Session, answer: CostAnswer) -> bool:
    """Whether a profile has slices but no operators, and no open file could provide them."""
    space, trace, program = session.workspace, answer.shown.file, answer.shown.table.program
    if program is not None and program.is_nested:
        return True
    return (
        program is None
        and len(answer.shown.trace.slices) > 0
        and not space.candidates(trace)
        and not space.warnings(trace)
    )


def list_names(shown: OpenTrace, scope: TimeScope, known: ListedNames | None) -> ListedNames:
    """Group the slices of a trace by name; known: earlier names of this trace, to use again."""
    grouping = shown.grouping_for(scope)
    if known and known.grouping is grouping:
        busy = known.busy
    else:
        threads = shown.findings.threads
        busy = BusyNames(shown.trace, grouping, threads) if threads else None
    table = busy.table(scope) if busy else grouping.by(KEY, *scope.span)
    return ListedNames(shown, scope, grouping, busy, table, group_contents(shown, table, "Name"))


def more_names_text(listed: ListedNames) -> str:
    """Return how many names are not listed, and how to find them; or ""."""
    more = len(listed.table.groups) - len(listed.contents.rows)
    if not more:
        return ""
    return (
        f"… {counted(more, 'more name')} with less self time: "
        "the search finds them, Statistics exports them"
    )


def not_counted_text(listed: ListedNames) -> str:
    """Return which names have no self time, because they only enclose others; or ""."""
    names = listed.table.not_counted
    if not names:
        return ""
    encloses = "only encloses others and is" if len(names) == 1 else "only enclose others and are"
    return f"{', '.join(names[:_MOST_NAMED])} {encloses} not counted"
