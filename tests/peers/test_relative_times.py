"""Times relative to a ThreadDescriptor beside trace_processor."""

from collections import Counter

import pytest

from tests.formats.perfetto.test_relative_times import OldTrace, random_trace
from tests.peers.events import events_of_both

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_slices(tmp_path, seed):
    made, _ = random_trace(seed)
    _, ours, theirs = events_of_both(made.save(tmp_path))
    assert ours[1] == theirs[1]
    assert sum(ours[1].values()) > 50


def test_the_same_with_snapshots_lost_packets_and_complete_events(tmp_path):
    made = OldTrace()
    snapshot = made.packet(9).clock_snapshot
    snapshot.clocks.add(clock_id=6, timestamp=1_000_000)
    snapshot.clocks.add(clock_id=3, timestamp=400_000)
    made.thread(1, 500)
    made.event(1, ord("X"), "a", 100, duration=7)
    made.event(1, ord("I"), "b", absolute=900)
    made.event(1, ord("I"), "c", 300)
    made.event(1, ord("I"), "lost", 5).previous_packet_dropped = 1
    made.thread(1, 5000)
    made.event(1, ord("I"), "d", 5)
    _, ours, theirs = events_of_both(made.save(tmp_path))
    assert ours[1] == theirs[1] == Counter(
        {("a", 1_200_000, 7000): 1, ("b", 1_500_000, 0): 1, ("c", 1_500_000, 0): 1,
         ("d", 5_605_000, 0): 1}
    )  # fmt: skip
