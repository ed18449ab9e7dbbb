"""Which value is compared with which reference."""

import json

import numpy as np
import pytest

from tests.builders.logged_runs import LoggedRun, floats
from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.analysis.numbers.compared import (
    ONLY_A,
    ONLY_B,
    RESULT,
    compared,
    key_text,
    paired_arrays,
    paired_outputs,
    paired_runs,
)
from viewer.analysis.numbers.logged_values import unreadable, value_of
from viewer.codecs.tensor_values import TensorLayout
from viewer.formats.executorch.logged_profile import array_values, logged_profile
from viewer.formats.npz import NpzFile

FOLDER = DATA / "numbers"


def profile(path, *more):
    workspace = workspace_of(*more)
    return logged_profile(workspace.links(workspace.open(str(path))))


def side(path, *more):
    found = profile(path, *more)
    return found.side(found.inferences[0])


def real(name):
    return side(FOLDER / f"{name}.etdp", FOLDER / f"{name}.etrecord")


def array(values):
    values = np.asarray(values, np.float32)
    return value_of(TensorLayout("f32", values.shape), values.reshape(-1).view(np.uint8))


def one_run(tmp_path, *calls, name="run", **more):
    run = LoggedRun()
    run.inference(*calls, **more)
    return side(run.write(tmp_path, name)[0])


@pytest.mark.parametrize("name", ["portable", "xnnpack"])
def test_gaps_to_arrays_equal_those_of_the_official_inspector(name):
    one = real(name)
    pairs, unused = paired_arrays(one, array_values(NpzFile(str(FOLDER / "reference.npz"))))
    found = {
        key_text(value.pair.handles): value.gap
        for value in compared(pairs, one.table.program)
        if value.gap is not None
    }
    official = json.loads((FOLDER / "official.json").read_text())[name]
    assert found.keys() == official.keys()
    for handles, gap in official.items():
        own = found[handles]
        assert (own.mse, own.l1, own.snr) == pytest.approx(
            (gap["mse"], gap["l1"], gap["snr"]), rel=1e-6, abs=0
        )
    # What XNNPACK computes inside a call has no logged value, nor has a view.
    inside = ["1", "2", "3", "6", "7", "10"]
    assert list(map(key_text, unused)) == (["3"] if name == "portable" else inside)


def test_kernels_are_paired_with_the_delegate_call_that_took_them_over():
    pairs = paired_runs(real("xnnpack"), real("portable"))
    labels = [(pair.label, pair.label_of_reference, pair.result) for pair in pairs]
    assert labels == [
        ("XnnpackBackend · 4 ops", "transpose", None),
        ("norm · layer_norm", "norm · layer_norm", 0),
        ("norm · layer_norm", "norm · layer_norm", 1),
        ("norm · layer_norm", "norm · layer_norm", 2),
        ("XnnpackBackend · 3 ops", "fc2 · linear", None),
        ("split", "split", 0),
        ("split", "split", 1),
        ("cumsum", "cumsum", None),
        ("XnnpackBackend · 2 ops", "mul", None),
        ("outputs", "outputs", 0),
        ("outputs", "outputs", 1),
    ]
    assert pairs[0].handles == (1, 2, 3, 4)
    assert pairs[0].why == (
        "same shapes, data types, outputs, source line and module; "
        "same shapes, data types, inputs, outputs, source line and module"
    )
    assert pairs[-1].why == RESULT
    assert all(value.gap.snr > 120 for value in compared(pairs, None))


def test_without_records_equal_kernels_are_paired_in_their_order(tmp_path):
    add, mul, relu = (name + ".out" for name in ("add", "mul", "relu"))
    a = one_run(tmp_path, (add, [floats(1)]), (relu, [floats(2)]), (add, [floats(3)]), name="a")
    b = one_run(tmp_path, (add, [floats(1)]), (mul, [floats(9)]), (add, [floats(4)]), name="b")
    found = [
        (
            pair.label,
            pair.why,
            *(v and v.open().array.tolist() for v in (pair.value, pair.reference)),
        )
        for pair in paired_runs(a, b)
    ]
    assert found == [
        (add, "same name", [1], [1]),
        (relu, ONLY_A, [2], None),
        (add, "same name", [3], [4]),
        (mul, ONLY_B, None, [9]),
    ]


def test_another_number_of_results_is_paired_by_shape(tmp_path):
    values = [floats(1, 2), floats(5), floats(6)]
    a = one_run(tmp_path, ("norm.out", values), name="a")
    b = one_run(tmp_path, ("norm.out", [floats(1, 3)]), name="b")
    (pair,) = paired_runs(a, b)
    assert pair.value.open().array.tolist() == [1, 2]
    (pair,) = paired_runs(b, a)
    assert pair.reference.open().array.tolist() == [1, 2]


def test_arrays_may_have_labels_sets_and_names_of_outputs():
    one = real("xnnpack")
    keys = ("1,4,3,2", "norm · layer_norm", "fc2 · linear", "output_1", "output_7", "nothing")
    shapes = [(16, 8), (1, 16, 8), (1, 16, 6), (1, 16, 3), (1, 16, 3), (2,)]
    arrays = {
        (tuple(map(int, key.split(","))) if key[0].isdigit() else key): array(np.ones(shape))
        for key, shape in zip(keys, shapes, strict=True)
    }
    pairs, unused = paired_arrays(one, arrays)
    found = {pair.label_of_reference: pair for pair in pairs if pair.reference is not None}
    assert list(found) == ["1,4,3,2", "norm · layer_norm", "fc2 · linear", "output_1"]
    assert found["fc2 · linear"].label == "XnnpackBackend · 3 ops"
    assert found["norm · layer_norm"].value.layout.sizes == (1, 16, 8)
    assert (found["output_1"].label, found["output_1"].result) == ("output 1", 1)
    assert unused == ["output_7", "nothing"]


def test_a_label_of_several_rows_names_none(tmp_path):
    calls = [("add.out", [floats(1)]), ("add.out", [floats(2)]), ("mul.out", [floats(3)])]
    one = one_run(tmp_path, *calls)
    pairs, unused = paired_arrays(one, {"add.out": array([1]), "mul.out": array([3])})
    assert [pair.label for pair in pairs if pair.reference is not None] == ["mul.out"]
    assert unused == ["add.out"]


def test_expected_outputs_are_paired_in_their_order(tmp_path):
    one = one_run(tmp_path, ("add.out", [floats(1)]), outputs=[floats(1), floats(2)])
    expected = [array([1]), unreadable(TensorLayout("c64", (1,)), "why"), array([3])]
    pairs = paired_outputs(one, expected)
    assert [pair.why for pair in pairs] == [RESULT, RESULT, ONLY_B]
    assert [value.fault for value in compared(pairs, None)] == ["", "reference: why", ONLY_B]
    assert [pair.why for pair in paired_outputs(one, [])] == [ONLY_A, ONLY_A]
