"""One row of the model panel: a module, an operator, a shared set or a slice."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class RowKind(Enum):
    """What a row is about."""

    MODULE = "module"
    OPERATOR = "operator"
    SET = "shared"
    SLICE = "slice"
    REST = "more slices"


@dataclass(eq=False, slots=True)
class ModelRow:
    """One row. number: the module, the operator, the position among the sets of the module or the
    slice that it is about. id: its position among the rows made. inside: None until asked for."""

    kind: RowKind
    number: int
    id: int
    parent: int
    place: int
    inside: list[int] | None = None
