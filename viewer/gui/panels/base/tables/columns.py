"""What a table of a panel is, as data: its columns, in which rows a word is, what is copied.

All functions take the contents of the table, which only the panel knows, and the position of a row
in them. Texts are created when they are painted, so contents can have a million rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.gui.qt.theme.theme import FontRole
from viewer.render.palette import Palette
from viewer.tables.spec import ColumnSpec

C = TypeVar("C")
# The position of a row and the palette of operators -> the palette indices of a swatch.
Swatch = Callable[[C, int, Palette | None], Sequence[int] | None]


class ColumnKind(Enum):
    """How a column is painted."""

    NAME = "name"
    BAR = "bar"  # a time, and a bar next to it
    SHARE = "share"  # a percentage, and a bar behind it
    TIME = "time"
    NUMBER = "number"
    TEXT = "text"
    CODE = "code"
    CHANGE = "change"  # a time with a sign, and a bar from a zero line next to it
    DOTS = "dots"  # the sessions of two arms

    @property
    def is_time(self) -> bool:
        """Whether its cells are times, each with its unit, and their sort keys ns."""
        return self in (ColumnKind.BAR, ColumnKind.TIME, ColumnKind.CHANGE)

    @property
    def is_right(self) -> bool:
        """Whether its title and cells are right-aligned."""
        return self in (ColumnKind.NUMBER, ColumnKind.TIME, ColumnKind.SHARE, ColumnKind.CHANGE)

    @property
    def is_number(self) -> bool:
        """Whether the first click on its title sorts descending."""
        return self.is_right or self is ColumnKind.BAR


@dataclass(frozen=True)
class PanelColumn(Generic[C]):
    """A column of a panel.

    Attributes:
        title: its title; `title_of` returns another one for some contents.
        kind: how it is painted and aligned.
        width: its width in design px; 0 takes the remaining space.
        tip: the tooltip of the title.
        key: its name, "" for the title.
        text: the text of a cell.
        plain: the text of a cell in a copy, None for the same.
        keys: what the rows are sorted by, None if the texts of the cells are.
        fractions: times in ns, to see whether any is a fraction of one.
        tooltip: the tooltip of a cell, None for none.
        tone: the color of a cell's text, as a token name of the theme.
        font: the font role of a cell.
        swatch: the colors of the swatch of a cell; () for its room alone, None for no room.
        icon: the name and the color token of the icon of a cell.
        edit: stores what the user wrote into a cell; None if cells are not editable.
        leaves: when it is hidden for want of space, 1 first; 0 if it stays.
        is_unused: whether it is hidden, because it has nothing to show.
        extra_width: by how much it is wider with some contents, in design px.
        fills: whether it takes the remaining space if the column without a width is hidden.
        elides_middle: whether long texts keep their end.
    """

    title: str
    kind: ColumnKind = ColumnKind.TEXT
    width: int = 0
    tip: str = ""
    key: str = ""
    text: Callable[[C, int], str] = lambda contents, row: ""
    plain: Callable[[C, int], str] | None = None
    keys: Callable[[C], NDArray[Any]] | None = None
    fractions: Callable[[C], NDArray[Any]] | None = None
    tooltip: Callable[[C, int], str] | None = None
    tone: str | Callable[[C, int], str] = "text2"
    font: FontRole | Callable[[C, int], FontRole] = "cell"
    swatch: Swatch[C] | None = None
    icon: Callable[[C, int], tuple[str, str]] | None = None
    edit: Callable[[C, int, str], None] | None = None
    title_of: Callable[[C], str] | None = None
    leaves: int = 0
    is_unused: Callable[[C], bool] | None = None
    extra_width: Callable[[C], int] | None = None
    fills: bool = False
    elides_middle: bool = False

    @property
    def is_time(self) -> bool:
        """Whether its cells are times."""
        return self.kind.is_time

    def room(self, contents: C | None) -> int:
        """Return its width in design px for some contents."""
        more = 0 if contents is None or self.extra_width is None else self.extra_width(contents)
        return self.width + more


# A column of which each row has the text and the sort key itself.
Heading = PanelColumn[Any]


def column_of(
    spec: ColumnSpec, width: int, more: str = "", kind: ColumnKind | None = None, **rest: Any
) -> PanelColumn[Any]:
    """Return the column of a panel that other faces have too.

    Its title, tooltip, kind and key are those of `spec`. more: what is special about it here.
    """
    if kind is None:
        kind = ColumnKind.TEXT if spec.is_text else ColumnKind.NUMBER
        kind = ColumnKind.TIME if spec.unit == "ns" else kind
    tip = f"{spec.meaning}." if spec.term is None else spec.term.explained(more)
    return PanelColumn(**{"title": spec.title, "tip": tip, "key": spec.name} | rest,
                       kind=kind, width=width)  # fmt: skip


# Headings of a copy, and its cells line by line.
Copied = tuple[Sequence[str], Iterable[Iterable[str]]]


class CopyScope(Enum):
    """Which rows a table copies."""

    SELECTED = "selected"
    ALL_IF_NONE = "all rows if none is selected"
    TABLE = "the same, with the whole table in its menu"


@dataclass(frozen=True)
class PanelTable(Generic[C]):
    """A table of a panel.

    Attributes:
        name: its name for screen readers.
        columns: its columns, in order.
        least: the least width in px of the column that takes the remaining space.
        rows: the positions of the listed rows, in their own order.
        holds: which of all rows contain a word in lower case; None without a filter.
        copied: a copy of rows, if it is not that of the columns.
        also_copied: columns that only copies have, after the others.
        most_copied: how many rows are copied at once, 0 for all; `rest` says what has all of them.
        sortable: whether clicks on titles sort, and a third click restores the own order.
        keeps_columns: whether copies have unused columns too.
        copies: which rows are copied.
    """

    name: str
    columns: tuple[PanelColumn[C], ...]
    least: int
    rows: Callable[[C], Ints]
    holds: Callable[[C, str], Bools] | None = None
    copied: Callable[[C, Ints], Copied] | None = None
    also_copied: tuple[PanelColumn[C], ...] = ()
    most_copied: int = 0
    rest: str = ""
    sortable: bool = True
    keeps_columns: bool = True
    copies: CopyScope = CopyScope.SELECTED

    def place(self, key: str) -> int:
        """Return the position of a column, given by its key or title."""
        return next(i for i, c in enumerate(self.columns) if key in (c.key, c.title))
