"""What the graph is about: a program alone, the costs of a profile, or the changes of two arms.

A subject connects the operators of its program with the selection of the session.
"""

from __future__ import annotations

from dataclasses import dataclass

from viewer.analysis.comparison.arms import CALLS
from viewer.gui.panels.graph.change_figures import ChangeFigures
from viewer.gui.panels.graph.cost_figures import CostFigures
from viewer.gui.panels.graph.node_figures import NodeFigures
from viewer.gui.session.comparison import row_of_selection, select_rows
from viewer.gui.session.session import Session
from viewer.model.text import display_name
from viewer.program.program import Program


@dataclass(frozen=True, eq=False)
class GraphSubject:
    """A program without a profile."""

    program: Program

    @property
    def figures(self) -> NodeFigures | None:
        """What the nodes show, None for nothing."""
        return None

    @property
    def title(self) -> str:
        """What the graph shows."""
        return f"{display_name(self.program.path)}, without a profile"

    def selected(self, session: Session) -> tuple[int, ...]:
        """Return the operators of the selection, () for none of the program."""
        return ()

    def select(self, session: Session, operators: tuple[int, ...]) -> bool:
        """Select the slices of operators; False if the session has none to select."""
        return False


@dataclass(frozen=True, eq=False)
class CostSubject(GraphSubject):
    """The costs of a profile."""

    costs: CostFigures

    @property
    def figures(self) -> NodeFigures:
        return self.costs

    @property
    def title(self) -> str:
        return self.costs.title

    def selected(self, session: Session) -> tuple[int, ...]:
        state = session.state
        if state.operators is None or len(state.others):
            return ()
        trace, operators = state.operators
        is_own = session.traces[trace].table is self.costs.given.shown.table
        return operators if is_own else ()

    def select(self, session: Session, operators: tuple[int, ...]) -> bool:
        table = self.costs.given.shown.table
        number = next((i for i, t in enumerate(session.traces) if t.table is table), None)
        if number is not None:
            session.select_operators(number, operators)
        return True


@dataclass(frozen=True, eq=False)
class ComparedSubject(GraphSubject):
    """The changes between two arms, in the program of A."""

    changes: ChangeFigures

    @property
    def figures(self) -> NodeFigures:
        return self.changes

    @property
    def title(self) -> str:
        return self.changes.title

    def selected(self, session: Session) -> tuple[int, ...]:
        found = self.changes.found
        row = row_of_selection(session, found)
        return found.operators.operators[row] if row >= 0 else ()

    def select(self, session: Session, operators: tuple[int, ...]) -> bool:
        found = self.changes.found
        rows = {row for operator in operators for row in found.operators.rows_of(operator)}
        if not rows:
            session.clear_selection()
            return False
        select_rows(session, found, rows, CALLS)
        return True
