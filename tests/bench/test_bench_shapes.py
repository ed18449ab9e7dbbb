"""Reading and drawing unusual shapes next to as many slices of one track and one name.

python -m pytest tests/bench/test_bench_shapes.py --benchmark-enable -s

Prints CPU seconds; nothing is asserted about time.
"""

import time

import pytest

from tests.builders.bench_sizes import size
from tests.builders.unusual_shapes import overlapping, write_csv, write_json
from tests.gui.dark_theme import dark_theme
from tests.gui.timeline_harness import TimelineHarness
from viewer.formats import open_file
from viewer.gui.qt.background import Latest
from viewer.model.trace import Trace
from viewer.view.state import SliceRef

pytestmark = pytest.mark.nightly

TRACKS = size(100_000, 1_000)
SHOWN_TRACKS = size(10_000, 1_000)
NAMES = size(1_000_000, 10_000)


def read_seconds(path) -> tuple[float, Trace]:
    began = time.process_time()
    trace = open_file(str(path))
    assert isinstance(trace, Trace)
    return time.process_time() - began, trace


@pytest.mark.parametrize("write", [write_csv, write_json], ids=["csv", "chrome"])
def test_many_tracks_and_names_are_read(tmp_path, write):
    print()
    for count, shapes in (
        (TRACKS, ("a thread each", "a process each")),
        (NAMES, ("a name each",)),
    ):
        for shape in ("one track", *shapes):
            took, trace = read_seconds(write(tmp_path / "shape", shape, count))
            print(f"{count} slices, {shape}: {took:.2f} s")
            assert len(trace.slices) == count


def test_a_lane_for_each_slice_is_laid_out():
    print()
    for lanes in (False, True):
        began = time.process_time()
        trace = overlapping(NAMES, lanes=lanes)
        took = time.process_time() - began
        print(f"{NAMES} slices, {'a lane each' if lanes else 'one row'}: {took:.2f} s")
        assert len(trace.slices.row_ptr) - 1 == (NAMES if lanes else 1)


def test_the_first_frame_of_the_timeline_and_a_click(qtbot, tmp_path):
    made = {
        "one row": overlapping(NAMES, lanes=False),
        "a lane each": overlapping(NAMES, lanes=True),
        "a name each": open_file(str(write_csv(tmp_path / "names", "a name each", NAMES))),
        "a track each": open_file(
            str(write_csv(tmp_path / "tracks", "a thread each", SHOWN_TRACKS))
        ),
    }
    print()
    for shape, trace in made.items():
        assert isinstance(trace, Trace)
        harness = TimelineHarness(qtbot, dark_theme())
        began = time.process_time()
        harness.session.add([trace])
        qtbot.waitUntil(lambda one=harness: bool(one.session.traces), timeout=60_000)
        picture = harness.timeline.grab()
        first = time.process_time() - began
        began = time.thread_time()
        harness.session.select_slice(SliceRef(0, len(trace.slices) // 2))
        click = time.thread_time() - began
        tasks = harness.window.findChildren(Latest)
        qtbot.waitUntil(lambda own=tasks: not any(t.pending for t in own), timeout=60_000)
        harness.put_away()
        count = len(trace.slices)
        print(f"{count} slices, {shape}: first frame {first:.2f} s, click {click * 1e3:.0f} ms")
        assert not picture.isNull()
