"""The rows and columns of the Model panel: kinds of rows; titles, widths and tips of columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from viewer.analysis.statistics import figure_terms
from viewer.gui.panels.base.tree_cells import CHANGE, RATIO, arm_columns
from viewer.gui.qt.widgets.tree_model import Cell, TreeColumn


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
    its parent, -1 for the root.
    """

    kind: RowKind
    number: int
    id: int
    parent: int


class ModelColumn:
    """The columns, with costs, of a record alone, or with changes."""

    NAME = TreeColumn("Module", 0, cell=Cell.NAME)
    TOTAL = TreeColumn(
        figure_terms.TOTAL.title,
        92,
        figure_terms.TOTAL.explained("Here the time charged to a module and to all in it."),
        Cell.TIME,
        is_title_left=True,
    )
    SHARE = TreeColumn("Share", 132, leaves=6)  # its title names the whole
    FORWARD = TreeColumn(
        "Forward",
        92,
        "The part of the total in the forward pass.",
        Cell.TIME,
        leaves=8,
    )
    BACKWARD = TreeColumn(
        "Backward",
        92,
        "The part of the total in the backward pass: an operator there belongs to the module of "
        "its forward operator.",
        Cell.TIME,
        leaves=7,
    )
    SELF = TreeColumn(
        figure_terms.SELF.title,
        92,
        figure_terms.SELF.explained("Here that of the operators directly in a module."),
        Cell.TIME,
        leaves=5,
    )
    SHARED = TreeColumn(
        figure_terms.SHARED.title,
        92,
        figure_terms.SHARED.explained(
            "With operators outside this module. The Total of the module that contains them "
            "all includes it; the Total of this module does not."
        ),
        Cell.TIME,
        leaves=2,
    )
    SLICES = TreeColumn(
        figure_terms.COUNT.title,
        60,
        figure_terms.COUNT.explained("A kernel inside its call is not counted again."),
        leaves=3,
    )
    MEAN = TreeColumn(
        figure_terms.MEAN.title,
        92,
        figure_terms.MEAN.explained("Here Total by Count."),
        Cell.TIME,
        leaves=1,
    )
    P50 = TreeColumn(
        figure_terms.PER_INFERENCE.title,
        96,
        figure_terms.PER_INFERENCE.explained(
            "Inferences that warm up are left out. The selected inference does not change it. "
            "Empty for a model whose methods ran in turns."
        ),
        Cell.TIME,
        leaves=4,
    )
    SUM = TreeColumn(
        figure_terms.TOTAL.title,
        104,
        figure_terms.TOTAL.definition,
        Cell.TIME,
        leaves=1,
    )
    COUNT = TreeColumn(
        "Operators", 80, "How many operators are in a module and in all modules below it."
    )
    LINE = TreeColumn("Line", 60, cell=Cell.LINE)
    OUTPUT = TreeColumn("Output", 190, cell=Cell.CODE, leaves=7)
    A, B = arm_columns(
        "Median of the session medians, per inference.", " Modules sum up what is in them."
    )
    CHANGE = replace(CHANGE, leaves=8)
    RATIO = RATIO


WITH_COSTS = (
    ModelColumn.NAME,
    ModelColumn.TOTAL,
    ModelColumn.SHARE,
    ModelColumn.FORWARD,
    ModelColumn.BACKWARD,
    ModelColumn.SELF,
    ModelColumn.SHARED,
    ModelColumn.SLICES,
    ModelColumn.MEAN,
    ModelColumn.P50,
    ModelColumn.SUM,
)
OF_RECORD = (ModelColumn.NAME, ModelColumn.COUNT, ModelColumn.LINE, ModelColumn.OUTPUT)
OF_CHANGES = (
    ModelColumn.NAME,
    ModelColumn.A,
    ModelColumn.B,
    ModelColumn.CHANGE,
    ModelColumn.RATIO,
)
