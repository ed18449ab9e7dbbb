"""Which flows an export has, against the flows that the window shows slice by slice."""

import numpy as np
import pytest

from tests.builders.workspaces import workspace_of
from viewer.analysis.flows.slice_flows import FlowIndex
from viewer.export.perfetto.source import flows_among
from viewer.model.trace import Unit
from viewer.resources import SAMPLES


def opened(key):
    return workspace_of(*next(s for s in SAMPLES if s.key == key).paths())


def told(table):
    """Every input of every slice that the window draws an arrow for, by hand."""
    index, found = FlowIndex(table), set()
    for consumer in range(len(table.trace.slices)):
        for end in index.flows(consumer).inputs:
            if end.is_job or not end.overlaps:
                found.add((end.slice, consumer))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.key)
def test_all_flows_of_the_window_are_there_and_none_crosses_inferences(sample):
    workspace = opened(sample.key)
    for trace in workspace.traces:
        table = workspace.links(trace)
        edges = flows_among(table, None)
        assert set(zip(edges.producer.tolist(), edges.consumer.tolist(), strict=True)) == told(
            table
        )
        assert edges.asked == edges.of
        index = FlowIndex(table)
        for a, b in zip(edges.producer.tolist(), edges.consumer.tolist(), strict=True):
            assert index.run_of(a) == index.run_of(b)


def test_a_host_starts_each_job_and_waits_for_it():
    workspace = opened("torq_npu")
    trace = workspace.traces[0]
    edges = flows_among(workspace.links(trace), None)
    pairs = zip(edges.producer.tolist(), edges.consumer.tolist(), strict=True)
    jobs = [
        (trace.name(a), trace.name(b))
        for a, b in pairs
        if Unit.NSS in (trace.tracks[trace.slices.track(i)].unit for i in (a, b))
    ]
    started = sorted(b for a, b in jobs if a == "NSS_START")
    waited = sorted(a for a, b in jobs if b == "NSS_WAIT")
    assert started == waited == sorted(["job 0", "job 1", "job 2", "job 3"] * 2)


def test_flows_of_some_slices_stay_among_them():
    table = opened("attention_xnnpack")
    table = table.links(table.traces[0])
    every = flows_among(table, None)
    some = np.arange(100, 400)
    edges = flows_among(table, some)
    inside = np.isin(every.producer, some) & np.isin(every.consumer, some)
    assert 0 < inside.sum() < len(every.producer)
    assert edges.producer.tolist() == every.producer[inside].tolist()
    assert edges.consumer.tolist() == every.consumer[inside].tolist()


def test_of_many_slices_the_first_are_looked_up_and_that_is_said():
    table = opened("attention_xnnpack")
    table = table.links(table.traces[0])
    every, edges = flows_among(table, None), flows_among(table, None, most=100)
    assert (edges.asked, edges.of) == (100, every.of)
    start = table.trace.slices.start
    early = {
        (a, b)
        for a, b in zip(every.producer.tolist(), every.consumer.tolist(), strict=True)
        if start[b] < start[edges.consumer].max()
    }
    assert early <= set(zip(edges.producer.tolist(), edges.consumer.tolist(), strict=True))


def test_a_trace_without_links_has_no_flows():
    workspace = workspace_of(SAMPLES[0].paths()[0])
    table = workspace.links(workspace.traces[0])
    edges = flows_among(table, None)
    assert (len(edges.producer), edges.asked, edges.of) == (0, 0, 0)
