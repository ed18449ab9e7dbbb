"""Events are the same in pieces, by layout and one by one, whatever a file holds."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders.chrome_cases import problems
from tests.builders.chrome_kinds import EVENTS, begun, flow, named, processor, torch
from viewer.codecs import json_blocks
from viewer.codecs.json_columns import layouts
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.formats.chrome.block_events import BlockReader
from viewer.formats.chrome.events import EventColumns
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock


def facts(path, *readers: str):
    """All that a trace says, by slices in the order of the file; or why it cannot be read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BlockReader, "_readers", lambda self: [getattr(self, r) for r in readers])
        patch.setattr(layouts, "FEWEST", 2)
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


def check(path) -> None:
    expected = facts(path)
    assert facts(path, "_pieces") == expected
    assert facts(path, "_layouts") == expected


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(EVENTS, st.sampled_from((None, (",", ":"))), st.booleans(), st.data())
def test_the_same_trace_as_event_by_event(tmp_path_factory, given, separators, is_ascii, data):
    path = tmp_path_factory.getbasetemp() / "pieces.json"
    events = [kind(i, name, shape) for kind, name, shape, count in given for i in range(2 * count)]
    text = json.dumps(events, separators=separators, ensure_ascii=is_ascii).encode()
    # Some events have something else between them than the others.
    text = text.replace(b"}, {", b"} ,\n{", data.draw(st.integers(0, 2)))
    path.write_bytes(text)
    check(path)
    # Bytes that are replaced, left out or added: damage that the parser finds is found, too.
    for _ in range(3):
        at = data.draw(st.integers(0, len(text) - 1))
        by = data.draw(
            st.sampled_from((b"", b'"', b"\\", b"}", b"{", b",", b"0", b"x", b"\n", b"]"))
        )
        gone = data.draw(st.integers(0, 2))
        path.write_bytes(text[:at] + by + text[at + gone :])
        check(path)


def test_a_block_that_is_no_json_leaves_no_phases_behind(tmp_path):
    text = json.dumps([named(i, "a", None) for i in range(12)])
    path = tmp_path / "damaged.json"
    path.write_text(text.replace('"M"', '"M"]', 1))
    check(path)


@pytest.mark.slow
def test_a_file_of_one_layout_is_read_by_it_and_others_in_pieces():
    assert order([torch]) == ["EventLayouts", "PieceReader", "EventLayouts"]
    assert order([torch, processor, begun, flow]) == ["PieceReader", "EventLayouts"]


def order(kinds) -> list[str]:
    """Which readers are tried for the second block of a file."""
    columns = EventColumns(TraceBuilder("x", "test", "1", Clock()))
    reader = columns._block_reader
    events = [kinds[i % len(kinds)](i, "a", [2]) for i in range(2000)]
    text = json.dumps(events)[1:-1].encode()
    found, _, _ = reader.read(text, len(text))
    assert sum(map(len, found)) > 1900
    return [type(each).__name__ for each in reader._readers()]
