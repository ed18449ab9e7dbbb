"""The first part of a file has exactly the slices of a file that ends there."""

import gzip
from fractions import Fraction

import numpy as np
import pytest

from tests.builders.many_slices import trace as many
from tests.paths import DATA
from viewer.export.perfetto.writer import PerfettoSource, export_perfetto
from viewer.formats import UnreadableFile, open_file
from viewer.model.timing import Timing, timings
from viewer.model.trace import Trace

HALF = Fraction(1, 2)
LINES = {
    "runtime": DATA / "torq" / "runtime_r0_nss.csv",
    "host": DATA / "torq" / "host_h4_latest_2inv.csv",
    "annotated": DATA / "torq" / "annotated_a3_latest_2inv.csv",
    "compile": DATA / "torq" / "compile_c3_taskid.csv",
    "table": DATA / "table_csv" / "two_threads.csv",
}
EVENTS = b",\n".join(
    b'{"ph":"%c","name":"op %d","pid":1,"tid":1,"ts":%d}' % (b"BE"[i % 2], i // 2, i)
    for i in range(1001)
)


def same_slices(part: Trace, prefix: Trace) -> bool:
    """Whether both have the same slices; the part says that it is one."""
    assert part.problems[0].kind.startswith("Only the first ")
    names = [[trace.strings[n] for n in trace.slices.name.tolist()] for trace in (part, prefix)]
    return names[0] == names[1] and all(
        np.array_equal(getattr(part.slices, name), getattr(prefix.slices, name))
        for name in ("start", "end", "source_row")
    )


@pytest.mark.parametrize("name", LINES)
def test_rows(name, tmp_path):
    data = LINES[name].read_bytes()
    prefix = tmp_path / LINES[name].name
    prefix.write_bytes(data[: data.rindex(b"\n", 0, (len(data) + 1) // 2) + 1])
    part, all_of_it = open_file(str(LINES[name]), part=HALF), open_file(str(LINES[name]))
    assert same_slices(part, open_file(str(prefix)))
    assert 0 < len(part.slices) < len(all_of_it.slices)


def test_a_chrome_trace_whose_last_begin_has_no_end(tmp_path):
    path, prefix = tmp_path / "trace.json", tmp_path / "prefix.json"
    path.write_bytes(b'{"traceEvents":[' + EVENTS + b"]}")
    prefix.write_bytes(path.read_bytes()[: -(-path.stat().st_size // 2)])
    part = open_file(str(path), part=HALF)
    assert same_slices(part, open_file(str(prefix)))
    kinds = [problem.kind for problem in part.problems]
    assert not any("the file ends" in kind for kind in kinds)
    durations = part.slices.end - part.slices.start
    assert set(durations.tolist()) <= {0, 1000}
    is_open = timings(part.slices) == Timing.UNFINISHED
    assert (durations[is_open] == 0).all(), "nothing comes after the last begin"
    assert (durations == 0).sum() == is_open.sum()
    assert is_open.sum() == sum("without an end" in kind for kind in kinds)


def test_a_packed_chrome_trace(tmp_path):
    path, prefix = tmp_path / "trace.json.gz", tmp_path / "prefix.json.gz"
    path.write_bytes(gzip.compress(b'{"traceEvents":[' + EVENTS + b"]}"))
    prefix.write_bytes(path.read_bytes()[: -(-path.stat().st_size // 2)])
    part = open_file(str(path), part=HALF)
    assert same_slices(part, open_file(str(prefix)))
    assert 0 < len(part.slices) < 500
    assert not any("truncated" in problem.kind for problem in part.problems)


@pytest.mark.slow
def test_a_perfetto_trace(tmp_path):
    path, prefix = tmp_path / "many.pftrace", tmp_path / "prefix.pftrace"
    export_perfetto([PerfettoSource.of(many(20_000))], path)
    prefix.write_bytes(path.read_bytes()[: -(-path.stat().st_size // 2)])
    part = open_file(str(path), part=HALF)
    assert same_slices(part, open_file(str(prefix)))
    assert not any("truncated" in problem.kind for problem in part.problems)


def test_a_format_that_is_not_read_in_order_says_so():
    with pytest.raises(UnreadableFile, match="ETDump cannot be opened in part"):
        open_file(str(DATA / "etdump" / "cnn_xnnpack_x10.etdp"), part=HALF)
