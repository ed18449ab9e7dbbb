"""What models of tables and trees share: alignment, and rows as text to copy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt

Index = QModelIndex | QPersistentModelIndex
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


def any_fraction_of_ns(ns: NDArray[Any]) -> bool:
    """Whether any of these times, in ns, is shown in ns with decimals; NaN is none."""
    small = ns[np.abs(ns) < 1000]
    return bool((small % 1 != 0).any())


def tsv_text(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Rows as tab-separated text, one line per row; whitespace within cells becomes one space."""
    lines = ["\t".join(header)]
    lines += ["\t".join(" ".join(text.split()) for text in row) for row in rows]
    return "\n".join(lines) + "\n"
