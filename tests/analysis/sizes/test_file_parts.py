"""The parts of program files: all bytes once, with uses, operators and modules."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.pte_cases import MODELS
from tests.builders.pte_writer import DELEGATE, KERNEL, Method, write_program, xnnpack_graph
from tests.paths import DATA
from viewer.analysis.sizes.file_parts import ItemKind, assigned_bytes, file_parts
from viewer.formats import open_file

FILES = DATA / "pte"
F32 = 6


def parts_of(name, *, record=True):
    program = open_file(str(FILES / f"{name}.etrecord")) if record else None
    return file_parts(open_file(str(FILES / f"{name}.pte")), program)


def written(tmp_path, *methods, **given):
    return file_parts(open_file(str(write_program(tmp_path / "a.pte", *methods, **given))))


def part(found, name):
    (one,) = [part for part in found.parts if part.name == name]
    return one


@pytest.mark.parametrize("path", sorted(FILES.glob("*.*pte")), ids=lambda path: path.name)
def test_the_parts_add_up_to_the_file(path):
    found = file_parts(open_file(str(path)))
    assert sum(part.size for part in found.parts) == path.stat().st_size
    assert all(part.size > 0 for part in found.parts)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("quant_p", "custom")])
def test_all_weights_have_an_operator(name):
    found = parts_of(name)
    stored = [one for one in found.parts if one.kind in (ItemKind.CONSTANT, ItemKind.NAMED_DATA)]
    assert all(one.operators for one in stored if one.size > 8)


def test_a_constant_of_a_kernel_has_its_parameter_and_module():
    found = parts_of("llama")
    weight = part(found, "q.weight")
    assert (weight.kind, weight.size, weight.text) == (ItemKind.CONSTANT, 1024, "f32 16 × 16")
    assert weight.users == ("aten::permute_copy.out",)
    assert found.tree.modules[weight.module].path == "q"


def test_named_data_has_the_operator_of_the_xnnpack_node_that_uses_it():
    found = parts_of("part_x")
    bias = part(found, "c2.bias")
    assert (bias.kind, bias.role, bias.users) == (ItemKind.NAMED_DATA, "bias", ("XNNConv2d",))
    assert [found.program.operators[i].label for i in bias.operators] == ["c2 · convolution"]


def test_a_weight_of_several_methods_has_the_operators_of_all_of_them():
    found = parts_of("multi3")
    weight = part(found, "fc.weight")
    assert weight.methods == (0, 1, 2)
    assert len(weight.operators) == 3
    assert found.tree.modules[weight.module].parent == -1


def test_without_an_etrecord_kernels_and_nodes_are_known():
    found = parts_of("part_x", record=False)
    assert {one.users for one in found.parts if one.role} == {
        ("XNNConv2d",),
        ("XNNFullyConnected",),
    }
    assert not any(one.operators for one in found.parts)


def test_constants_inside_what_xnnpack_prepared_are_parts_of_their_own(tmp_path):
    graph = xnnpack_graph(
        [(2, 3, {0: 0, 1: 1})], constants=[(0, 48)], values=[(1, 0, [3], 0), (1, 1, [4, 3], 0)]
    )
    method = Method(instructions=[(DELEGATE, 0, [])], delegates=[("XnnpackBackend", True, 0)] * 2)
    found = written(tmp_path, method, segments=[graph])
    weight = part(found, "weight")
    around = found.parts[weight.inside]
    assert (weight.kind, weight.size, weight.text) == (ItemKind.DELEGATE, 48, "f32 4 × 3")
    assert weight.users == ("XNNFullyConnected",)
    assert (around.extent, around.size) == (len(graph), len(graph) - 48)
    assert around.name == "XnnpackBackend, delegate 0 of forward"


def test_padding_is_no_part_of_a_constant_but_unknown_data_is(tmp_path):
    method = Method(
        instructions=[(KERNEL, 0, [0, 1, 2])],
        tensors=[(F32, [3], None, 1), (F32, [1], None, 2), (F32, [4], None, 3)],
    )
    found = written(
        tmp_path, method, segments=[bytes(16 + 512 + 16 + 40)],
        constant_segment=(0, [0, 0, 16, 528, 544]),
    )  # fmt: skip
    assert [part(found, f"constant {i}").size for i in (1, 2, 3)] == [12, 512, 16]
    unused = part(found, "unused constant")
    assert (unused.size, unused.uses) == (40, ())


def test_segments_that_nothing_refers_to_are_other(tmp_path):
    found = written(tmp_path, Method(), segments=[b"x" * 10, b"y" * 20], named=[("y", 1)])
    assert part(found, "segment 0").kind is ItemKind.OTHER
    assert part(found, "y").kind is ItemKind.NAMED_DATA


def test_the_initial_state_of_a_tensor_is_a_part(tmp_path):
    method = Method(
        instructions=[(KERNEL, 0, [0])], tensors=[(F32, [4], (1, 0, 0), 1)], memories=[0, 16]
    )
    found = written(tmp_path, method, segments=[b"s" * 16], states=[(0, [0, 0])])
    state = part(found, "state 1")
    assert (state.kind, state.size, state.text) == (ItemKind.STATE, 16, "f32 4")
    assert state.users == ("aten::add.out",)


def test_data_in_another_file_is_no_part():
    found = file_parts(open_file(str(FILES / "ext.pte")))
    assert {one.kind for one in found.parts} == {ItemKind.PROGRAM}


def test_parts_that_overlap_count_once(tmp_path):
    method = Method(
        instructions=[(KERNEL, 0, [0])], tensors=[(F32, [4], None, 1)],
        delegates=[("Own", True, 0)],
    )  # fmt: skip
    found = written(
        tmp_path, method, segments=[b"x" * 64], constant_segment=(0, [0, 16, 32, 48]),
        named=[("a", 0)],
    )  # fmt: skip
    assert sum(one.size for one in found.parts) == found.size


def assigned(ranges, total):
    starts, sizes, priorities = zip(*ranges, strict=True) if ranges else ((), (), ())
    own, rest = assigned_bytes(
        np.array(starts, np.int64), np.array(sizes, np.int64), priorities, total
    )
    return own.tolist(), rest


@pytest.mark.parametrize(
    ("ranges", "own", "rest"),
    [
        ([], [], 10),
        ([(0, 4, 0), (6, 2, 0)], [4, 2], 4),
        ([(0, 10, 0), (2, 3, 1), (6, 2, 1)], [5, 3, 2], 0),  # inside another one
        ([(0, 6, 0), (4, 6, 0)], [6, 4], 0),  # the first one of equal ones
        ([(2, 4, 0), (2, 4, 0)], [4, 0], 6),
        ([(8, 100, 0), (90, 5, 1), (-3, 2, 1)], [2, 0, 0], 8),  # outside of the file
    ],
)
def test_a_byte_belongs_to_the_range_with_the_highest_priority(ranges, own, rest):
    assert assigned(ranges, 10) == (own, rest)


@given(
    st.lists(st.tuples(st.integers(-5, 40), st.integers(-2, 40), st.integers(0, 3)), max_size=12)
)
def test_it_equals_coloring_byte_by_byte(ranges):
    owner = [-1] * 30
    for number, (start, size, priority) in enumerate(ranges):
        for byte in range(max(start, 0), min(start + size, 30)):
            if owner[byte] < 0 or ranges[owner[byte]][2] < priority:
                owner[byte] = number
    own, rest = assigned(ranges, 30)
    assert own == [owner.count(number) for number in range(len(ranges))]
    assert rest == owner.count(-1)
