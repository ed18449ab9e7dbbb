"""The flows of a Perfetto export: from a slice that produces a result to one that consumes it.

They are the flows that `viewer.analysis.flows.slice_flows` proves: between slices of one inference,
from one that ended to one that starts later. An input that overlaps its consumer is not proof and
is left out, and so is one that leads to no slice. An NSS job and its host actions are also
connected, although the job overlaps its start action: they are identified by their actions, not by
time. The flows that the trace file itself contains come first.
"""

from __future__ import annotations

import numpy as np

from viewer.analysis.flows.slice_flows import FlowIndex
from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Ints
from viewer.export.perfetto.source import FlowEdges
from viewer.model.trace import Unit

# Looking up the inputs of a slice takes 0.07 to 0.17 ms, so this limit is 3 s at most.
MOST_ASKED = 20_000


def flows_among(table: LinkTable, only: Ints | None, most: int = MOST_ASKED) -> FlowEdges:
    """Return the flows among some slices (ascending, None for all).

    The file's own flows come first, in its order, then the proven ones by consumer and producer. If
    more than `most` slices may have inputs, only the first `most` by start are looked up; the
    result's `asked` is that number.
    """
    stated = table.trace.flows
    pairs = np.stack([stated.producer, stated.consumer], axis=1)
    proved, asked, of = _proved(table, only, most)
    if len(pairs) and len(proved):
        stated_pairs = set(map(tuple, pairs.tolist()))
        proved = proved[[tuple(edge) not in stated_pairs for edge in proved.tolist()]]
    columns = np.concatenate([pairs, proved])
    if only is not None:
        columns = columns[np.isin(columns, only).all(axis=1)]
    return FlowEdges(columns[:, 0].copy(), columns[:, 1].copy(), asked, of)


def _proved(table: LinkTable, only: Ints | None, most: int) -> tuple[Ints, int, int]:
    """Return the proven edges, the number of slices looked up, and how many may have inputs."""
    candidates = _may_have_inputs(table)
    if only is not None:
        candidates = candidates[np.isin(candidates, only, assume_unique=True)]
    searched = candidates
    if len(candidates) > most:
        by_start = np.argsort(table.trace.slices.start[candidates], kind="stable")
        searched = np.sort(candidates[by_start[:most]])
    edges: list[tuple[int, int]] = []
    if not len(searched):
        return np.empty((0, 2), np.int64), 0, 0
    index = FlowIndex(table)
    for consumer in searched.tolist():
        slice_flows = index.flows(consumer)
        assert slice_flows is not None  # the search has no limit here
        edges += sorted(
            (e.slice, consumer)
            for e in slice_flows.inputs
            if e.is_job or not (e.overlaps or e.is_stated)
        )
    return np.array(edges, np.int64).reshape(len(edges), 2), len(searched), len(candidates)


def _may_have_inputs(table: LinkTable) -> Ints:
    """Return the slices with operators, and all of host and NSS, whose jobs need no program."""
    trace = table.trace
    slices = trace.slices
    linked = np.array([bool(link.operators) for link in table.links], np.bool_)
    mask = linked[slices.key] if len(linked) else np.zeros(len(slices), np.bool_)
    units = np.array([track.unit in (Unit.HOST, Unit.NSS) for track in trace.tracks], np.bool_)
    if units.any() and not trace.provenance:
        mask = mask | units[slices.row_track[slices.rows()]]
    return np.flatnonzero(mask)
