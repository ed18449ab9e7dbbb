"""The time of day and the rank that a Chrome trace states next to its events."""

from __future__ import annotations

import gzip
import json

import pytest

from viewer.codecs import json_blocks
from viewer.formats import open_file
from viewer.model.trace import Clock, ClockZero, Rank

BASE = 1_700_000_000_000_000_000
EVENT = {"name": "a", "ph": "X", "ts": 1.5, "dur": 2, "pid": 7, "tid": 7}
NAME = {"name": "process_name", "ph": "M", "pid": 7, "args": {"name": "python"}}
DATED = (ClockZero("REALTIME", BASE, "baseTimeNanoseconds"),)


def read(tmp_path, **beside: object):
    """A trace with these values next to its events, in the order given."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps(beside))
    return open_file(str(path))


@pytest.mark.parametrize("block", [1 << 17, 16])
@pytest.mark.parametrize("is_last", [False, True])
def test_the_base_is_what_the_clock_of_the_day_shows_at_zero(tmp_path, monkeypatch, is_last, block):
    # Small blocks end inside of numbers.
    monkeypatch.setattr(json_blocks, "_FIRST_BLOCK", block)
    monkeypatch.setattr(json_blocks, "BLOCK", block)
    facts = {"schemaVersion": 1, "deviceProperties": [{"id": 3, "rank": 9}],
             "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 4},
             "baseTimeNanoseconds": BASE, "traceName": "x"}  # fmt: skip
    events = {"traceEvents": [NAME, EVENT]}
    trace = read(tmp_path, **({**events, **facts} if is_last else {**facts, **events}))
    assert trace.clock == Clock(zeros=DATED)
    assert trace.rank == Rank(1, 4)
    assert [track.process for track in trace.tracks] == ["python · rank 1"]
    assert trace.start == 1500


def test_viztracer_states_it_in_its_metadata(tmp_path):
    trace = read(
        tmp_path, traceEvents=[{**EVENT, "ts": 22347169834.1975}],
        viztracer_metadata={"version": "1.1.1", "overflow": False, "baseTimeNanoseconds": BASE},
        file_info={"files": {"a.py": ["x = 1\n", 1]}},
    )  # fmt: skip
    assert trace.clock.zeros == DATED
    assert (trace.clock.unit, trace.start) == ("ps", 22347169834197500)
    assert trace.rank is None


def test_a_packed_file(tmp_path):
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"baseTimeNanoseconds": BASE,
                                               "traceEvents": [EVENT]}).encode()))  # fmt: skip
    assert open_file(str(path)).clock.zeros == DATED


@pytest.mark.parametrize(
    "beside",
    [{"baseTimeNanoseconds": 0}, {"baseTimeNanoseconds": -5}, {"baseTimeNanoseconds": 1.5e18},
     {"baseTimeNanoseconds": 2**63}, {"baseTimeNanoseconds": str(BASE)},
     {"baseTimeNanoseconds": [BASE]}, {"other": {"baseTimeNanoseconds": BASE}},
     {"viztracer_metadata": {"inner": {"baseTimeNanoseconds": BASE}}},
     {"viztracer_metadata": [{"baseTimeNanoseconds": BASE}]},
     {"distributedInfo": {"rank": -1}}, {"distributedInfo": {"rank": "1"}}, {"rank": 1},
     {"distributedInfo": [{"rank": 1}]}],
)  # fmt: skip
def test_other_values_state_nothing(tmp_path, beside):
    trace = read(tmp_path, **beside, traceEvents=[EVENT])
    assert (trace.clock, trace.rank) == (Clock(), None)
    assert [track.process for track in trace.tracks] == ["process 7"]


def test_a_name_that_has_the_rank_already_stays(tmp_path):
    named = {**NAME, "args": {"name": "Rank 1"}}
    other = {**EVENT, "pid": 8}
    start = {"name": "s", "ph": "i", "s": "g", "ts": 1}
    trace = read(tmp_path, distributedInfo={"rank": 1}, traceEvents=[named, EVENT, other, start])
    assert [track.process for track in trace.tracks] == [
        "whole trace · rank 1", "Rank 1", "process 8 · rank 1",
    ]  # fmt: skip
    assert trace.rank == Rank(1)
    assert (trace.rank.text, Rank(1, 4).text) == ("1", "1 of 4")
