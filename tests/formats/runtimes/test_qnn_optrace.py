"""An optrace is in cycles, unless it states cycles that contradict this."""

import json

from tests.builders.runtime_files import qnn_optrace
from viewer.formats import open_file
from viewer.formats.runtimes.qnn_optrace import sniff


def opened(tmp_path, value):
    path = tmp_path / "optrace.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return open_file(str(path))


def test_a_tick_is_a_cycle(tmp_path):
    trace = opened(tmp_path, qnn_optrace())
    assert (trace.clock.unit, trace.clock.assumed) == ("cycle", True)
    found = {trace.name(i): (int(trace.slices.start[i]), int(trace.slices.end[i]))
             for i in range(len(trace.slices))}  # fmt: skip
    assert found["q::ConvLayer_s1.opt"] == (900, 2330)
    assert [t.thread for t in trace.tracks] == [
        "Core:0 Type: HMX Tid: 256",
        "Core:0 Type: HVX Tid: 512",
    ]


def test_stated_cycles_that_differ_show_that_times_are_in_us(tmp_path):
    value = json.loads(qnn_optrace())
    for event in value["traceEvents"]:
        if event["ph"] == "X":
            event["args"]["Duration (cycles)"] *= 2
    trace = opened(tmp_path, value)
    assert trace.clock.unit == "ns"
    assert "Duration (cycles)" in trace.slices.columns


def test_a_fraction_of_a_cycle_is_rounded_down_and_reported(tmp_path):
    value = json.loads(qnn_optrace())
    value["traceEvents"][-1]["ts"] = 2700.5
    trace = opened(tmp_path, value)
    assert [p.kind for p in trace.problems] == ["time with a fraction of a cycle: rounded down"]


def test_another_chrome_trace_is_none():
    assert not sniff(b'{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 2}]}')


def test_a_stated_number_of_cycles_may_be_as_large_as_a_file_can_write(tmp_path):
    value = json.loads(qnn_optrace())
    value["traceEvents"][-1]["args"]["Duration (cycles)"] = 2**63 - 1
    assert opened(tmp_path, value).clock.unit == "cycle"
