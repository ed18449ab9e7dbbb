"""The columns of a profile without starts that say what a layer is: keys of statistics."""

import json
import random

import pytest

import viewer
from tests.builders.command_line import run
from tests.paths import DATA
from viewer.analysis.statistics.group_keys import keys_named, keys_text
from viewer.formats import open_file
from viewer.model.trace import KeyKind

LAYERS = DATA / "layers"


def totals(capsys, path, key):
    """The time of each group in us, and whether they and the rest are the whole."""
    code, out, _ = run(capsys, "stats", "--by", key, "--json", str(path))
    assert code == 0
    facts = json.loads(out)
    (file,) = facts["files"]
    of_rows = sum(row["wall_ticks"] for row in facts["rows"])
    assert of_rows + file["ungrouped_ticks"] == file["whole_ticks"]
    return {row["label"]: row["wall_ns"] / 1000 for row in facts["rows"]}


@pytest.mark.parametrize(
    ("name", "key", "meant"),
    [
        ("aihub_profile.json", "unit", {"CPU": 940, "NPU": 217}),
        ("rknn_perf.txt", "unit", {"CPU": 1427, "NPU": 489}),
        ("rknn_perf.txt", "type", {"exSoftmax13": 1411, "ConvRelu": 489, "InputOperator": 9,
                                   "OutputOperator": 7}),
        ("tvm_profile.csv", "count", {"1": 512340.5, "3": 498001.25, "4": 611}),
        ("inspector_frame.csv", "backend", {"XnnpackBackend": 41.543}),
    ],
)  # fmt: skip
def test_groups_have_the_time_of_their_layers(capsys, name, key, meant):
    assert totals(capsys, LAYERS / name, key) == pytest.approx(meant, abs=0.001)


def test_layers_of_one_name_and_two_units_are_in_two_groups(capsys, tmp_path):
    path = tmp_path / "layers.csv"
    path.write_text("layer,unit,time_us\na,CPU,5\na,NPU,3\nb,NPU,2\nc,,4\n")
    assert totals(capsys, path, "unit") == {"CPU": 5, "NPU": 5}
    assert totals(capsys, path, "name") == {"a": 8, "b": 2, "c": 4}
    keys = open_file(str(path)).keys
    assert (len(keys), set(keys.kind.tolist())) == (4, {KeyKind.PLAIN})


def test_columns_of_measured_slices_are_no_keys(capsys, tmp_path):
    path = tmp_path / "slices.csv"
    path.write_text("name,start_us,dur_us,backend\na,0,5,x\nb,5,5,y\n")
    code, _, error = run(capsys, "stats", "--by", "backend", str(path))
    assert (code, "No layer states its backend" in error) == (1, True)


@pytest.mark.parametrize("seed", range(20))
def test_names_of_arguments_survive_as_text(seed):
    dice = random.Random(seed)
    names = ["".join(dice.choices('ab ,":=é', k=dice.randint(1, 8))) for _ in range(2)]
    keys = tuple(f"arg:{name}" for name in names)
    assert keys_named(keys_text(keys)) == keys
    assert keys_named(keys_text([keys[0], "name"])) == (keys[0], "name")


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ('arg:"Input, dims",name', ("arg:Input, dims", "name")),
        ('name, arg:"say ""a, b"""', ("name", 'arg:say "a, b"')),
        ("arg:Input Dims", ("arg:Input Dims",)),
        ('arg:5" pipe', ('arg:5" pipe',)),
    ],
)
def test_a_name_in_quotation_marks_can_have_a_comma(text, keys):
    assert keys_named(text) == keys


def test_three_keys_are_refused_but_not_commas_of_a_name():
    with pytest.raises(ValueError, match="3 keys"):
        keys_named('name,thread,arg:"a,b"')
    with pytest.raises(ValueError, match="is not a key"):
        keys_named('arg:""')


@pytest.mark.slow
def test_the_command_and_python_take_such_a_name(capsys, tmp_path):
    path = tmp_path / "run.json"
    events = [
        {"name": "a", "ph": "X", "ts": i, "dur": 1, "pid": 1, "tid": 1, "args": {"in, out": i % 2}}
        for i in range(5)
    ]
    path.write_text(json.dumps(events))
    quoted = 'arg:"in, out"'
    code, out, _ = run(capsys, "stats", "--by", f"name,{quoted}", "--json", str(path))
    assert code == 0
    rows = [(row["label"], row["then"], row["count"]) for row in json.loads(out)["rows"]]
    assert sorted(rows) == [("a", "0", 3), ("a", "1", 2)]
    _, out, _ = run(capsys, "stats", "--by", quoted, str(path))
    assert "Arg:in, out" in out
    frame = viewer.open(str(path)).stats(["arg:in, out", "name"])
    assert list(frame["then"]) == ["a", "a"]
