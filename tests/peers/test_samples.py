"""Samples of a Perfetto trace beside trace_processor: their threads, times and stacks."""

import pytest

from tests.builders import sampled
from tests.formats.perfetto.test_perf_samples import opened, stacks_and_times
from tests.formats.samples.test_reader import calls
from tests.peers.trace_processor import TraceProcessor

pytestmark = pytest.mark.slow

SAMPLES = "select ts, tid, callsite_id from perf_sample join thread using (utid) order by ts"
SITES = (
    "select c.id, ifnull(c.parent_id, -1), f.name from stack_profile_callsite c "
    "join stack_profile_frame f on c.frame_id = f.id"
)


def test_the_same_samples_and_stacks(tmp_path):
    stacks, times = stacks_and_times(3)
    made = sampled.perf_samples(stacks, times)
    trace = opened(tmp_path, made)
    with TraceProcessor(tmp_path / "a.pftrace") as peer:
        sites = {site: (parent, name) for site, parent, name in peer.rows(SITES)}
        found = peer.rows(SAMPLES)
    assert [ts for ts, _, _ in found] == times
    count: dict[tuple[str, ...], int] = {}
    for _, _, site in found:
        path: list[str] = []
        while site >= 0:
            site, name = sites[site]
            path.insert(0, name)
        for depth in range(1, len(path) + 1):
            count[tuple(path[:depth])] = count.get(tuple(path[:depth]), 0) + 1
    assert {path: number for path, (_, _, number) in calls(trace).items()} == count
