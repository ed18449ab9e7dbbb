"""Events are the same as columns and one by one, whatever a file holds."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.chrome_cases import problems
from tests.builders.chrome_kinds import EVENTS, named
from viewer.codecs import json_blocks
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.formats.chrome import event_blocks


def facts(path, tries: int):
    """All that a trace says, by slices in the order of the file; or why it cannot be read.

    tries: of reading a block as columns; 0 reads all events one by one.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(event_blocks, "_TRIES", tries)
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
    assert facts(path, 1000) == facts(path, 0)


@pytest.mark.slow
@given(EVENTS, st.sampled_from((None, (",", ":"))), st.booleans(), st.data())
def test_the_same_trace_as_event_by_event(tmp_path_factory, given, separators, is_ascii, data):
    path = tmp_path_factory.getbasetemp() / "pieces.json"
    written = [kind(i, name, shape) for kind, name, shape, count in given for i in range(2 * count)]
    text = json.dumps(written, separators=separators, ensure_ascii=is_ascii).encode()
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
