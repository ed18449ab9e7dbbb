"""Graphs of XNNPACK with and without a header, of both schemas, and what cannot be read of them."""

import pytest

from tests.builders.held_bytes import lazy
from tests.builders.pte_writer import Method, write_program, xnnpack_graph
from viewer.formats import open_file
from viewer.formats.executorch.pte.xnnpack import Unread, read_graph
from viewer.program.executables import INSERTED, XnnpackConstant

NODES = [(5, INSERTED), (7, 3), (47, 8)]
F32, QI8_PER_CHANNEL = 1, 6
ADD, CONVOLUTION, CONCATENATE2 = 1, 7, 33
CONVOLVE = {15: 0, 16: 1, 17: 2}  # input, filter, bias
VALUES = [(F32, 0, [1, 8, 8, 3], 0), (F32, 1, [4, 3, 3, 3], 0), (F32, 2, [4], 0)]


def read(data: bytes) -> list[tuple[str, int]]:
    return [(n.type, n.debug_handle) for n in read_graph(lazy(data)).nodes]


@pytest.mark.parametrize("identifier", [b"XN00", b"XN01"])
@pytest.mark.parametrize("header", [True, False])
def test_nodes_of_both_schemas_with_and_without_a_header(identifier, header):
    found = read(xnnpack_graph(NODES, identifier, header=header))
    assert found == [("XNNStaticTranspose", INSERTED), ("XNNConv2d", 3), ("XNNCos", 8)]


def test_a_graph_states_how_many_results_its_calls_have():
    assert read_graph(lazy(xnnpack_graph(NODES, outputs=2))).outputs == 2


def test_a_type_of_a_later_release_keeps_its_number():
    assert read(xnnpack_graph([(77, 1)])) == [("XNN type 77", 1)]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "its data is not an XNNPACK graph (neither XN00 nor XN01)"),
        (bytes(100), "its data is not an XNNPACK graph (neither XN00 nor XN01)"),
        (xnnpack_graph(NODES)[:20], "its XNNPACK header has 20 of 30 bytes"),
        (xnnpack_graph(NODES)[:60], "its XNNPACK graph should end at byte"),
        (xnnpack_graph(NODES, header=False)[:24], "of its XNNPACK graph)"),
    ],
)
def test_what_cannot_be_read_says_why(data, why):
    with pytest.raises(Unread) as refused:
        read(data)
    assert why in str(refused.value)


def test_a_graph_is_found_in_a_segment_and_inside_the_program(tmp_path):
    graph = xnnpack_graph(NODES)
    method = Method(delegates=[("XnnpackBackend", True, 0), ("XnnpackBackend", False, 0)])
    path = write_program(tmp_path / "a.pte", method, segments=[graph], inline=[graph])
    in_segment, inline = open_file(str(path)).methods[0].delegates
    assert in_segment == inline
    assert len(inline.nodes) == 3


def test_an_unreadable_graph_leaves_the_rest_of_the_program_readable(tmp_path):
    method = Method(delegates=[("XnnpackBackend", True, 0), ("Other", True, 0)])
    path = write_program(tmp_path / "a.pte", method, segments=[bytes(64)])
    found = open_file(str(path))
    assert [d.unread for d in found.methods[0].delegates] == [
        "its data is not an XNNPACK graph (neither XN00 nor XN01)", ""
    ]  # fmt: skip
    assert [(p.kind, p.count, p.first) for p in found.problems] == [
        (
            "nodes of an XNNPACK delegate could not be read",
            1,
            "delegate 0 of method 0: its data is not an XNNPACK graph (neither XN00 nor XN01)",
        )
    ]


def test_delegates_that_share_bytes_are_read_once_and_cannot_claim_more_than_the_file(tmp_path):
    graph = xnnpack_graph(NODES)
    method = Method(delegates=[("XnnpackBackend", True, 0)] * 50)
    path = write_program(tmp_path / "a.pte", method, segments=[graph])
    delegates = open_file(str(path)).methods[0].delegates
    assert all(delegate.nodes is delegates[0].nodes for delegate in delegates)


def constants_of(*args, at=0, **given):
    return read_graph(lazy(xnnpack_graph(*args, **given)), at).constants


def test_constants_after_the_graph_have_their_range_in_the_file():
    data = xnnpack_graph([(CONVOLUTION, 3, CONVOLVE)], constants=[(0, 48), (48, 16)], values=VALUES)
    weight, bias = read_graph(lazy(data), 1000).constants
    assert weight == XnnpackConstant(
        "", 1000 + len(data) - 64, 48, "f32", (4, 3, 3, 3), "weight", (0,)
    )
    assert (bias.start - weight.start, bias.size, bias.role, bias.nodes) == (48, 16, "bias", (0,))


def test_constants_that_are_named_data_have_its_name_and_no_place():
    weight, bias = constants_of([(CONVOLUTION, 3, CONVOLVE)], constants=["w", "b"], values=VALUES)
    assert (weight.key, weight.start, weight.role) == ("w", -1, "weight")
    assert (bias.key, bias.shape) == ("b", (4,))


def test_the_oldest_exports_have_them_inside_the_graph():
    data = xnnpack_graph(
        [(CONVOLUTION, 3, CONVOLVE)], b"XN00", header=False, constants=[b"w" * 48, b"b" * 16],
        values=VALUES,
    )  # fmt: skip
    weight, bias = read_graph(lazy(data), 0).constants
    assert data[weight.start : weight.start + weight.size] == b"w" * 48
    assert data[bias.start : bias.start + bias.size] == b"b" * 16


def test_a_constant_that_several_nodes_use_has_all_of_them():
    nodes = [(ADD, 1, {0: 0, 1: 1}), (CONCATENATE2, 2, {1: 0, 2: 0}), (ADD, 3, {0: 1, 1: 0})]
    (found,) = constants_of(nodes, constants=[(0, 16)], values=[(F32, 0, [4], 0), (F32, 1, [4], 0)])
    assert (found.nodes, found.role) == ((0, 2), "")


def test_scales_of_a_quantized_weight_are_constants_of_the_same_node():
    values = [VALUES[0], (QI8_PER_CHANNEL, 1, [4, 3, 3, 3], 3), VALUES[2]]
    weight, _, scale = constants_of(
        [(CONVOLUTION, 3, CONVOLVE)], constants=[(0, 32), (32, 16), (48, 16)], values=values
    )
    assert (weight.dtype, weight.role) == ("qi8 per channel", "weight")
    assert scale == XnnpackConstant("", weight.start + 48, 16, "f32", (4,), "scale", (0,))


def test_what_leads_out_of_the_file_is_cut():
    first, second = constants_of(
        [(CONVOLUTION, 3, CONVOLVE)], constants=[(32, 1 << 40), (1 << 60, 8)], values=VALUES
    )
    assert (first.size, second.size) == (32, 0)


def test_references_to_missing_constants_and_values_are_nothing():
    nodes = [(CONVOLUTION, 3, {15: 900, 16: 1, 17: 0xFFFFFFFF}), (99, 4, {0: 1})]
    (found,) = constants_of(
        nodes, constants=[(0, 16)], values=[(F32, 900, [4], 0), (77, 1, [4], 900)]
    )
    assert (found.nodes, found.dtype) == ((0, 1), "XNN data type 77")
