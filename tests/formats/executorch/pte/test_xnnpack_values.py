"""Which values the nodes of XNNPACK graphs use, and what is known of them."""

import numpy as np
import pytest

from tests.builders.held_bytes import lazy
from tests.builders.pte_writer import xnnpack_graph
from viewer.formats import open_file
from viewer.formats.executorch.pte.xnnpack import Unread, read_graph
from viewer.program.executables import OUTPUT, DataType

F32, QI8 = int(DataType.F32), int(DataType.QINT8)
ADD, CLAMP, CONVOLUTION, ARGMAX = 1, 6, 7, 21


def flow_of(*args, **given):
    return read_graph(lazy(xnnpack_graph(*args, **given))).dataflow


def uses(flow, node):
    own = flow.node == node
    return list(zip(flow.position[own].tolist(), flow.value[own].tolist(), strict=True))


@pytest.mark.parametrize("identifier", [b"XN00", b"XN01"])
def test_nodes_use_values_at_their_positions(identifier):
    values = [(F32, 0, [4], 0), (QI8, 0, [4], 0), (F32, 1, [4], 0)]
    nodes = [(ADD, 1, {0: 0, 1: 2, 2: 1}), (CLAMP, 2, {0: 1, 1: 0})]
    flow = flow_of(nodes, identifier, values=values, constants=[(0, 16)])
    assert uses(flow, 0) == [(0, 0), (1, 2), (OUTPUT, 1)]
    assert uses(flow, 1) == [(0, 1), (OUTPUT, 0)]
    assert flow.dtype.tolist() == [F32, QI8, F32]
    assert flow.is_constant.tolist() == [False, False, True]


def test_a_missing_bias_is_no_use_and_two_outputs_are_two():
    flow = flow_of([(CONVOLUTION, 1, {15: 3, 16: 4, 17: (1 << 32) - 1, 18: 5}),
                    (ARGMAX, 2, {6: 5, 7: 6, 8: 7})])  # fmt: skip
    assert [position for position, _ in uses(flow, 0)] == [0, 1, OUTPUT]
    assert [position for position, _ in uses(flow, 1)] == [0, OUTPUT, OUTPUT]


@pytest.mark.parametrize("other", [7, (1 << 32) - 2])
def test_values_that_the_graph_does_not_list_are_their_own_and_unknown(other):
    flow = flow_of([(ADD, 1, {0: 0, 1: other, 2: 9})], values=[(F32, 0, [4], 0)])
    (_, known), (_, one), (_, two) = uses(flow, 0)
    assert len({known, one, two}) == 3
    assert [int(flow.dtype[value]) for value in (known, one, two)] == [F32, 0, 0]


def test_a_graph_of_a_real_model_has_ranges_constants_and_ends(data):
    (method,) = open_file(str(data / "pte/et_addrelu_x.pte")).methods
    (delegate,) = method.delegates
    flow = delegate.dataflow
    types = [node.type for node in delegate.nodes]
    assert types == ["XNNFullyConnected", "XNNAdd", "XNNFullyConnected"]
    assert flow.is_bounded.tolist() == [False, True, False]
    assert not flow.swaps_matrix.any()
    assert int(flow.is_input.sum()) == int(flow.is_output.sum()) == 1
    assert int(flow.is_constant.sum()) == 4  # two weights, two biases
    first, second = uses(flow, 1)[:2]
    assert first == (0, uses(flow, 0)[-1][1])
    assert second == (1, uses(flow, 0)[0][1])


def test_transposes_and_reshapes_of_a_real_attention(data):
    (method,) = open_file(str(data / "pte/attention_x.pte")).methods
    delegate = method.delegates[method.instructions[12].delegate]
    flow = delegate.dataflow
    of_type = {
        kind: [i for i, node in enumerate(delegate.nodes) if node.type == kind]
        for kind in ("XNNStaticTranspose", "XNNStaticReshape")
    }
    assert np.flatnonzero(flow.swaps_matrix).tolist() == [8]
    assert 8 in of_type["XNNStaticTranspose"]
    assert set(np.flatnonzero(flow.is_whole)) <= set(of_type["XNNStaticReshape"])
    assert flow.is_whole.any()


def test_data_types_of_a_quantized_model(data):
    (method,) = open_file(str(data / "pte/et_dynquant_x.pte")).methods
    flow = method.delegates[0].dataflow
    assert {DataType(int(number)) for number in flow.dtype} == {
        DataType.F32, DataType.QDINT8, DataType.QCINT8,
    }  # fmt: skip


def test_damaged_graphs_give_a_result_or_the_reason(data):
    values = [(F32, 0, [4], 0), (QI8, 0, [4], 0)]
    graph = xnnpack_graph([(ADD, 1, {0: 0, 1: 1, 2: 2}), (5, 2, {2: 1, 3: 0})], values=values)
    whole = np.frombuffer(graph, np.uint8)
    random = np.random.default_rng(5)
    refused = 0
    for _ in range(400):
        damaged = whole.copy()
        damaged[random.integers(32, len(whole) - 64, 3)] = random.integers(0, 256, 3)
        try:
            graph = read_graph(lazy(damaged.tobytes()))
        except Unread:
            refused += 1
        else:
            assert graph.dataflow.node.max(initial=-1) < len(graph.nodes)
            assert graph.dataflow.value.max(initial=-1) < len(graph.dataflow.dtype)
    assert 0 < refused < 400
