"""The rows of a comparison, for the Operators panel."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.analysis.comparison.arms import CALLS
from viewer.analysis.comparison.rollups import IDENTITIES, NAME
from viewer.gui.panels.base.operator_tables.compared import compared_contents
from viewer.gui.panels.base.operator_tables.contents import OperatorContents
from viewer.model.times import counted
from viewer.view.compared.open_comparison import OpenComparison


@dataclass(frozen=True, eq=False, slots=True)
class ListedComparison:
    """A comparison as a table."""

    compared: OpenComparison
    contents: OperatorContents

    @property
    def subtitle(self) -> str:
        """What the figures are."""
        return self.compared.subtitle

    @property
    def note(self) -> str:
        """How many rows have no partner, or ""."""
        alone = sum(not row.a or not row.b for row, _ in self.compared.rows)
        return f"{counted(alone, 'row')} in one arm only" if alone else ""


def list_changes(compared: OpenComparison) -> ListedComparison:
    """Return the rows of a comparison by call, operator or name."""
    level = compared.calls.a.level
    title = "Call" if level == CALLS else "Operator"
    if level in (NAME, *IDENTITIES):
        title = level.capitalize()
    elif compared.program(0) is not None:
        title = "Operator"
    return ListedComparison(compared, compared_contents(compared.calls, title))
