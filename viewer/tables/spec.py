"""What a table and its columns are: every face of a table is made from this.

A column is defined once, in the module of its table: name, dtype, unit, meaning and value.
Commands, their JSON, CSV, Parquet, DataFrames, reports, lakes and the help take it from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from viewer.model.times import tick_to_ns
from viewer.tables.columns import Rows, text_array

if TYPE_CHECKING:
    from viewer.analysis.statistics.figure_terms import FigureTerm

# Dtypes have the names of pandas. int64 and bool are never missing.
Dtype = Literal["category", "string", "object", "int64", "Int64", "float64", "bool"]
Unit = Literal["ns", "ticks", "bytes", "unit", "native_unit", ""]
Value = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """One column.

    value: of a row of the table, or an attribute of the row, as "run.number"; None if it is not
    known. The function that makes the rows fills columns without it. unit: "" for a text, or a
    number without one. title: in texts, reports and panels, "" for a column that they do not show;
    that of the `term`, if the column is a figure with a definition. lake: the number of the schema
    of a lake that added it, of columns that came after the first. former: the column of older files
    of a lake that it replaces.
    """

    name: str
    dtype: Dtype
    meaning: str
    value: Any = None
    unit: Unit = ""
    title: str = ""
    lake: int = 0
    former: str = ""
    term: FigureTerm | None = None

    def __post_init__(self) -> None:
        if self.term is not None:
            object.__setattr__(self, "title", self.term.title)
        if isinstance(self.value, str):
            object.__setattr__(self, "value", attrgetter(self.value))

    def filled(self, value: Any) -> ColumnSpec:
        """Return the same column with a value."""
        return replace(self, value=value)

    def of(self, row: Any) -> Any:
        """Return the value of a row; an empty text of a category is missing."""
        value = self.value(row)
        return None if self.dtype == "category" and isinstance(value, str) and not value else value

    @property
    def is_text(self) -> bool:
        """Whether its values are texts, or lists that become one: they are aligned left."""
        return self.dtype in ("category", "string", "object")


@dataclass(frozen=True, slots=True)
class TableSpec:
    """A table: its name, and its columns in order."""

    name: str
    columns: tuple[ColumnSpec, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    def __getitem__(self, name: str) -> ColumnSpec:
        """Return the column of a name."""
        return next(column for column in self.columns if column.name == name)

    def row(self, item: Any) -> dict[str, Any]:
        """Return the values of a row; columns without a value are left out."""
        return {column.name: column.of(item) for column in self.columns if column.value}

    def arrays(self, items: Sequence[Any]) -> Rows:
        """Return the values of rows: column name -> object array."""
        return {c.name: text_array(map(c.of, items)) for c in self.columns if c.value}


def ticks_and_ns(
    name: str, meaning: str, ticks: Any = None, dtype: Dtype = "int64", **more: Any
) -> tuple[ColumnSpec, ColumnSpec]:
    """Return the columns of a time: in ticks of the profile's clock, and in ns, rounded down.

    ticks: the value; a row has the ns of a tick as `rate`. more: of the column in ns.
    """
    column_spec = ColumnSpec(f"{name}_ticks", dtype, meaning, ticks, "ticks")

    def ns(row: Any) -> int | None:
        return None if (ticks := column_spec.value(row)) is None else tick_to_ns(ticks, row.rate)

    value = None if ticks is None else ns
    return column_spec, ColumnSpec(
        f"{name}_ns", dtype, f"{meaning}, rounded down", value, "ns", **more
    )


def former(name: str, columns: Iterable[ColumnSpec]) -> tuple[ColumnSpec, ...]:
    """Return the columns of a time under their former name, which stays for one version."""
    return tuple(
        replace(c, name=f"{name}_{c.unit}", meaning=f"Former name of {c.name}", lake=0, former="")
        for c in columns
    )


# Columns that several tables have.
FILE = ColumnSpec("file", "category", "Path of the profile", "file")
# In tables of rows that do not know their file, which is added to them.
OF_FILE = FILE.filled(None)
RECORD = ColumnSpec("record", "category", "Path of the ETRecord or source", "record")
METHOD = ColumnSpec("method", "category", "Method of the model", "method")
DERIVED = ColumnSpec(
    "derived", "bool", "Whether Opscope computed it and the file does not state it"
)
CALLED_FROM = ColumnSpec(
    "called_from",
    "category",
    '"file:line" of your own files, if the source is in an installed package',
)
OPERATOR_NAMES = ColumnSpec("operators", "category", "Edge dialect operators, as a JSON list")
DEBUG_HANDLES = ColumnSpec("debug_handles", "category", "Debug handles, as a JSON list")
