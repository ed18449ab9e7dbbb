"""The columns of the Calls table, with costs or with changes."""

from __future__ import annotations

from enum import Enum

from viewer.analysis.statistics import figure_terms
from viewer.analysis.statistics.figure_terms import FigureTerm

CALL = "The name of a slice, below the names of those around it."
_MEDIANS = "Sum of the medians of all calls in it, per inference."


class CallColumn(Enum):
    """A column of the table: its title and tooltip, and its width in px (0: the rest)."""

    CALL = FigureTerm("Call", ""), 0
    TOTAL = figure_terms.TOTAL, 128
    SELF = figure_terms.SELF, 112
    COUNT = figure_terms.COUNT, 72
    MEAN = figure_terms.MEAN, 100
    A = FigureTerm("A", _MEDIANS), 84
    B = FigureTerm("B", f"{_MEDIANS} B is the other arm."), 84
    CHANGE = FigureTerm("Change", "B less A, per inference."), 150
    RATIO = FigureTerm("Change, %", "B less A, per inference, and what is proven about it."), 92

    @property
    def term(self) -> FigureTerm:
        """Its title and meaning."""
        return self.value[0]

    @property
    def width(self) -> int:
        """Its width in px, 0 for the rest."""
        return self.value[1]

    @property
    def is_time(self) -> bool:
        """Whether its cells are times."""
        return self not in (CallColumn.CALL, CallColumn.COUNT, CallColumn.RATIO)


COSTS = (
    CallColumn.CALL,
    CallColumn.TOTAL,
    CallColumn.SELF,
    CallColumn.COUNT,
    CallColumn.MEAN,
)
CHANGES = (CallColumn.CALL, CallColumn.A, CallColumn.B, CallColumn.CHANGE, CallColumn.RATIO)
