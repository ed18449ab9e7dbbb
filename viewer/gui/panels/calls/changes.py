"""The changes of call paths between two arms, as the Calls panel shows them. No Qt."""

from __future__ import annotations

import numpy as np

from viewer.analysis.comparison.comparison import Compared
from viewer.analysis.comparison.levels import CALLS, MODULE, NAME
from viewer.analysis.comparison.path_changes import PathChanges, has_records
from viewer.arrays import Floats
from viewer.dataclasses import dataclass
from viewer.gui.panels.calls.answer import CallMode
from viewer.gui.panels.calls.shown_calls import CallRows, Matches, PlacedCalls, ShownCalls
from viewer.render.flame_graph.boxes import FlameGraph, FlameLayout
from viewer.render.flame_graph.changed_calls import ChangedCalls, changed_calls
from viewer.reports.compare_text import picture_of
from viewer.view.open_comparison import OpenComparison

# What calls are named by in each kind of tree that changes have.
NAMED_BY = {CallMode.TOP_DOWN: NAME, CallMode.OPERATOR: CALLS, CallMode.MODULE: MODULE}
NOT_INVERTED = "Changes are shown top-down: what calls a name may differ between A and B"


def modes_of(open_comparison: OpenComparison) -> tuple[CallMode, ...]:
    """Return the kinds of trees that a comparison has, the one to start with first."""
    programs = open_comparison.program(0), open_comparison.program(1)
    modes = [CallMode.TOP_DOWN]
    if all(program is not None and program.operators for program in programs):
        modes.append(CallMode.MODULE)
    if has_records(open_comparison.calls):
        modes.insert(0, CallMode.OPERATOR)
    return tuple(modes)


@dataclass(frozen=True, slots=True)
class ChangesQuestion:
    """What to show. focus: the names from the root to the node that is shown alone, () for all."""

    found: OpenComparison
    mode: CallMode
    focus: tuple[str, ...]

    @property
    def by(self) -> str:
        """What calls are named by."""
        return NAMED_BY[self.mode]


@dataclass(frozen=True, eq=False)
class ChangesAnswer(ShownCalls):
    """The paths of both arms. calls: all of them; those shown have the same numbers.

    largest: the largest change, in ns.
    """

    question: ChangesQuestion
    calls: ChangedCalls
    largest: float

    @property
    def changes(self) -> PathChanges:
        """The changes of all paths."""
        return self.calls.changes

    @property
    def tree(self) -> object:
        return self.calls.changes

    def compared(self, node: int) -> Compared | None:
        """Return the change of a node; None for the group of the paths that only A has."""
        path = int(self.table.number[node])
        return self.changes.compared(path) if path >= 0 else None

    def path(self, node: int) -> list[str]:
        number = int(self.table.number[node])
        return self.changes.names_of(number) if number >= 0 else self.table.path(node)

    @property
    def first_rank(self) -> Floats:
        """Per node what rows are sorted by at first, ascending."""
        return _first_rank(self.calls)

    def picture(self, scope: str) -> FlameGraph:
        arms = self.changes.calls.a, self.changes.calls.b
        return picture_of(self.calls, " → ".join(arm.sessions[0].name for arm in arms))

    def largest_changes(self, most: int) -> list[int]:
        """Return the nodes with the largest proven changes, and those around them, ascending."""
        change = np.abs(self.calls.change_ns)
        order = np.flatnonzero(self.calls.is_proven)
        order = order[np.argsort(-change[order], kind="stable")[:most]]
        wanted = np.zeros(len(self.table), np.bool_)
        wanted[order] = True
        return np.flatnonzero(self.table.with_parents(wanted)).tolist()


def work_out_changes(question: ChangesQuestion) -> ChangesAnswer:
    """Answer a question; a pure function."""
    calls, focus = changed_calls(question.found.paths(question.by)), question.focus
    node = calls.table.find(focus) if focus else None
    if node is None:
        focus = ()
    else:
        calls = calls.part(node)
    table, color, change = calls.table, calls.color, np.abs(calls.change_ns)
    rank = _first_rank(calls)
    layout = FlameLayout.of(table.depth, table.total)
    answer = ChangesAnswer(
        PlacedCalls.of(table, layout),
        np.unique(table.name[table.number < 0]),
        color,
        layout.raster(color),
        CallRows(table, rank),
        focus,
        question,
        calls,
        float(change[table.number >= 0].max(initial=0.0)),
    )
    _ = answer.label_rank  # cached here: the GUI thread needs it
    return answer


def _first_rank(calls: ChangedCalls) -> Floats:
    """The largest changes first; what only A has is a group at the end."""
    return np.where(calls.number >= 0, -np.abs(calls.change_ns), np.inf)


def matches_of_changes(answer: ChangesAnswer, text: str) -> Matches:
    """Search the names of calls for a text; case is ignored. A pure function."""
    table = answer.table
    mask = table.matching(text) & answer.is_call
    ticks = int(table.total[table.outermost(mask)].sum())
    boxes = answer.layout.raster_of(mask, answer.color)
    around = table.with_parents(mask)
    return Matches(answer, mask, around, boxes, int(mask.sum()), ticks, answer.whole)
