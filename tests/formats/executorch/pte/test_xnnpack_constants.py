"""Constants of XNNPACK graphs: where they are, what they are, and the nodes that use them."""

import numpy as np

from tests.builders.pte_writer import xnnpack_graph
from viewer.formats.executorch.pte.xnnpack import read_graph
from viewer.program.executable.executable import XnnpackConstant

F32, QI8_PER_CHANNEL = 1, 6
ADD, CONVOLUTION, CONCATENATE2 = 1, 7, 33
CONVOLVE = {15: 0, 16: 1, 17: 2}  # input, filter, bias
VALUES = [(F32, 0, [1, 8, 8, 3], 0), (F32, 1, [4, 3, 3, 3], 0), (F32, 2, [4], 0)]


def read(*args, at=0, **given):
    return read_graph(np.frombuffer(xnnpack_graph(*args, **given), np.uint8), at).constants


def test_constants_after_the_graph_have_their_range_in_the_file():
    data = xnnpack_graph([(CONVOLUTION, 3, CONVOLVE)], constants=[(0, 48), (48, 16)], values=VALUES)
    weight, bias = read_graph(np.frombuffer(data, np.uint8), 1000).constants
    assert weight == XnnpackConstant(
        "", 1000 + len(data) - 64, 48, "f32", (4, 3, 3, 3), "weight", (0,)
    )
    assert (bias.start - weight.start, bias.size, bias.role, bias.nodes) == (48, 16, "bias", (0,))


def test_constants_that_are_named_data_have_its_name_and_no_place():
    weight, bias = read([(CONVOLUTION, 3, CONVOLVE)], constants=["w", "b"], values=VALUES)
    assert (weight.key, weight.start, weight.role) == ("w", -1, "weight")
    assert (bias.key, bias.shape) == ("b", (4,))


def test_the_oldest_exports_have_them_inside_the_graph():
    data = xnnpack_graph(
        [(CONVOLUTION, 3, CONVOLVE)], b"XN00", header=False, constants=[b"w" * 48, b"b" * 16],
        values=VALUES,
    )  # fmt: skip
    weight, bias = read_graph(np.frombuffer(data, np.uint8), 0).constants
    assert data[weight.start : weight.start + weight.size] == b"w" * 48
    assert data[bias.start : bias.start + bias.size] == b"b" * 16


def test_a_constant_that_several_nodes_use_has_all_of_them():
    nodes = [(ADD, 1, {0: 0, 1: 1}), (CONCATENATE2, 2, {1: 0, 2: 0}), (ADD, 3, {0: 1, 1: 0})]
    (found,) = read(nodes, constants=[(0, 16)], values=[(F32, 0, [4], 0), (F32, 1, [4], 0)])
    assert (found.nodes, found.role) == ((0, 2), "")


def test_scales_of_a_quantized_weight_are_constants_of_the_same_node():
    values = [VALUES[0], (QI8_PER_CHANNEL, 1, [4, 3, 3, 3], 3), VALUES[2]]
    weight, _, scale = read(
        [(CONVOLUTION, 3, CONVOLVE)], constants=[(0, 32), (32, 16), (48, 16)], values=values
    )
    assert (weight.dtype, weight.role) == ("qi8 per channel", "weight")
    assert scale == XnnpackConstant("", weight.start + 48, 16, "f32", (4,), "scale", (0,))


def test_what_leads_out_of_the_file_is_cut():
    first, second = read(
        [(CONVOLUTION, 3, CONVOLVE)], constants=[(32, 1 << 40), (1 << 60, 8)], values=VALUES
    )
    assert (first.size, second.size) == (32, 0)


def test_references_to_missing_constants_and_values_are_nothing():
    nodes = [(CONVOLUTION, 3, {15: 900, 16: 1, 17: 0xFFFFFFFF}), (99, 4, {0: 1})]
    (found,) = read(nodes, constants=[(0, 16)], values=[(F32, 900, [4], 0), (77, 1, [4], 900)])
    assert (found.nodes, found.dtype) == ((0, 1), "XNN data type 77")
