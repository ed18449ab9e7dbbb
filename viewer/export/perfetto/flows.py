"""Which flows a Perfetto export has: from the slice that gives a result to the one that takes it.

They are those that `viewer.analysis.flows.slice_flows` proves: between slices of one inference,
from one that ended to one that begins after it. An input that overlaps its consumer is no proof and
is left out, as is what leads through no slice at all. The job of a host with its NPU is a flow too,
though it runs while its start does: start and job are told apart by their actions, not by time.
Before all these stand the flows that the file of the trace states itself.
"""

from __future__ import annotations

import numpy as np

from viewer.analysis.flows.slice_flows import FlowIndex
from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Ints
from viewer.export.perfetto.source import FlowEdges
from viewer.model.trace import Unit

# To look up the inputs of a slice takes 0.07 to 0.17 ms: these are 3 s at most.
MOST_ASKED = 20_000


def flows_among(table: LinkTable, only: Ints | None, most: int = MOST_ASKED) -> FlowEdges:
    """The flows among some slices (ascending, None for all): those that the file states, in its
    order, then those that are proved, by consumer, then by producer.

    Of more than `most` slices that may have inputs, those of the first `most` by start are looked
    up, and `asked` says so.
    """
    stated = table.trace.flows
    given = np.stack([stated.producer, stated.consumer], axis=1)
    proved, asked, of = _proved(table, only, most)
    if len(given) and len(proved):
        known = set(map(tuple, given.tolist()))
        proved = proved[[tuple(edge) not in known for edge in proved.tolist()]]
    columns = np.concatenate([given, proved])
    if only is not None:
        columns = columns[np.isin(columns, only).all(axis=1)]
    return FlowEdges(columns[:, 0].copy(), columns[:, 1].copy(), asked, of)


def _proved(table: LinkTable, only: Ints | None, most: int) -> tuple[Ints, int, int]:
    """The edges of inputs that are proved; of how many slices they were looked up, and of how many
    there might be some."""
    wanted = _may_have_inputs(table)
    if only is not None:
        wanted = wanted[np.isin(wanted, only, assume_unique=True)]
    asked = wanted
    if len(wanted) > most:
        by_start = np.argsort(table.trace.slices.start[wanted], kind="stable")
        asked = np.sort(wanted[by_start[:most]])
    edges: list[tuple[int, int]] = []
    if not len(asked):
        return np.empty((0, 2), np.int64), 0, 0
    index = FlowIndex(table)
    for consumer in asked.tolist():
        found = index.flows(consumer)
        assert found is not None  # there is no bound on what is looked at
        edges += sorted(
            (e.slice, consumer) for e in found.inputs if e.is_job or not (e.overlaps or e.is_stated)
        )
    return np.array(edges, np.int64).reshape(len(edges), 2), len(asked), len(wanted)


def _may_have_inputs(table: LinkTable) -> Ints:
    """The slices that are of operators, and all of host and NSS, whose jobs need no program."""
    trace = table.trace
    slices = trace.slices
    linked = np.array([bool(link.operators) for link in table.links], np.bool_)
    found = linked[slices.key] if len(linked) else np.zeros(len(slices), np.bool_)
    units = np.array([track.unit in (Unit.HOST, Unit.NSS) for track in trace.tracks], np.bool_)
    if units.any() and not trace.provenance:
        found = found | units[slices.row_track[slices.rows()]]
    return np.flatnonzero(found)
