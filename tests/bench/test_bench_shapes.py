"""Reading unusual shapes next to as many slices of one track and one name.

python -m pytest tests/bench/test_bench_shapes.py --benchmark-enable -s

Prints CPU seconds; nothing is asserted about time.
"""

import time

import pytest

from tests.builders.bench_sizes import size
from tests.builders.unusual_shapes import overlapping, write_csv, write_json
from viewer.formats import open_file
from viewer.model.trace import Trace

TRACKS = size(100_000, 1_000)
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
