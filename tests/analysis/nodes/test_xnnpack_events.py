"""Events of XNNPACK are aligned with the nodes of a program file, each for itself."""

import json
from itertools import count

import numpy as np
import pytest

from tests.builders.xnnpack_graphs import Described, xnnpack_graph
from viewer.analysis.nodes.xnnpack_events import align, call_events, may_have_logged
from viewer.formats import open_file
from viewer.model.trace import KeyKind
from viewer.program.executables import INSERTED, DataType, XnnpackNode


def nodes(*types):
    numbers = count(1)
    return [XnnpackNode(f"XNN{node_type}", next(numbers)) for node_type in types]


def graph(*described):
    """Nodes as (type, values read, values written, facts), and what connects them.

    A value is a number, or a number and its data type. What no node reads is an output.
    """
    return xnnpack_graph([Described(f"XNN{node[0]}", *node[1:]) for node in described])


def linked(found):
    """The node of each event, None if it is not known."""
    return [nodes[0] if nodes else None for nodes in found.nodes]


def test_each_event_is_the_next_node_that_logs_it():
    found = align(
        ["Convolution (NHWC, F32) IGEMM #1", "Add (ND) #1", "Convolution (NHWC, F32) DWConv #1"],
        nodes("Conv2d", "Add", "DepthwiseConv2d"),
    )
    assert found.nodes == ((0,), (1,), (2,))
    assert found.reasons == ("", "", "")


def test_a_1x1_convolution_is_logged_as_fully_connected():
    events = ["Fully Connected (NC, F32) GEMM #1", "Fully Connected (NC, F32) GEMM #2"]
    assert linked(align(events, nodes("Conv2d", "FullyConnected"))) == [0, 1]


def test_a_fused_clamp_has_no_event():
    events = ["Convolution (NHWC, F32) IGEMM #1", "Add (ND) #1"]
    assert linked(align(events, nodes("Conv2d", "Clamp", "Add"))) == [0, 2]


def test_a_clamp_of_its_own_has_one():
    own = graph(("Conv2d", [0], [1]), ("Clamp", [1], [2]), ("Clamp", [1], [3]))
    found = align(["Convolution (NHWC, F32) IGEMM #1", "Clamp (NC) #1", "Clamp (NC) #2"], *own)
    assert linked(found) == [0, 1, 2]


def test_an_event_that_either_of_two_nodes_may_have_logged_is_not_linked():
    found = align(["Clamp (NC, F32) #1"], nodes("Clamp", "Clamp"))
    assert linked(found) == [None]
    assert "may be one of several nodes" in found.reasons[0]


def test_what_is_ambiguous_leaves_the_rest_of_the_call_linked():
    found = align(
        ["Convolution (NHWC, F32) IGEMM #1", "Clamp (NC, F32) #1", "Softmax (NC, F32) #1"],
        nodes("Conv2d", "Clamp", "Clamp", "Softmax"),
    )
    assert linked(found) == [0, None, 3]
    assert found.reasons[1] == "'Clamp (NC, F32) #1' may be one of several nodes"


def test_a_clamp_is_folded_into_arithmetic_in_old_releases_alone():
    bounded = {"bounded": True}
    own = graph(("Add", [0, 1], [2]), ("Clamp", [2], [3], bounded), ("Multiply", [3, 1], [4]))
    assert linked(align(["Add (ND, F32) #1", "Multiply (ND, F32) #1"], *own)) == [0, 2]
    found = align(["Add (ND) #1", "Multiply (ND) #1"], *own)
    assert linked(found) == [None, None]
    assert "XNNClamp" in found.reasons[0] or "more nodes" in found.reasons[0]


def test_a_range_of_arithmetic_is_one_more_event_of_that_node():
    own = graph(("Add", [0, 1], [2], {"bounded": True}), ("Multiply", [2, 1], [3]))
    events = ["Add (ND) #1", "Clamp (NC) #1", "Multiply (ND) #1"]
    assert linked(align(events, *own)) == [0, 0, 1]
    assert linked(align(["Add (ND) #1", "Multiply (ND) #1"], *own)) == [0, 1]  # older releases


