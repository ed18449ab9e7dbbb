"""Every profile of another runtime opens as its format, and none with its header alone."""

from contextlib import suppress

import pytest

from tests.builders.runtime_files import FILES
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.model.timing import Timing, timings

MEASURED = {"optrace.json", "cuda_gpu_trace.csv"}


@pytest.mark.parametrize("name", FILES)
def test_it_opens_as_its_format(tmp_path, name):
    text, title = FILES[name]
    path = tmp_path / "renamed.log"
    path.write_text(text)
    trace = open_file(str(path))
    assert trace.format == title
    assert len(trace.slices) > 1


@pytest.mark.parametrize("name", FILES)
def test_starts_are_placed_unless_the_file_states_them(tmp_path, name):
    path = tmp_path / name
    path.write_text(FILES[name][0])
    trace = open_file(str(path))
    is_placed = (timings(trace.slices) & Timing.PLACED) > 0
    assert (is_placed == (name not in MEASURED)).all()
    assert name in MEASURED or all(track.thread.startswith("placed · ") for track in trace.tracks)


@pytest.mark.parametrize("name", FILES)
def test_a_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path, name):
    text, _ = FILES[name]
    plain, marked = tmp_path / "a.csv", tmp_path / "b.csv"
    plain.write_text(text)
    marked.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    ours, other = open_file(str(plain)), open_file(str(marked))
    assert [ours.name(i) for i in range(len(ours.slices))] == [
        other.name(i) for i in range(len(other.slices))
    ]
    assert ours.slices.start.tolist() == other.slices.start.tolist()
    assert ours.slices.end.tolist() == other.slices.end.tolist()


@pytest.mark.parametrize("name", sorted(set(FILES) - {"optrace.json", "snpe.txt"}))
def test_a_table_without_rows_is_refused(tmp_path, name):
    text, _ = FILES[name]
    marks = ("Message", "node type", "[node type]", "NNG Operator", "Start (ns)", "Total Time")
    head = next((n for n, line in enumerate(text.split("\n")) if any(m in line for m in marks)), 8)
    path = tmp_path / name
    path.write_text("\n".join(text.split("\n")[: head + 1]) + "\n")
    with pytest.raises(UnreadableFile):
        open_file(str(path))


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_cut_anywhere_opens_or_is_refused(tmp_path, name):
    data = FILES[name][0].encode()
    path = tmp_path / name
    for end in range(1, len(data), 37):
        path.write_bytes(data[:end])
        with suppress(UnreadableFile):
            assert len(open_file(str(path)).slices)
