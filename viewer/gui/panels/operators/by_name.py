"""The names of slices with their times, for a profile without operators."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.analysis.statistics.group_table import GroupTable
from viewer.analysis.statistics.grouping import Grouping
from viewer.gui.panels.base.group_rows import group_contents
from viewer.gui.panels.base.operator_contents import OperatorContents
from viewer.gui.session.costs import CostAnswer
from viewer.gui.session.session import Session
from viewer.model.scope import TimeScope
from viewer.view.open_trace import OpenTrace

KEY = "name"
BY_NAME = "by name"


@dataclass(frozen=True, eq=False, slots=True)
class ListedNames:
    """The names of a trace in a scope, as in Statistics by name."""

    shown: OpenTrace
    scope: TimeScope
    grouping: Grouping
    table: GroupTable
    contents: OperatorContents


def has_only_names(session: Session, answer: CostAnswer) -> bool:
    """Whether a profile has slices but no operators, and no open file could provide them."""
    space, trace = session.workspace, answer.shown.file
    return (
        answer.shown.table.program is None
        and len(answer.shown.trace.slices) > 0
        and not space.candidates(trace)
        and not space.warnings(trace)
    )


def list_names(shown: OpenTrace, scope: TimeScope, known: Grouping | None) -> ListedNames:
    """Group the slices of a trace by name; known: a grouping of this trace to use again."""
    grouping = known or Grouping(shown.table, shown.axis.ns_per_tick)
    first, last, _ = scope.span
    table = grouping.by(KEY, first, last)
    return ListedNames(shown, scope, grouping, table, group_contents(shown, table, "Name"))
