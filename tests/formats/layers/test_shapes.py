"""One table of layers in shapes of JSON and of printed texts: the same bars."""

import json
from fractions import Fraction

import pytest

from viewer.formats import open_file

NAMES, US = ["conv1", "relu 1", "3"], [510, 22.5, 1010.25]
ROWS = list(zip(NAMES, US, strict=True))


def lines(*rows):
    return "".join(f"{row}\n" for row in rows)


SHAPES = {
    "JSON lines": lines(*(json.dumps({"layer": n, "time_us": us}) for n, us in ROWS)),
    "JSON lines with others": lines(
        *(json.dumps({"layer": n, "op": "x", "shape": [1, 2], "time_us": us}) for n, us in ROWS)
    ),
    "keys": json.dumps({n: {"time_us": us, "op": "x"} for n, us in ROWS}, indent=1),
    "keys in a part": json.dumps({"model": "m", "layers": {n: {"time_us": us} for n, us in ROWS}}),
    "pandas' split": json.dumps({"columns": ["layer", "time_us"], "data": ROWS}),
    "headers and rows": json.dumps({"headers": ["layer", "avg (us)"], "rows": ROWS}),
    "pandas' print": lines(
        "    layer    op  time_us", *(f"{i:<4}{n:>5}  Conv  {us:7.2f}"
                                     for i, (n, us) in enumerate(ROWS))
    ),
    "bold Markdown": lines("| **Layer** | **Time (us)** |", "|---|--:|",
                           *(f"| **{n}** | `{us}` |" for n, us in ROWS)),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_has_the_same_bars(shape, tmp_path):
    path = tmp_path / "table.txt"
    path.write_text(SHAPES[shape])
    assert bars(path) == ([(name, Fraction(us)) for name, us in ROWS], ())


def bars(path):
    trace = open_file(str(path))
    s, per_us = trace.slices, trace.clock.ns_per_tick / 1000
    found = [(trace.name(i), int(s.end[i] - s.start[i]) * per_us) for i in range(len(s))]
    return found, tuple((one.kind, one.count) for one in trace.problems)


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_last_line_that_is_cut_is_counted(cut, tmp_path):
    path = tmp_path / "table.jsonl"
    path.write_text(SHAPES["JSON lines"][: -1 - cut])
    assert bars(path) == (
        [(name, Fraction(us)) for name, us in ROWS[:-1]], (("line that is no JSON: left out", 1),)
    )  # fmt: skip
