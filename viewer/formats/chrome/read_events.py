"""Events of a Chrome trace as columns, however they were read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints
from viewer.formats.chrome.event_structs import Event
from viewer.formats.chrome.ids import Name


@dataclass(slots=True)
class ReadEvents:
    """Events of a block as columns; `rows` are the objects that they are.

    phase, name, cat: codes of their texts. thread: code into the threads. times: ts, dur, tts and
    tdur: which events have them (positions), ns and thousandths. arguments: events, kind, and rows
    of the kind. numbers: argument, events and values. bound: events, distinct bind_ids, codes into
    these, whether the flow leads out, and in. stacks: events with stack frames, which are not read.
    instants: events, distinct values of `s`, and codes into these. flows: events and the keys of
    their flows. metadata: the events at `metadata_at`, of equal ones only the last.
    """

    rows: Ints
    phase: Ints | Codes
    name: Ints | Codes
    cat: Ints | Codes
    thread: Codes
    times: dict[str, tuple[Ints, Ints, NDArray[np.int16]]] = field(default_factory=dict)
    arguments: list[tuple[Ints, int, Codes]] = field(default_factory=list)
    numbers: list[tuple[str, Ints, NDArray[np.int64] | NDArray[np.float64]]] = field(
        default_factory=list
    )
    bound: tuple[Ints, Sequence[Name], Ints | Codes, Bools, Bools] | None = None
    stacks: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    instants: tuple[Ints, list[str], Ints] | None = None
    flows: tuple[Ints, list[tuple[str, ...]]] | None = None
    metadata_at: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    metadata: list[Event] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rows)