def test_a_transpose_that_only_a_product_reads_second_may_have_no_event():
    swaps = {"swaps": True}
    events = ["Batch Matrix Multiply (NC, F32) #1"]
    second = graph(("StaticTranspose", [0], [1], swaps), ("BatchMatrixMultiply", [2, 1], [3]))
    assert linked(align(events, *second)) == [1]
    first = graph(("StaticTranspose", [0], [1], swaps), ("BatchMatrixMultiply", [1, 2], [3]))
    assert linked(align(events, *first)) == [None]


def test_a_dynamic_quantization_is_folded_into_its_product():
    own = graph(
        ("Convert", [(0, DataType.F32)], [(1, DataType.QDINT8)]),
        ("FullyConnected", [(1, DataType.QDINT8), (2, DataType.QCINT8)], [(3, DataType.F32)]),
    )
    assert linked(align(["Fully Connected (NC, QDU8, F32, QC8W) GEMM #1"], *own)) == [1]
    for other in ("Fully Connected (NC, QS8) GEMM #1", "Fully Connected (NC, F32) GEMM #1"):
        found = align([other], *own)
        assert linked(found) == [None]
        assert not found.is_possible


def test_a_lookup_table_is_the_node_that_computes_it():
    own = graph(
        ("Convert", [(0, DataType.QINT8)], [(1, DataType.F32)]),
        ("Sigmoid", [(1, DataType.F32)], [(2, DataType.F32)]),
        ("Convert", [(2, DataType.F32)], [(3, DataType.QINT8)]),
    )
    assert linked(align(["Invalid Unary Op #1"], *own)) == [1]
    every = ["Convert (NC) #1", "Sigmoid (NC) #1", "Convert (NC) #2"]
    assert linked(align(every, *own)) == [0, 1, 2]


def test_a_lookup_table_of_several_operators_is_all_of_them():
    own = graph(
        ("Convert", [(0, DataType.QINT8)], [(1, DataType.F32)]),
        ("Exp", [(1, DataType.F32)], [(2, DataType.F32)]),
        ("Log", [(2, DataType.F32)], [(3, DataType.F32)]),
        ("Convert", [(3, DataType.F32)], [(4, DataType.QUINT8)]),
    )
    assert align(["Invalid Unary Op #1"], *own).nodes == ((1, 2),)


def test_a_concatenation_logs_one_copy():
    copies = ["Copy (NC, X32) #1", "Copy (NC, X32) #2"]
    assert linked(align(copies, nodes("Concatenate2", "Concatenate2"))) == [0, 1]


def test_the_data_types_of_an_event_tell_nodes_apart():
    own = graph(
        ("Conv2d", [(0, DataType.QINT8)], [(1, DataType.QINT8)]),
        ("Conv2d", [(2, DataType.F32)], [(3, DataType.F32)]),
        ("Clamp", [(3, DataType.F32)], [(4, DataType.F32)]),
    )
    events = ["Convolution (NHWC, QC8) IGEMM #1", "Convolution (NHWC, F32) IGEMM #1"]
    assert linked(align(events, *own)) == [0, 1]
    assert not align(events[::-1], *own).is_possible


def test_an_event_without_a_node_leaves_its_neighbors_unlinked():
    own = nodes("Conv2d", "Add", "Sigmoid", "Multiply", "Softmax", "Tanh", "Exp", "Log")
    events = ["Convolution (NHWC, F32) #1", "Add (ND) #1", "New Fusion (NC) #1", "Sigmoid (NC) #1",
              "Multiply (ND) #1", "Softmax (NC, F32) #1", "TanH (NC) #1", "Exp (NC) #1",
              "Log (NC) #1"]  # fmt: skip
    found = align(events, own)
    assert linked(found) == [0, None, None, None, 3, 4, 5, 6, 7]
    assert found.reasons[2] == "the program file has no node for 'New Fusion (NC) #1' at its place"
    assert found.reasons[1] == "the program file has no node for an event next to 'Add (ND) #1'"
    assert found.is_possible


def test_a_node_without_an_event_leaves_its_neighbors_unlinked():
    own = nodes("Conv2d", "Add", "Sigmoid", "Multiply", "Softmax", "Tanh", "Exp", "Log")
    events = ["Convolution (NHWC, F32) #1", "Add (ND) #1", "Multiply (ND) #1",
              "Softmax (NC, F32) #1", "TanH (NC) #1", "Exp (NC) #1", "Log (NC) #1"]  # fmt: skip
    found = align(events, own)
    assert linked(found) == [0, None, None, 4, 5, 6, 7]
    assert found.reasons[1] == (
        "the program file has a XNNSigmoid, which logged nothing, near 'Add (ND) #1'"
    )


