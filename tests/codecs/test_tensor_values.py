"""Values of stored tensors: every dtype, strides, blocks, and what cannot be read."""

import numpy as np
import pytest

from viewer.codecs.file_bytes import FileBytes
from viewer.codecs.tensor_values import StoredTensor, TensorLayout, same_shape, scalar


def stored(values, dtype, **more):
    data = np.frombuffer(np.ascontiguousarray(values).tobytes(), np.uint8)
    return StoredTensor(TensorLayout(dtype, np.shape(values), **more), data)


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [("u8", "u1"), ("i8", "i1"), ("i16", "<i2"), ("i32", "<i4"), ("i64", "<i8"), ("u16", "<u2"),
     ("u32", "<u4"), ("u64", "<u8"), ("f16", "<f2"), ("f32", "<f4"), ("f64", "<f8"), ("qi8", "i1"),
     ("qu8", "u1"), ("qi32", "<i4"), ("bits8", "u1"), ("bits16", "<u2")],
)  # fmt: skip
def test_numbers_are_those_that_are_stored(dtype, kind):
    values = np.array([[0, 1, 100], [7, 3, 2]]).astype(kind)
    assert (stored(values, dtype).array == values).all()


def test_a_bool_is_0_or_1():
    assert stored(np.array([0, 1, 2, 255], np.uint8), "bool").array.tolist() == [0, 1, 1, 1]


def test_bfloat16_is_the_upper_half_of_a_float():
    values = np.array([1.0, -2.5, np.inf, 3.140625, 0.0], np.float32)
    halves = (values.view(np.uint32) >> 16).astype(np.uint16)
    assert stored(halves, "bf16").array.tolist() == values.tolist()


@pytest.mark.parametrize(
    ("dtype", "bits", "values"),
    [
        ("f8e5m2", [0x01, 0x3C, 0x7B, 0x7C, 0xFC], [2.0**-16, 1.0, 57344.0, np.inf, -np.inf]),
        ("f8e4m3fn", [0x01, 0x38, 0x7E, 0xB8], [2.0**-9, 1.0, 448.0, -1.0]),
        ("f8e5m2fnuz", [0x01, 0x40, 0x7F], [2.0**-17, 1.0, 57344.0]),
        ("f8e4m3fnuz", [0x01, 0x40, 0x7F], [2.0**-10, 1.0, 240.0]),
    ],
)
def test_floats_of_8_bits(dtype, bits, values):
    assert stored(np.array(bits, np.uint8), dtype).array.tolist() == values
    missing = {"f8e5m2": 6, "f8e4m3fn": 2}.get(dtype, 1)
    every = stored(np.arange(256, dtype=np.uint8), dtype).array
    assert int(np.isnan(every).sum()) == missing


def test_strides_order_the_values_by_their_indexes():
    values = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
    last = values.transpose(0, 2, 3, 1)  # channels last
    data = np.frombuffer(np.ascontiguousarray(last).tobytes(), np.uint8)
    tensor = StoredTensor(TensorLayout("f32", (2, 3, 4, 5), (60, 1, 15, 3)), data)
    assert (tensor.array == values).all()
    assert [len(block) for block in tensor.blocks(50)] == [50, 50, 20]
    assert np.concatenate(list(tensor.blocks(7))).tolist() == list(range(120))
    part = np.concatenate(list(tensor.blocks(7, start=10, stop=31)))
    assert part.tolist() == list(range(10, 31))


def test_values_may_start_at_any_byte():
    values = np.array([1.5, -2.0], np.float64)
    data = np.frombuffer(b"abc" + values.tobytes() + b"d", np.uint8)
    assert StoredTensor(TensorLayout("f64", (2,)), data, 3).array.tolist() == [1.5, -2.0]


def test_values_of_a_file_are_those_of_memory(tmp_path):
    raw = np.random.default_rng(1).integers(0, 256, 3 + 4 * 5000, np.uint8)
    (tmp_path / "a.bin").write_bytes(raw.tobytes())
    file = FileBytes(str(tmp_path / "a.bin"))
    for layout in (TensorLayout("i32", (5, 1000)), TensorLayout("i32", (5, 1000), (1, 5))):
        for start, stop in ((0, None), (17, 18), (4000, 4999)):
            own, other = (
                list(StoredTensor(layout, data, 3).blocks(300, start=start, stop=stop))
                for data in (raw, file)
            )
            assert [a.tolist() for a in own] == [b.tolist() for b in other]


def test_an_empty_tensor_needs_no_bytes():
    tensor = StoredTensor(TensorLayout("f32", (3, 0)), np.empty(0, np.uint8), -1)
    assert (tensor.count, list(tensor.blocks()), tensor.array.shape) == (0, [], (3, 0))


@pytest.mark.parametrize(
    ("layout", "offset", "reason"),
    [
        (TensorLayout("f32", (10,)), 1, "tensor outside its buffer"),
        (TensorLayout("f32", (10,)), -1, "tensor outside its buffer"),
        (TensorLayout("u8", (1 << 40, 1 << 40)), 0, "tensor outside its buffer"),
        (TensorLayout("f32", (-1, 2)), 0, "tensor with a negative size"),
        (TensorLayout("f32", (2, 2), (1, 1)), 0, "tensor whose values overlap"),
        (TensorLayout("f32", (1 << 40,), (0,)), 0, "tensor whose values overlap"),
        (TensorLayout("f32", (3,), (-1,)), 0, "tensor whose values overlap"),
        (TensorLayout("f32", (3,), (1, 1)), 0, "tensor with another number of strides than sizes"),
        (TensorLayout("c64", (1,)), 0, "values of type c64 cannot be read"),
        (TensorLayout("qu4x2", (1,)), 0, "values of type qu4x2 cannot be read"),
    ],
)
def test_what_cannot_be_read_says_why(layout, offset, reason):
    with pytest.raises(ValueError, match=reason):
        StoredTensor(layout, np.zeros(40, np.uint8), offset)


def test_the_index_of_a_value():
    tensor = stored(np.zeros((2, 3, 4), np.float32), "f32")
    assert [tensor.index(i) for i in (0, 5, 23)] == [(0, 0, 0), (0, 1, 1), (1, 2, 3)]


def test_single_numbers():
    assert scalar("i64", -7).array.tolist() == -7
    assert scalar("bool", True).array.tolist() == 1
    assert scalar("f64", 0.5).layout.text == "f64 scalar"


def test_shapes_are_the_same_but_for_dimensions_of_size_1():
    assert same_shape((1, 16, 6), (16, 6))
    assert same_shape((), (1,))
    assert not same_shape((16, 6), (6, 16))
