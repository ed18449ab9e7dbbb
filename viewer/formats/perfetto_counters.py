"""The counter values of a Perfetto file, collected by track."""

from __future__ import annotations

from typing import Any

import numpy as np

from viewer.formats.protobuf_columns import FIXED64, VARINT, Block, Fields
from viewer.model.trace import Codes, Ints

_INT, _DOUBLE = 30, 44


class CounterEvents:
    """Times, clocks and values of all counter events, in the order of the file."""

    def __init__(self) -> None:
        self.parts: list[tuple[Codes, Ints, Ints, Any, Any]] = []

    def add(
        self, block: Block, fields: Fields, rows: Ints, times: Ints, clock: Ints, track: Codes
    ) -> None:
        """Take in the events `rows` of some; a value is an int or a double."""
        n = len(times)
        whole, real = np.zeros(n, np.int64), np.full(n, np.nan)
        found = fields.get(_INT, VARINT)
        whole[found.owner] = found.value.view(np.int64)
        is_whole = np.zeros(n, np.bool_)
        is_whole[found.owner] = True
        found = fields.get(_DOUBLE, FIXED64)
        real[found.owner] = found.value.view(np.float64)
        value = np.where(is_whole, whole.astype(np.float64), real)
        self.parts.append((track[rows], times[rows], clock[rows], value[rows], is_whole[rows]))
