"""Flows of a Chrome trace: events of phases s, t and f, and slices with a `bind_id`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints
from viewer.formats.chrome.events import EventColumns
from viewer.formats.flow_events import FlowEvents, next_slices, slices_around
from viewer.model.trace import Flows, Slices


@dataclass(frozen=True, slots=True)
class FlowPhases:
    """Events of phases s, t and f in file order, and the rows of slices with a `bind_id`.

    flow: the number of each one's flow. phase: "s", "t" or "f". is_next: whether they belong to the
    next slice that starts. bound, bound_flow, gives, takes: slices with a `bind_id`, their flow,
    and its direction.
    """

    rows: Ints
    flow: Ints
    phase: NDArray[np.str_]
    is_next: Bools
    bound: Codes
    bound_flow: Ints
    gives: Bools
    takes: Bools

    @staticmethod
    def of(events: EventColumns, rows: Ints, identity: Codes, phases: Codes) -> FlowPhases:
        """Those of a file.

        rows, identity: the events of phases s, t and f, and their identities. phases: of all rows.
        """
        phase = np.array(list(events.phases) or [""])[phases[rows]]
        keys = list(events.identities)
        flows: dict[tuple[str, ...], int] = {}
        number = np.zeros(len(keys), np.int64)
        is_next = np.zeros(len(keys), np.bool_)
        for i in np.unique(identity).tolist():
            *flow, binding = keys[i]
            number[i] = flows.setdefault(tuple(flow), len(flows))
            is_next[i] = binding != "e"
        return FlowPhases(
            rows,
            number[identity],
            phase,
            is_next[identity] & (phase == "f"),
            events.take("bound"),
            events.take("bound_flow") + np.int64(len(flows)),
            events.take("bound_gives"),
            events.take("bound_takes"),
        )


def flows_of(slices: Slices, events: FlowPhases, track: Codes, tick: Ints) -> tuple[Flows, Ints]:
    """The flows, and the rows of events without a slice or counterpart.

    track, tick: the track and the time of each event of phase s, t or f.
    """
    if not len(events.rows) and not len(events.bound):
        return Flows.none(), np.empty(0, np.int64)
    around = slices_around(slices, track, tick)
    at = np.where(events.is_next, next_slices(slices, track, tick), around)
    own = np.empty(0, np.int64)
    if len(events.bound):
        of_row = np.full(int(max(events.bound.max(), slices.source_row.max(initial=0))) + 1, -1)
        of_row[slices.source_row] = np.arange(len(slices))
        own = of_row[events.bound]
    start = slices.start[own] if len(slices) else own
    slice_of = np.concatenate([at, own])
    giver, taker, lone = FlowEvents(
        slice_of,
        np.concatenate([tick, start]),
        np.concatenate([events.flow, events.bound_flow]),
        np.concatenate([events.phase != "f", events.gives]),
        np.concatenate([events.phase != "s", events.takes]),
        np.zeros(len(at) + len(own), np.bool_),
    ).edges()
    return Flows(slice_of[giver], slice_of[taker]), np.concatenate([events.rows, events.bound])[
        lone
    ]
