"""The rows and columns of the Model panel: kinds of rows; titles, widths and tips of columns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from viewer.analysis.statistics import figure_terms
from viewer.gui.qt.widgets.column_table import TableColumn

_MEDIANS = "Median of the session medians, per inference."


class RowKind(Enum):
    """What a row shows."""

    MODULE = "module"
    OPERATOR = "operator"
    SET = "shared"
    SLICE = "slice"
    REST = "more slices"


@dataclass(eq=False, slots=True)
class ModelRow:
    """One row of the tree.

    number: the module, operator or slice that it shows, or the index among the module's shared
    sets; for `REST`, how many slices are not listed. id: index in `ModelRows.made`. parent: id of
    its parent, -1 for the root. place: index among its siblings. inside: ids of its children, None
    until they are created.
    """

    kind: RowKind
    number: int
    id: int
    parent: int
    place: int
    inside: list[int] | None = None


class ModelColumn(TableColumn):
    """The columns, with costs, of a record alone, or with changes."""

    NAME = ("Module", 0)
    TOTAL = (
        figure_terms.TOTAL.title,
        92,
        figure_terms.TOTAL.explained("Here the time charged to a module and to all in it."),
    )
    SHARE = ("Share", 132)  # its title names the whole
    SELF = (
        figure_terms.SELF.title,
        92,
        figure_terms.SELF.explained("Here that of the operators directly in a module."),
    )
    SHARED = (
        figure_terms.SHARED.title,
        92,
        figure_terms.SHARED.explained(
            "With operators outside this module. The Total of the module that contains them "
            "all includes it; the Total of this module does not."
        ),
    )
    SLICES = (
        figure_terms.COUNT.title,
        60,
        figure_terms.COUNT.explained("A kernel inside its call is not counted again."),
    )
    MEAN = (figure_terms.MEAN.title, 92, figure_terms.MEAN.explained("Here Total by Count."))
    P50 = (
        figure_terms.PER_INFERENCE.title,
        96,
        figure_terms.PER_INFERENCE.explained(
            "Inferences that warm up are left out. The selected inference does not change it. "
            "Empty for a model whose methods ran in turns."
        ),
    )
    COUNT = ("Operators", 80, "How many operators are in a module and in all modules below it.")
    LINE = ("Line", 60)
    OUTPUT = ("Output", 190)
    A = ("A", 84, f"{_MEDIANS} Modules sum up what is in them.")
    B = ("B", 84, f"{_MEDIANS} B is the other arm.")
    CHANGE = ("Change", 150, "B less A, per inference.")
    RATIO = ("Change, %", 92, "B less A, per inference, and what is proven about it.")

    @property
    def is_time(self) -> bool:
        """Whether its numbers are durations."""
        return self in (
            ModelColumn.TOTAL,
            ModelColumn.SELF,
            ModelColumn.SHARED,
            ModelColumn.MEAN,
            ModelColumn.P50,
            ModelColumn.A,
            ModelColumn.B,
            ModelColumn.CHANGE,
        )


WITH_COSTS = (
    ModelColumn.NAME,
    ModelColumn.TOTAL,
    ModelColumn.SHARE,
    ModelColumn.SELF,
    ModelColumn.SHARED,
    ModelColumn.SLICES,
    ModelColumn.MEAN,
    ModelColumn.P50,
)
OF_RECORD = (ModelColumn.NAME, ModelColumn.COUNT, ModelColumn.LINE, ModelColumn.OUTPUT)
OF_CHANGES = (
    ModelColumn.NAME,
    ModelColumn.A,
    ModelColumn.B,
    ModelColumn.CHANGE,
    ModelColumn.RATIO,
)
