"""One row of the Model panel: a module, an operator, a shared set or a slice."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


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
