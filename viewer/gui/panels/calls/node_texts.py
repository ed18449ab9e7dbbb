"""What the views of the Calls panel ask about nodes: names, cells, tooltips. No Qt."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

from numpy.typing import NDArray

from viewer.arrays import Ints
from viewer.gui.panels.calls.columns import CallColumn
from viewer.gui.panels.calls.shown_calls import Matches, ShownCalls
from viewer.model.text import capped, one_line

UNNAMED = "(no name)"


class NodeTexts:
    """The texts of one answer. Nodes are numbers of its table.

    columns: those of the table. hatches: whether boxes of the color `UNLINKED` are hatched.
    """

    columns: ClassVar[tuple[CallColumn, ...]] = ()
    hatches: ClassVar[bool] = False

    def __init__(self, answer: ShownCalls) -> None:
        self.answer = answer

    def name(self, node: int) -> str:
        """Return the name of a node, in one line."""
        return in_one_line(self.answer.table.text(node))

    @property
    def first_rank(self) -> NDArray[Any] | None:
        """What siblings of the table are sorted by at first, ascending; None: as in the graph."""
        return None

    def mark(self, node: int) -> str:
        """Return the mark before the name in the box of a node, "" for none."""
        return ""

    def box(self, node: int) -> str:
        """Return the text behind the name in the box of a node."""
        raise NotImplementedError

    def cell(self, node: int, column: CallColumn) -> str:
        """Return the text of a cell."""
        raise NotImplementedError

    def rest(self, nodes: Ints, column: CallColumn) -> str:
        """Return the text of a cell of the row that stands for some nodes without a row."""
        raise NotImplementedError

    def keys(self, column: CallColumn) -> NDArray[Any]:
        """Return per node what a column sorts by, ascending."""
        raise NotImplementedError

    def has_fractions(self, column: CallColumn) -> bool:
        """Return whether any time of a column is a fraction of a ns."""
        return False

    def lines(self, node: int) -> list[str]:
        """Return the lines of the hover tip of a node; the first is the title."""
        raise NotImplementedError

    def subtitle(self, *, several: bool) -> str:
        """Return what the figures cover; several: whether to name the file."""
        raise NotImplementedError

    @property
    def shorter_subtitles(self) -> tuple[str, ...]:
        """Shorter texts for a narrow panel, from the longest to the shortest."""
        return ()

    def footer(self) -> str:
        """Return how the figures add up, and what is not counted."""
        raise NotImplementedError

    def found(self, matches: Matches) -> str:
        """Return how much a search found: "12 calls · 34.2 % total"."""
        raise NotImplementedError

    def plain(self, node: int, column: CallColumn) -> str:
        """Return the text of a cell to copy: times in ns, no digit grouping."""
        raise NotImplementedError

    def extra_cells(self, node: int) -> Sequence[str]:
        """Return what a copied row has besides its columns: its verdict, if it has one."""
        return ()

    def path_text(self, node: int) -> Sequence[str]:
        """Return the names of the calls around a node, from the outermost on."""
        return self.answer.table.path(node)[:-1]

    def tsv(self, nodes: Sequence[int], columns: Sequence[CallColumn]) -> str:
        """Return nodes with headings as tab-separated text: times in ns, no digit grouping.

        The column Path names the calls around a call, from the outermost on.
        """
        titles = [f"{c.term.title}, ns" if c.is_time else c.term.title for c in columns]
        extra = ("Verdict",) if nodes and self.extra_cells(nodes[0]) else ()
        lines = ["\t".join([titles[0], "Path", *titles[1:], *extra])]
        for node in nodes:
            path = " > ".join(map(in_one_line, self.path_text(node)))
            cells = [self.plain(node, column) for column in columns[1:]]
            lines.append("\t".join([self.name(node), path, *cells, *self.extra_cells(node)]))
        return "\n".join(lines) + "\n"


@lru_cache(maxsize=8192)
def in_one_line(name: str) -> str:
    """Return a name as it is shown; cached, because a frame shows the same ones as the last."""
    return one_line(capped(name)) or UNNAMED
