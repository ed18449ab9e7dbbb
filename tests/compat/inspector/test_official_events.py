"""Events as the official Inspector takes them: raw, in file order, debug events among them."""

import numpy as np
import pytest

from tests.builders.etdump_writer import delegate, framework, operator
from tests.paths import DATA
from viewer.codecs.reading import UnreadableFile, never_cancelled, no_progress
from viewer.compat.inspector import official as inspector_events
from viewer.compat.inspector.official_record import InspectorError
from viewer.formats.executorch.etdump import events as etdump_events
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock

DUMPS = DATA / "etdump"


@pytest.mark.parametrize("name", ["attn_xnnpack_x1_debug", "demo_str_x4", "cnn_portable_x2_debug"])
def test_profile_events_are_those_of_the_reader(name):
    """Where nothing is mended both say the same."""
    path = str(DUMPS / f"{name}.etdp")
    _, found = inspector_events.read(path)
    builder = TraceBuilder(path, "", "", Clock())
    buffer = etdump_events.load(path, no_progress, never_cancelled)
    runs = etdump_events.read_runs(buffer, builder)
    own = etdump_events.read_events(
        buffer, runs, builder, lambda at, rows: None, no_progress, never_cancelled
    )
    at = np.flatnonzero(found.is_profile)
    assert at.tolist() == own.row.tolist()
    for column in ("run", "chain", "instruction", "number", "start", "end"):
        assert getattr(found, column)[at].tolist() == getattr(own, column).tolist()
    for codes, texts in (("name", own.names), ("text", own.texts)):
        mine = [found.texts[c] if c >= 0 else None for c in getattr(found, codes)[at].tolist()]
        theirs = [texts[c] if c >= 0 else None for c in getattr(own, codes).tolist()]
        assert mine == theirs


def test_debug_events_stand_in_their_place():
    runs, found = inspector_events.read(str(DUMPS / "cnn_portable_x2_debug.etdp"))
    debug = np.flatnonzero(~found.is_profile)
    assert len(debug) > 0
    assert (found.start[debug] == 0).all()
    assert found.is_output.any()
    assert not found.is_output[found.is_profile].any()
    assert {run.name for run in runs} == {"Default", "Execute"}
    assert {run.bundled_input_index for run in runs} == {-1}


def test_nothing_is_mended_or_left_out(dump):
    events = [
        operator("native_call_a", 0, (1 << 32) - 5, 7),
        delegate("x", 1, 1 << 63, (1 << 64) - 1, metadata=b"\xff\0"),
        delegate("", 2, 1, 2, metadata=b""),
        framework("", 1, 2),
    ]
    _, found = inspector_events.read(str(dump(("Execute", events))))
    assert found.start.tolist() == [(1 << 32) - 5, 1 << 63, 1, 1]
    assert found.end.tolist() == [7, (1 << 64) - 1, 2, 2]
    assert [found.metadatas[c] if c >= 0 else None for c in found.metadata.tolist()] == [
        None, b"\xff\0", b"", None,
    ]  # fmt: skip
    assert [found.texts[c] if c >= 0 else None for c in found.text.tolist()] == [
        None, "x", "", None,
    ]  # fmt: skip


def test_a_run_without_a_name(dump):
    with pytest.raises(InspectorError, match="a run has no name"):
        inspector_events.read(str(dump((None, [framework("Method::execute", 1, 2)]))))


@pytest.mark.parametrize("name", ["BAD_empty", "BAD_zip", "BAD_truncated"])
def test_broken_dumps(name):
    with pytest.raises(UnreadableFile):
        inspector_events.read(str(DUMPS / f"{name}.etdp"))
