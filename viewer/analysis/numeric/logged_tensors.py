"""Where the tensors of the debug events of a profile are stored, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from viewer.arrays import Ints
from viewer.codecs.tensor_values import TensorLayout


@dataclass(frozen=True, eq=False)
class LoggedTensors:
    """The tensors of all debug events, in the order of the file.

    row: position of the event in the file, as `UntimedEvents.source_row`. member: number of the
    tensor in its event, which may have a list. layout: index into `layouts`. offset: bytes from the
    start of the debug buffer, -1 for a tensor without data. problems: what was left out.
    """

    row: Ints
    member: Ints
    layout: Ints
    offset: Ints
    layouts: tuple[TensorLayout, ...]
    problems: tuple[str, ...] = ()

    @staticmethod
    def none() -> LoggedTensors:
        """No tensors."""
        nothing = np.empty(0, np.int64)
        return LoggedTensors(nothing, nothing, nothing, nothing, ())

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def end(self) -> int:
        """The bytes that a buffer must have to hold all tensors that can be read."""
        return max(
            (
                int(self.offset[own].max()) + layout.extent
                for code, layout in enumerate(self.layouts)
                if not layout.fault and len(own := np.flatnonzero(self.layout == code))
            ),
            default=0,
        )

    def of_event(self, row: int) -> list[tuple[TensorLayout, int]]:
        """The layouts and offsets of the tensors of an event, by its position in the file."""
        first, end = np.searchsorted(self.row, [row, row + 1]).tolist()
        return [(self.layouts[self.layout[i]], int(self.offset[i])) for i in range(first, end)]