def test_one_event_that_fits_no_node_of_a_small_call_leaves_all_unlinked():
    found = align(["Add (ND) #1", "Softmax (NC, F32) #1"], nodes("Add", "Multiply"))
    assert linked(found) == [None, None]
    assert "'Softmax (NC, F32) #1'" in found.reasons[0]
    assert not found.is_possible


def test_a_node_without_an_event_in_a_small_call_leaves_all_unlinked():
    own = graph(("Add", [0, 1], [2]), ("Multiply", [2, 1], [3]))
    found = align(["Add (ND) #1"], *own)
    assert linked(found) == [None]
    assert "more nodes than the 1 event that was logged" in found.reasons[0]


def test_an_event_of_another_delegate_is_named():
    found = align(["cos/1"], nodes("Cos"))
    assert "'cos/1' is not an XNNPACK event" in found.reasons[0]
    assert not found.is_possible


def test_a_product_that_was_not_logged_shows_another_model():
    light = ["Add", "Sigmoid", "Multiply"] * 4
    events = [f"{name} #1" for name in ("Add (ND)", "Sigmoid (NC)", "Multiply (ND)")] * 4
    assert align(events, nodes(*light)).is_possible
    assert align(events[1:], nodes(*light)).is_possible  # an unknown rewrite
    assert not align(events, nodes(*light, "FullyConnected")).is_possible
    assert not align([*events, "Softmax (NC, F32) #1"], nodes(*light)).is_possible


def test_a_call_that_is_too_large_is_given_up():
    many = [f"Clamp (NC, F32) #{i}" for i in range(30_000)]
    found = align(many, nodes(*["Clamp"] * 30_000))
    assert found.reasons[0] == "the call has too many events and nodes"
    assert found.is_possible


def test_events_in_an_order_that_no_skipped_nodes_explain_are_of_another_model():
    own = nodes("Conv2d", "Clamp", "Add", "Softmax")
    assert may_have_logged(own, ["Convolution (NHWC, F32) IGEMM #1", "Softmax (NC, F32) #1"])
    assert not may_have_logged(own, ["Softmax (NC, F32) #1", "Add (ND) #1"])
    assert may_have_logged(own, ["a scope of another delegate"])


@pytest.mark.parametrize(
    "model",
    [
        "mobile_x",
        "dyn_x",
        "part_x",
        "et_addrelu_x",
        "et_twoblocks_x",
        "et_dynquant_x",
        "et_int8",
        "dynconv_x",
        "int8conv_x",
        "attention_x",
    ],
)
def test_logged_events_are_the_nodes_that_the_truth_names(data, model):
    """Every event of the delegate calls of real models, with the debug handle of its node."""
    truth = json.loads((data / "pte" / f"{model}.xnn.json").read_text())["forward"]
    trace = open_file(str(data / "pte" / f"{model}.etdp"))
    (method,) = open_file(str(data / "pte" / f"{model}.pte")).methods
    calls = {at: keys for (scope, at), keys in call_events(trace).items()}
    assert {str(at) for at in calls} == set(truth)
    for at, keys in calls.items():
        delegate = method.delegates[method.instructions[at].delegate]
        events = [str(trace.keys.identifier[key]) for key in keys]
        expected = truth[str(at)]["events"] if isinstance(truth[str(at)], dict) else truth[str(at)]
        found = align(events, delegate.nodes, delegate.dataflow)
        handles = [[delegate.nodes[i].debug_handle for i in one] for one in found.nodes]
        assert handles == [[handle] for _, handle, *_ in expected]
        assert events == [event for event, *_ in expected]


def test_the_events_of_calls_are_in_the_order_they_were_logged(data):
    trace = open_file(str(data / "pte/part_x.etdp"))
    for keys in call_events(trace).values():
        rows = [int(trace.slices.source_row[trace.slices.key == key].min()) for key in keys]
        assert rows == sorted(rows)
        assert (trace.keys.kind[np.array(keys)] == KeyKind.DELEGATE_EVENT).all()
    assert INSERTED == 65535
