"""Where the tensors of debug events are: dtype, shape, strides and offset, also in lists."""

import numpy as np
import pytest

from tests.builders.etdump_writer import F32, I64, Run, Single, Tensor, operator, write_dump
from tests.paths import DATA
from viewer.codecs.reading import UnreadableFile
from viewer.codecs.tensor_values import TensorLayout
from viewer.formats import open_file
from viewer.formats.executorch.debug_buffer import read_debug_tensors
from viewer.model.trace import UntimedKind, ValueType

BF16, HALF_PACKED = 15, 16


def dump(path, *values, **more):
    events = [{"debug": value, "instruction": i} for i, value in enumerate(values)]
    return str(write_dump(path, [Run("Execute", [*events, operator("a", 0, 1, 2)])], **more))


def test_tensors_have_their_layout_and_place(tmp_path):
    tensors = read_debug_tensors(
        dump(tmp_path / "a.etdp", Tensor(F32, (2, 3), 0), 7, Tensor(I64, (), 64),
             Tensor(BF16, (2, 2), 72, (1, 2)))
    )  # fmt: skip
    assert tensors.row.tolist() == [0, 2, 3]
    assert tensors.of_event(0) == [(TensorLayout("f32", (2, 3)), 0)]
    assert tensors.of_event(1) == []
    assert tensors.of_event(2) == [(TensorLayout("i64", ()), 64)]
    assert tensors.of_event(3) == [(TensorLayout("bf16", (2, 2), (1, 2)), 72)]
    assert tensors.end == 80


def test_strides_in_row_major_order_are_left_out(tmp_path):
    path = dump(tmp_path / "a.etdp", Tensor(F32, (2, 1, 3), 0, (3, 99, 1)))
    assert read_debug_tensors(path).layouts == (TensorLayout("f32", (2, 1, 3)),)


def test_a_list_has_all_of_its_tensors(tmp_path):
    members = [Tensor(F32, (n,), 100 * n) for n in range(1, 6)]
    tensors = read_debug_tensors(dump(tmp_path / "a.etdp", Single(1.0), members))
    assert tensors.row.tolist() == [1] * 5
    assert [layout.sizes for layout, _ in tensors.of_event(1)] == [(1,), (2,), (3,), (4,), (5,)]
    assert [offset for _, offset in tensors.of_event(1)] == [100, 200, 300, 400, 500]


def test_tensors_that_cannot_be_read_are_no_part_of_the_end(tmp_path):
    path = dump(
        tmp_path / "a.etdp",
        Tensor(F32, (2,), 8),
        Tensor(HALF_PACKED, (1000,), 0),
        Tensor(F32, (-5,), 0),
        Tensor(99, (5,), 0),
        Tensor(F32, (1,) * 17, 0),
    )
    tensors = read_debug_tensors(path)
    assert tensors.end == 16
    faults = [tensors.of_event(row)[0][0].fault for row in range(5)]
    assert faults == [
        "",
        "values of type qu4x2 cannot be read",
        "tensor with a negative size",
        "values of type scalar type 99 cannot be read",
        "values of type tensor of 17 dimensions cannot be read",
    ]


@pytest.mark.parametrize("generation", ["G2", "G3"])
def test_schemas_that_have_values(tmp_path, generation):
    path = dump(tmp_path / "a.etdp", Tensor(F32, (2,), 0), generation=generation)
    assert len(read_debug_tensors(path)) == 1


def test_the_first_schema_has_none(tmp_path):
    assert len(read_debug_tensors(dump(tmp_path / "a.etdp", b"\1\2", generation="G1"))) == 0


@pytest.mark.parametrize("name", ["numbers/portable.etdp", "etdump/cnn_portable_x2_debug.etdp"])
def test_they_belong_to_the_events_without_a_time(name):
    tensors = read_debug_tensors(str(DATA / name))
    events = open_file(str(DATA / name)).untimed
    own = (events.kind == UntimedKind.DEBUG) & (events.type == ValueType.TENSOR)
    single = np.isin(tensors.row, events.source_row[own])
    assert tensors.row[single].tolist() == events.source_row[own].tolist()
    assert tensors.offset[single].tolist() == events.offset.values[own].tolist()
    texts = [events.tensors[code] for code in events.value[own]]
    assert [tensors.layouts[i].text for i in tensors.layout[single]] == texts


def test_a_damaged_dump_is_one_error():
    with pytest.raises(UnreadableFile, match="damaged or truncated"):
        read_debug_tensors(str(DATA / "etdump/BAD_truncated.etdp"))
