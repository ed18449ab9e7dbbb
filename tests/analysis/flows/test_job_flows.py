"""Flows between host actions and NSS jobs: exact to the tick, or none."""

import numpy as np
import pytest

from tests import paths
from viewer.analysis.flows.job_flows import JobFlows
from viewer.analysis.flows.slice_flows import FlowIndex
from viewer.analysis.links.linker import unlinked
from viewer.formats import open_file
from viewer.model.building.builder import TraceBuilder
from viewer.model.names.torq import NSS_START, NSS_WAIT
from viewer.model.trace import Clock, KeyKind, Unit

DATA = paths.DATA / "torq"


@pytest.mark.parametrize(
    ("name", "jobs"), [("host_h4_latest_2inv.csv", 8), ("annotated_a3_latest.csv", 4)]
)
def test_every_job_of_a_profile_has_its_start_and_its_wait(name, jobs):
    trace = open_file(str(DATA / name))
    slices, flows = trace.slices, JobFlows(trace)
    found = [i for i in range(len(slices)) if flows.is_job(i)]
    assert len(found) == jobs
    for job in found:
        start, wait = flows.next_to(job, forward=False), flows.next_to(job, forward=True)
        assert trace.name(start).upper().replace("_PROGRAM", "").endswith("START")
        assert trace.name(wait).upper().replace("_PROGRAM", "").endswith("WAIT")
        assert (slices.start[start], slices.end[wait]) == (slices.start[job], slices.end[job])
        assert flows.next_to(start, forward=True) == job
        assert flows.next_to(wait, forward=False) == job
        assert flows.next_to(start, forward=False) is None
        assert flows.next_to(wait, forward=True) is None


def test_they_need_no_program():
    trace = open_file(str(DATA / "host_h4_latest_2inv.csv"))
    index, jobs = FlowIndex(unlinked(trace)), JobFlows(trace)
    start = next(i for i in range(len(trace.slices)) if trace.name(i) == NSS_START)
    (end,) = index.flows(start).outputs
    assert end.is_job
    assert jobs.is_job(end.slice)
    assert index.flows(start).reason


def made(*rows):
    """A host and an NSS: rows of (name, start, end); a job is called "job"."""
    builder = TraceBuilder("made", "test", "", Clock())
    host = builder.track("p", "Host", unit=Unit.HOST)
    nss = builder.track("p", "NSS jobs", unit=Unit.NSS, flat=True)
    for name, start, end in rows:
        is_job = name == "job"
        builder.add(
            track=nss if is_job else host, start=np.array([start]), end=np.array([end]),
            name=builder.intern(name), key=builder.key(KeyKind.ACTION, name),
            derived=np.array([is_job]),
        )  # fmt: skip
    trace = builder.build()
    return trace, {int(row): i for i, row in enumerate(trace.slices.source_row)}


def test_what_only_overlaps_is_not_taken():
    trace, at = made((NSS_START, 0, 4), ("job", 1, 20), (NSS_WAIT, 5, 21))
    flows = JobFlows(trace)
    assert flows.next_to(at[1], forward=False) is None
    assert flows.next_to(at[1], forward=True) is None
    assert flows.next_to(at[0], forward=True) is None


def test_of_two_that_fit_none_is_taken():
    trace, at = made((NSS_START, 0, 4), ("job", 0, 20), ("job", 0, 30), (NSS_WAIT, 5, 20))
    flows = JobFlows(trace)
    assert flows.next_to(at[0], forward=True) is None
    assert flows.next_to(at[3], forward=False) == at[1]


def test_a_trace_without_an_npu_has_none():
    trace = open_file(str(DATA.parent / "etdump" / "cnn_portable_x1.etdp"))
    flows = JobFlows(trace)
    assert all(
        flows.next_to(i, forward=forward) is None
        for i in range(len(trace.slices)) for forward in (False, True)
    )  # fmt: skip
