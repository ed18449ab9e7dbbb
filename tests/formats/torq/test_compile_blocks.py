"""Blocks parsed by pyarrow against the reader's pattern, which is the truth."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from viewer.codecs.reading import never_cancelled, no_progress
from viewer.formats.torq import compile_csv as torq_compile_csv
from viewer.formats.torq.compile_csv import parsed_block

HEADER = "taskId, elapsed_time(us), timestamp(us), event, location, bytes\n"


def same(path, monkeypatch) -> bool:
    """Whether a file gives the same trace without blocks; tells whether a block was plain."""
    plain = []

    def told(raw, has_ids):
        block = parsed_block(raw, has_ids)
        plain.append(block is not None)
        return block

    with monkeypatch.context() as patched:
        patched.setattr(torq_compile_csv, "_MATCHED_ROWS", 0)
        patched.setattr(torq_compile_csv, "parsed_block", told)
        ours = torq_compile_csv.read(str(path), no_progress, never_cancelled)
        patched.setattr(torq_compile_csv, "parsed_block", lambda raw, has_ids: None)
        truth = torq_compile_csv.read(str(path), no_progress, never_cancelled)
    assert ours.generation == truth.generation
    assert (ours.tracks, ours.strings, ours.problems) == (
        truth.tracks, truth.strings, truth.problems
    )  # fmt: skip
    for name in ("start", "end", "name", "key", "source_row", "row_track", "row_lane"):
        assert np.array_equal(getattr(ours.slices, name), getattr(truth.slices, name)), name
    assert ours.keys.location.tolist() == truth.keys.location.tolist()
    assert ours.slices.columns.keys() == truth.slices.columns.keys()
    for name, column in ours.slices.columns.items():
        other = truth.slices.columns[name]
        every = range(len(ours.slices))
        assert [column.value(i) for i in every] == [other.value(i) for i in every], name
    return all(plain)


def test_the_samples_are_plain_and_read_alike(data, monkeypatch):
    paths = sorted((data / "torq").glob("compile_*.csv"))
    assert len(paths) > 3
    for path in paths:
        assert same(path, monkeypatch), path


events = st.sampled_from(
    ["DI0", "DO1", "S2", "S3", "S3_0", "S12_1", "SX_1", "S_1", "CSS0", "CDMA_L2D24", "DI", "DMA In",
     "Slice 0", "Slice 1", "CSS", "X9", "", "DI0(", "S1_2_3"]
)  # fmt: skip
numbers = st.one_of(
    st.integers(0, 10**18 - 1).map(str),
    st.sampled_from(
        [
            "0",
            "007",
            "-5",
            " 7",
            "7 ",
            "1_0",
            "",
            "99999999",
            "100000000",
            "x",
            "9" * 19,
            "+5",
            "- 5",
            "-",
            "1e3",
            "0x10",
            "0" * 18 + "7",
            "-" + "0" * 20,
            "5\t",
            "1.0",
            "9" * 18,
            '"5"',
        ]
    ),
)
places = st.sampled_from(
    ["loc(unknown)", 'loc("a, b":1:2)', 'loc(fused["a":1:2, "b":3:4])', "loc()", "loc(", "loc)",
     'loc("é":1:2)', 'loc(callsite("(":1:2 at ")":3:4))']
)  # fmt: skip
tails = st.sampled_from(
    ["conv2d", "", "DMA_IN,1024", "a(b)", "add,", ",5", "a,b,c", "DMA_IN,x", "9"]
)
bare = st.tuples(events, numbers, numbers, places, tails).map(",".join)
with_ids = st.tuples(numbers, numbers, numbers, events, places, tails).map(",".join)
ends = st.sampled_from(["\n", "\n", "\n", "\r\n", "\n\n"])


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(bare, ends), max_size=5))
def test_rows_without_a_header_read_alike(tmp_path, monkeypatch, rows):
    path = tmp_path / "c0.csv"
    text = "DI0,0,1,loc(unknown),DMA_IN\n" + "".join(row + end for row, end in rows)
    path.write_bytes(text.encode())
    same(path, monkeypatch)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(with_ids, ends), max_size=5))
def test_rows_with_a_header_read_alike(tmp_path, monkeypatch, rows):
    path = tmp_path / "c3.csv"
    path.write_bytes((HEADER + "".join(row + end for row, end in rows)).encode())
    same(path, monkeypatch)


@pytest.mark.parametrize(
    "row",
    ["DI0,0,1\t,loc(unknown),DMA_IN", "DI0,0,0x1,loc(unknown),DMA_IN", "DI0,0,1,loc(unknown)",
     "DI0,0,1,lo(unknown),DMA_IN", "", "DI0,0,1,loc(unknown),a(b)", "DI0,0,1,loc(unknown),é",
     "DI0,0,1,loc(unknown),a\r"],
)  # fmt: skip
def test_a_row_that_is_not_plain_is_left_to_the_pattern(row):
    assert parsed_block(f"DI0,0,1,loc(unknown),DMA_IN\n{row}\n".encode(), False) is None


def test_one_long_event_of_digits_takes_no_time():
    block = parsed_block(b"S" + b"1" * 3_000_000 + b",0,1,loc(unknown),add\n", False)
    assert block is not None
    assert (len(block), block.location.distinct) == (1, ["loc(unknown)"])
