"""The expected outputs in bundled programs."""

import random

import numpy as np
import pytest

from tests.paths import DATA
from viewer.codecs.reading import UnreadableFile
from viewer.codecs.tensor_values import StoredTensor, TensorLayout
from viewer.formats.executorch.pte.bundled_outputs import is_bundled, read_bundled_cases

BUNDLE = DATA / "numbers/mixed.bpte"


def test_every_case_of_a_method_has_its_outputs():
    bundle = read_bundled_cases(str(BUNDLE))
    assert [(case.method, case.number) for case in bundle.cases] == [("forward", 0), ("forward", 1)]
    layouts = [[one.layout for one in case.outputs] for case in bundle.cases]
    assert layouts == [[TensorLayout("f32", (1, 16, 3))] * 2] * 2
    first, second = (
        [StoredTensor(one.layout, bundle.file, one.offset).array for one in case.outputs]
        for case in bundle.cases
    )
    assert not np.allclose(first[0], second[0])
    # The second output is a running sum over 16 rows, the first a weighted part of its steps.
    steps = np.diff(second[1], axis=1, prepend=0)
    assert (np.abs(second[0]) <= np.abs(steps) + 1e-6).all()


def test_other_files_are_no_bundles(tmp_path):
    assert is_bundled(str(BUNDLE))
    for name in ("pte/cond.pte", "numbers/portable.etdp", "gone"):
        assert not is_bundled(str(DATA / name))
        with pytest.raises(UnreadableFile, match="not a bundled program"):
            read_bundled_cases(str(DATA / name))


def test_damaged_bundles_give_one_error(tmp_path):
    whole, dice, path = BUNDLE.read_bytes(), random.Random(5), tmp_path / "a.bpte"
    for _ in range(200):
        raw = bytearray(whole)
        for _ in range(dice.randint(1, 5)):
            at = dice.choice([dice.randrange(400), dice.randrange(len(raw))])
            if not 4 <= at < 8:
                raw[at] = dice.randrange(256)
        path.write_bytes(raw[: dice.choice([len(raw), dice.randrange(100, len(raw))])])
        try:
            bundle = read_bundled_cases(str(path))
        except UnreadableFile:
            continue
        for one in (one for case in bundle.cases for one in case.outputs):
            if not one.fault and one.number is None:
                list(StoredTensor(one.layout, bundle.file, one.offset).blocks())
