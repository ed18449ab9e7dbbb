"""Paths of a trace that is handled in blocks of tracks: those of the trace as one."""

from unittest.mock import patch

import numpy as np
import pytest

from viewer.analysis.calls.paths import CallPaths, call_paths
from viewer.analysis.statistics.group_keys import KeyGroups
from viewer.model import queries
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind, Trace

NAMES = "abc"
GROUPS = KeyGroups(("g", "h"), np.array([0, -1, 1]))  # of the three names


def random_trace(seed: int, processes: str) -> Trace:
    """A trace with a track for each letter of `processes`, the name of its process."""
    dice = np.random.default_rng(seed)
    builder = TraceBuilder("t", "test", "", Clock())
    for number, process in enumerate(processes):
        builder.track(process, f"thread {number}")
    keys = np.array([builder.key(KeyKind.PLAIN, name) for name in NAMES], np.uint32)
    start, name = dice.integers(0, 1000, 200), dice.integers(0, len(NAMES), 200)
    builder.add(
        track=dice.integers(0, len(processes), 200).astype(np.uint32), start=start,
        end=start + dice.choice([0, 1, 5, 40, 300], 200),
        name=builder.intern_all(list(NAMES))[name], key=keys[name],
    )  # fmt: skip
    return builder.build()


def columns(paths: CallPaths) -> list[object]:
    names = ("parent", "name", "depth", "node")
    return [paths.labels, *(getattr(paths, name).tolist() for name in names)]


@pytest.mark.parametrize("merges", [False, True])
@pytest.mark.parametrize("processes", ["pppqrrs", "pqpqp", "p"])
@pytest.mark.parametrize("seed", range(3))
def test_blocks_have_the_paths_of_the_trace(seed, processes, merges):
    trace = random_trace(seed, processes)
    groups = GROUPS if merges else KeyGroups(trace.strings, trace.keys.name.astype(np.int64))
    threads = [track.thread for track in trace.tracks]
    left_out = np.random.default_rng(seed).random(len(trace.slices)) < 0.2

    def found(left_out: np.ndarray | None) -> list[object]:
        return columns(call_paths(trace, threads, groups, left_out, merges=merges))

    expected = found(None), found(left_out)
    with patch.object(queries, "BLOCK", 1):
        assert (found(None), found(left_out)) == expected
