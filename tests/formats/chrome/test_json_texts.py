"""JSON lines and JSON in UTF-16 have the slices of the same events as one JSON in UTF-8."""

import gzip
import json
from fractions import Fraction

import pytest

from viewer.formats import open_file

EVENTS = [
    {"name": f"größe {n}", "ph": "X", "ts": 10 * n, "dur": 5, "pid": 1, "tid": 1} for n in range(9)
]
ONE = json.dumps({"traceEvents": EVENTS}, ensure_ascii=False)
LINES = "".join(f"{json.dumps(event)}\n" for event in EVENTS)


@pytest.mark.parametrize(
    "data",
    [LINES.encode(), LINES.replace("\n", "\r\n").encode(), LINES.replace("}\n", "},\n").encode(),
     LINES.encode("utf-16"), ONE.encode("utf-16"), b"\xfe\xff" + ONE.encode("utf-16-be"),
     b"\xef\xbb\xbf" + LINES.encode(), gzip.compress(LINES.encode()),
     gzip.compress(ONE.encode("utf-16"))],
)  # fmt: skip
def test_other_texts_of_the_same_events(data, tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(data)
    trace = open_file(str(path))
    assert trace.path == str(path)
    assert [trace.name(i) for i in range(len(trace.slices))] == [e["name"] for e in EVENTS]
    assert trace.problems == ()


def test_a_damaged_line_is_counted(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(LINES.replace('"ts": 40, ', '"ts": 4'))
    trace = open_file(str(path))
    assert len(trace.slices) == 8
    assert sum(problem.count for problem in trace.problems) >= 1


def test_a_cut_gzip_of_lines_shows_those_before_and_says_so(tmp_path):
    path = tmp_path / "a.json.gz"
    lines = "".join(f"{json.dumps({**EVENTS[0], 'ts': n * n % 977})}\n" for n in range(2000))
    path.write_bytes(gzip.compress(lines.encode())[:-600])
    trace = open_file(str(path))
    assert 0 < len(trace.slices) < 2000
    assert "the gzip is truncated: the content before it was read" in [
        problem.kind for problem in trace.problems
    ]


def test_a_part_of_the_lines_is_that_part_of_them(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(LINES * 100)
    assert 400 < len(open_file(str(path), part=Fraction(1, 2)).slices) < 500
