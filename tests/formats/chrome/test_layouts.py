"""Events of equal layout are read as the parser reads them one by one, whatever a file holds."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders.chrome_cases import problems
from viewer.codecs import json_blocks, json_layouts
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.formats.chrome.layouts import EventLayouts

NAMES = ("aten::add", 'a "quoted" one', "é", "", "},{", "C:\\new")
SHAPES = ([[1, 3], [], [64]], [], {"a": [None]}, True, None, 1.5, "text", 7)


def torch(i: int, name: str, shape: object) -> dict:
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 12, "tid": i % 3,
            "ts": 10**9 + 3 * i + 0.125, "dur": i % 7 + 0.5,
            "args": {"External id": i, "Input Dims": shape, "Record function id": 0}}  # fmt: skip


def begun(i: int, name: str, shape: object) -> dict:
    return {"name": name, "ph": "BE"[i % 2], "ts": 3 * i, "tid": "main", "pid": 1}


def other(i: int, name: str, shape: object) -> dict:
    return {"ph": "iCbM"[i % 4], "name": name, "ts": 5 * i, "pid": 1, "tid": 1, "id": i % 5,
            "args": {"value": i}}  # fmt: skip


def unusual(i: int, name: str, shape: object) -> dict:
    return {"ph": "X", "name": name, "ts": f"{i}", "dur": 1e3 * i, "pid": 1.5, "tid": -i,
            "tts": [i], "args": shape}  # fmt: skip


def processor(i: int, name: str, shape: object) -> dict:
    return {"ph": "X", "name": name, "ts": 3 * i, "dur": 2, "tts": i + 0.5, "tdur": i % 3, "tid": 1,
            "pid": 1, **({"sf": i} if name == NAMES[0] else {})}  # fmt: skip


def bound(i: int, name: str, shape: object) -> dict:
    return {"ph": "X", "name": name, "ts": 3 * i, "dur": 2, "bind_id": hex(i // 2), "tid": 1,
            "pid": 1, "flow_in": i % 2 == 1, "flow_out": i % 3 == 0}  # fmt: skip


EVENTS = st.lists(
    st.tuples(
        st.sampled_from((torch, torch, begun, other, unusual, processor, bound)),
        st.sampled_from(NAMES), st.sampled_from(SHAPES), st.integers(1, 6),
    ), min_size=1, max_size=12,
)  # fmt: skip


def facts(path, fewest: int):
    """All that a trace says, by slices in the order of the file; or why it cannot be read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_layouts, "FEWEST", fewest)
        patch.setattr(json_blocks, "BLOCK", 1 << 11)
        try:
            trace = open_file(str(path))
        except UnreadableFile as error:
            return str(error)
    slices = trace.slices
    tracks = trace.tracks
    found = [
        (int(slices.source_row[i]), int(slices.start[i]), int(slices.end[i]), trace.name(i),
         tracks[slices.track(i)],
         {name: column.value(i) for name, column in slices.columns.items()})
        for i in np.lexsort((slices.start, slices.source_row)).tolist()
    ]  # fmt: skip
    counters = [(c.process, c.name, c.tick.tolist(), c.value.tolist()) for c in trace.counters]
    flows = trace.flows.producer.tolist(), trace.flows.consumer.tolist()
    return found, counters, problems(trace), trace.clock, flows


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(EVENTS, st.sampled_from((None, (",", ":"))), st.booleans(), st.data())
def test_the_same_trace_as_event_by_event(tmp_path_factory, given, separators, is_ascii, data):
    path = tmp_path_factory.getbasetemp() / "layouts.json"
    events = [kind(i, name, shape) for kind, name, shape, count in given for i in range(2 * count)]
    text = json.dumps(events, separators=separators, ensure_ascii=is_ascii).encode()
    # Some events have something else between them than the others.
    text = text.replace(b"}, {", b"} ,\n{", data.draw(st.integers(0, 2)))
    path.write_bytes(text)
    assert facts(path, 2) == facts(path, 1 << 30)
    # Bytes that are replaced, left out or added: damage that the parser finds is found, too.
    for _ in range(3):
        at = data.draw(st.integers(0, len(text) - 1))
        by = data.draw(
            st.sampled_from((b"", b'"', b"\\", b"}", b"{", b",", b"0", b"x", b"\n", b"]"))
        )
        gone = data.draw(st.integers(0, 2))
        path.write_bytes(text[:at] + by + text[at + gone :])
        assert facts(path, 2) == facts(path, 1 << 30)


def test_events_of_a_profiler_are_all_read_by_columns():
    events = [torch(i, "aten::add", [i]) for i in range(500)] + [other(2, "b", None)]
    objects = json_layouts.Objects(json.dumps(events)[1:-1].encode())
    found, left = EventLayouts(frozenset("XBE").__contains__).read(objects)
    assert [len(some) for some in found] == [500]
    assert left.tolist() == [500]
    assert found[0].numbers["External id"].tolist() == list(range(500))
