"""The columns of a profile without starts that say what a layer is: keys of statistics."""

import json

import pytest

from tests.builders.command_line import run
from tests.paths import DATA
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
