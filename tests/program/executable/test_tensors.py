"""Tensors as text: static, bounded and unbounded shapes."""

import numpy as np

from viewer.program.executable.tensors import Dynamism, Tensors


def tensors() -> Tensors:
    count, none = 4, np.full(4, -1)
    return Tensors(
        value=np.arange(count),
        dtype=np.array([0, 1, 0, 0], np.uint32),
        first=np.array([0, 2, 2, 3, 4]),
        extents=np.array([1, 8, 5, 6]),
        size=none,
        memory=none,
        offset=none,
        constant=none,
        is_external=np.zeros(count, np.bool_),
        name=np.array([0, -1, -1, -1]),
        is_input=np.zeros(count, np.bool_),
        is_output=np.zeros(count, np.bool_),
        dynamism=np.array([0, 0, Dynamism.BOUND, Dynamism.UNBOUND], np.uint8),
        dtypes=("f32", "i64"),
        names=("fc.weight",),
    )


def test_dtype_and_shape_as_text():
    assert [tensors().text(i) for i in range(4)] == [
        "f32 1 × 8", "i64 scalar", "f32 up to 5", "f32, any shape",
    ]  # fmt: skip


def test_shapes_and_names():
    assert [tensors().shape(i) for i in range(3)] == [(1, 8), (), (5,)]
    assert [tensors().named(i) for i in range(2)] == ["fc.weight", ""]


def test_no_tensors():
    assert len(Tensors.empty()) == 0
