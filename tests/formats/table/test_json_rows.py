"""JSON with an object for each slice opens as the CSV of the same rows does."""

import csv
import io
import json
import random

import numpy as np
import pytest

from viewer.codecs.reading import UnreadableFile
from viewer.formats import JSON_TABLE, PLAIN_CSV, open_file
from viewer.formats.zipped import table_layout

NAMES = ("name", "op", "Event Name", "layer")
TIMES = (
    ("start_us", "dur_us"), ("Start (ns)", "duration (ns)"), ("begin_ms", "end_ms"),
    ("ts_us", "elapsed_ns"), ("start_s", "dur_ms"),
)  # fmt: skip
THREADS = ("thread", "tid", "core", "")


def generated(seed):
    """Keys and rows, with numbers as JSON writes them; some keys are missing in some rows."""
    draw = random.Random(seed)
    name, thread, (start, length) = draw.choice(NAMES), draw.choice(THREADS), draw.choice(TIMES)
    keys = [name, start, length, *filter(None, [thread]), "shape", "note"]
    draw.shuffle(keys)
    rows = []
    for index in range(draw.randint(2, 40)):
        whole, fraction = 10 * index, draw.choice(["", ".5", ".000001", ".25"])
        row = {
            name: draw.choice(["conv", 'relu "x"', "a, b", "größe"]),
            start: f"{154471266 + whole}{fraction}",
            length: f"{154471271 + whole}{fraction}" if "end" in length else f"5{fraction}",
            thread: str(draw.randint(0, 2)),
            "shape": "[1, 3, 224]",
            "note": draw.choice(["null", '"x"', "true"]),
        }
        rows.append({key: row[key] for key in keys if key != "note" or draw.random() < 0.7})
    return keys, rows, {name}


def as_object(row, texts):
    cells = (
        f"{json.dumps(key)}: {json.dumps(value) if key in texts else value}"
        for key, value in row.items()
    )
    return "{" + ", ".join(cells) + "}"


def as_json(rows, texts, shape):
    objects = [as_object(row, texts) for row in rows]
    array = "[" + ",\n".join(objects) + "]"
    return {
        "array": array,
        "lines": "\n".join(objects) + "\n",
        "in an object": f'{{"model": "m", "meta": {{"runs": 3}}, "nodes": {array}}}',
        "in parts": f'{{"parts": [{{"slices": {array}}}]}}',
    }[shape]


def as_csv(keys, rows):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(keys)
    texts = {"null": "", '"x"': "x"}
    writer.writerows([[texts.get(cell := row.get(key, ""), cell) for key in keys] for row in rows])
    return out.getvalue()


@pytest.mark.parametrize("shape", ["array", "lines", "in an object", "in parts"])
@pytest.mark.parametrize("seed", range(8))
def test_rows_have_the_slices_of_the_same_csv(seed, shape, tmp_path):
    keys, rows, texts = generated(seed)
    (tmp_path / "rows.json").write_text(as_json(rows, texts, shape))
    (tmp_path / "rows.csv").write_text(as_csv(keys, rows))
    trace, same = (open_file(str(tmp_path / f"rows.{suffix}")) for suffix in ("json", "csv"))
    assert (trace.format, same.format) == (JSON_TABLE, PLAIN_CSV)
    assert trace.clock == same.clock
    assert [t.thread for t in trace.tracks] == [t.thread for t in same.tracks]
    for column in ("start", "end", "row_ptr", "row_depth", "source_row"):
        assert np.array_equal(getattr(trace.slices, column), getattr(same.slices, column))
    count = len(trace.slices)
    assert [trace.name(i) for i in range(count)] == [same.name(i) for i in range(count)]
    assert trace.slices.columns.keys() == same.slices.columns.keys()
    assert trace.problems == same.problems


def test_what_is_no_row_is_counted_with_its_place(tmp_path):
    path = tmp_path / "rows.jsonl"
    good = '{"op": "conv", "start_ns": 1, "dur_ns": 2}'
    bad = '{"op": "relu", "start_ns": "x", "dur_ns": 2}'
    path.write_text("\n".join([good, good, bad, '{"op": "cut", "sta']))
    trace = open_file(str(path))
    problems = {problem.kind: (problem.count, problem.first) for problem in trace.problems}
    assert len(trace.slices) == 2
    assert problems.pop("line that is no JSON: left out") == (1, "line 4")
    ((count, first),) = problems.values()
    assert count == 1
    assert first.startswith("object 3")


def test_a_unit_that_no_key_states_is_asked_for(tmp_path):
    path = tmp_path / "rows.json"
    path.write_text('[{"name": "a", "ts": 1, "dur": 2}]')
    with pytest.raises(UnreadableFile, match="does not show the unit of ts and dur"):
        open_file(str(path))
    trace = open_file(str(path), columns="unit=us")
    assert int(trace.slices.end[0]) * trace.clock.ns_per_tick == 3000
    assert table_layout(str(path)).names == ("name", "ts", "dur")


@pytest.mark.parametrize(
    "text",
    [
        '[{"name": "a", "start_us": 1, "dur_us": 2}, {"name": ',
        '[{"name": "a", "start_us": 1, "dur_us": 2}] x',
        '{"x": [{"name": "a", "start_us": 1, "dur_us": 2}]' + "[" * 100_000,
    ],
)
def test_damaged_json_is_refused(text, tmp_path):
    path = tmp_path / "rows.json"
    path.write_text(text)
    with pytest.raises(UnreadableFile, match="its JSON is damaged"):
        open_file(str(path))


@pytest.mark.parametrize("seed", range(6))
def test_lines_and_bytes_that_cannot_be_read_are_counted_where_they_are(seed, tmp_path):
    """Empty lines count as lines of the file, though they are no rows."""
    draw = random.Random(seed)
    kinds = [draw.choice(["row", "row", "row", "", "cut", "5"]) for _ in range(30)]
    texts = {"row": '{"op": "a", "start_ns": 1, "dur_ns": 2}', "": "", "cut": '{"op": "a", "sta',
             "5": "5"}  # fmt: skip
    kinds[:2], bad_bytes = ["row", "row"], draw.randint(0, 3)
    path = tmp_path / "rows.jsonl"
    lines = [texts[kind].encode() for kind in kinds]
    lines[0] = b'{"op": "a' + b"\xff" * bad_bytes + b'", "start_ns": 1, "dur_ns": 2}'
    path.write_bytes(b"\n".join(lines))
    trace = open_file(str(path))
    counted = {problem.kind: (problem.count, problem.first) for problem in trace.problems}
    assert len(trace.slices) == kinds.count("row")
    wanted = {}
    if bad_bytes:
        wanted["invalid UTF-8: replaced"] = bad_bytes, ""
    if "cut" in kinds:
        wanted["line that is no JSON: left out"] = (
            kinds.count("cut"), f"line {kinds.index('cut') + 1}"
        )  # fmt: skip
    if "5" in kinds:
        wanted["item that is no object: left out"] = kinds.count("5"), ""
    assert counted == wanted
