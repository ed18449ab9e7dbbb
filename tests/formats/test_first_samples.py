"""The first sample of a counter stays, also if it is 0: in Chrome JSON and in Perfetto traces."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import viewer
from tests.formats.perfetto.test_reader import COUNTER, Writer
from tests.paths import DATA
from tests.peers.trace_processor import TraceProcessor
from viewer.export.perfetto.writer import export_perfetto
from viewer.formats import open_file
from viewer.workspace.perfetto_export import perfetto_source
from viewer.workspace.snapshot import Snapshot
from viewer.workspace.workspace import Workspace

# Per counter: samples (time, value), of which many are 0.
_SERIES = st.lists(
    st.lists(st.tuples(st.integers(0, 50), st.sampled_from((0, 0, 0, 1, 5))), min_size=1),
    min_size=1,
    max_size=4,
)


def steps_of(trace):
    """The steps of each counter by name."""
    return {
        c.name: list(zip(c.tick.tolist(), c.value.tolist(), strict=True)) for c in trace.counters
    }


def expected_steps(samples, scale=1):
    """The first sample, and each that changes the value; the last one of a time counts."""
    found = []
    for time, value in sorted(dict(sorted(samples, key=lambda sample: sample[0])).items()):
        if not found or found[-1][1] != value:
            found.append((time * scale, value))
    return found


@pytest.mark.slow
@settings(max_examples=25)
@given(_SERIES)
def test_counters_begin_with_their_first_sample(tmp_path_factory, series):
    folder = tmp_path_factory.mktemp("counters")
    w = Writer()
    events = []
    for number, samples in enumerate(series, 1):
        d = w.packet(9).track_descriptor
        d.uuid, d.name = number, f"c{number}"
        d.counter.SetInParent()
        for time, value in samples:
            w.event(time, COUNTER, number).counter_value = value
            event = {"ph": "C", "pid": 1, "name": f"c{number}", "ts": time, "args": {"v": value}}
            events.append(event)
    perfetto = open_file(str(w.save(folder)))
    path = folder / "made.json"
    path.write_text(json.dumps(events))
    expected = {f"c{n}": expected_steps(samples) for n, samples in enumerate(series, 1)}
    assert steps_of(perfetto) == expected
    assert steps_of(open_file(str(path))) == {
        name: [(time * 1000, value) for time, value in steps] for name, steps in expected.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["zero_counter.json", "zero_counter.pftrace"])
def test_a_first_sample_of_0_is_in_tables_and_exports(tmp_path, name):
    path = DATA / "identity" / name
    profile = viewer.open(path)
    expected = {
        "zero_counter.json": [
            ("drops", 0, 0.0), ("q", 0, 0.0), ("q", 10_000, 5.0), ("q", 20_000, 0.0)
        ],
        "zero_counter.pftrace": [("rss", 0, 0.0), ("rss", 10, 210.0), ("rss", 0, 0.0),
                                 ("rss", 10, 220.0)],
    }[name]  # fmt: skip
    table = profile.counters
    rows = zip(table["name"], table["start_ns"], table["value"], strict=True)
    assert list(rows) == expected
    workspace = Workspace()
    workspace.add(open_file(str(path)))
    exported = tmp_path / "out.pftrace"
    export_perfetto([perfetto_source(Snapshot.of(workspace), 0)], exported)
    assert steps_of(open_file(str(exported))) == steps_of(open_file(str(path)))


@pytest.mark.slow
def test_samples_before_the_first_slice_are_in_exports(tmp_path):
    """trace_processor leaves out what has a time below 0."""
    events = [
        {"ph": "C", "pid": 1, "name": "q", "ts": time, "args": {"v": value}}
        for time, value in ((10, 0), (20, 3), (60, 0))
    ]
    path = tmp_path / "made.json"
    path.write_text(json.dumps([*events, {"ph": "X", "pid": 1, "name": "a", "ts": 50, "dur": 20}]))
    workspace = Workspace()
    workspace.add(open_file(str(path)))
    exported = tmp_path / "out.pftrace"
    export_perfetto([perfetto_source(Snapshot.of(workspace), 0)], exported)
    with TraceProcessor(exported) as peer:
        assert peer.rows("select ts, value from counter") == [(0, 0), (10_000, 3), (50_000, 0)]
        assert peer.rows("select ts, dur from slice") == [(40_000, 20_000)]
    assert steps_of(open_file(str(exported))) == steps_of(open_file(str(path)))
