"""The columns of a tree as an enum."""

from __future__ import annotations

from enum import Enum


class TableColumn(Enum):
    """A column: its title, its width in design px (0: the remaining width), and its tooltip."""

    def __init__(self, title: str, width: int, tip: str = "") -> None:
        self.title = title
        self.width = width
        self.tip = tip
