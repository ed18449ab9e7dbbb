"""The columns of the Model panel: titles, widths and tooltips."""

from __future__ import annotations

from viewer.gui.qt.widgets.column_table import TableColumn


class ModelColumn(TableColumn):
    """The columns, with costs or of a record alone."""

    NAME = ("Module", 0)
    TOTAL = (
        "Total",
        150,
        "Time charged to a module and to all in it, each instant once. The bar is its share",
    )
    SHARE = ("Share, %", 64, "Total as a share of the whole that is written below the table")
    SELF = ("Own", 64, "Time of the operators directly in a module, without modules in it")
    SHARED = (
        "Shared",
        72,
        "Time of calls that it has in common with modules or operators outside of it. It is in the "
        "total of the module around all of them, and not in its own: nobody measured the parts",
    )
    SLICES = ("Slices", 54, "How many slices begin; kernels inside of a call are not counted again")
    MEAN = ("Per slice", 80, "Total, divided by the slices")
    P50 = (
        "p50/run",
        80,
        "Median of the totals of all inferences of the method, without those that warm up. The "
        "selected inference does not change it. Empty for a model whose methods ran in turns",
    )
    COUNT = ("Operators", 80, "How many operators are in a module and in all modules below it")
    LINE = ("Line", 60)
    OUTPUT = ("Output", 190)

    @property
    def is_time(self) -> bool:
        """Whether its numbers are durations."""
        return self in (
            ModelColumn.TOTAL,
            ModelColumn.SELF,
            ModelColumn.SHARED,
            ModelColumn.MEAN,
            ModelColumn.P50,
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
