"""Events of XNNPACK are aligned with the nodes of a program file, all or nothing."""

import json
from itertools import count

import numpy as np
import pytest

from viewer.analysis.nodes.xnnpack_events import align, call_events, may_have_logged
from viewer.formats import open_file
from viewer.model.trace import KeyKind
from viewer.program.executable.executable import INSERTED, XnnpackNode


def nodes(*types):
    numbers = count(1)
    return [XnnpackNode(f"XNN{node_type}", next(numbers)) for node_type in types]


def test_each_event_is_the_next_node_that_logs_it():
    found = align(
        ["Convolution (NHWC, F32) IGEMM #1", "Add (ND) #1", "Convolution (NHWC, F32) DWConv #1"],
        nodes("Conv2d", "Add", "DepthwiseConv2d"),
    )
    assert found.nodes == (0, 1, 2)
    assert found.reason == ""


def test_a_1x1_convolution_is_logged_as_fully_connected():
    events = ["Fully Connected (NC, F32) GEMM #1", "Fully Connected (NC, F32) GEMM #2"]
    assert align(events, nodes("Conv2d", "FullyConnected")).nodes == (0, 1)


def test_a_fused_clamp_has_no_event():
    events = ["Convolution (NHWC, F32) IGEMM #1", "Add (ND) #1"]
    assert align(events, nodes("Conv2d", "Clamp", "Add")).nodes == (0, 2)


def test_a_clamp_of_its_own_has_one():
    events = ["Add (ND) #1", "Clamp (NC, F32) #1"]
    assert align(events, nodes("Add", "Clamp")).nodes == (0, 1)


def test_if_either_of_two_clamps_may_be_fused_nothing_is_linked():
    found = align(["Clamp (NC, F32) #1"], nodes("Clamp", "Clamp"))
    assert found.nodes == ()
    assert "may be one of several nodes" in found.reason


def test_a_concatenation_logs_up_to_one_copy_for_each_part():
    copies = ["Copy (NC, X32) #1", "Copy (NC, X32) #2"]
    assert align(copies, nodes("Concatenate2")).nodes == (0, 0)
    assert align(copies[:1], nodes("Concatenate2")).nodes == (0,)
    assert align([*copies, "Copy (NC, X32) #3"], nodes("Concatenate2")).nodes == ()


def test_copies_of_two_concatenations_in_a_row_are_not_told_apart():
    copies = [f"Copy (NC, X32) #{i}" for i in (1, 2, 3)]
    found = align(copies, nodes("Concatenate2", "Concatenate2"))
    assert "may be one of several nodes" in found.reason


def test_one_event_that_fits_no_node_leaves_all_unlinked():
    found = align(["Add (ND) #1", "Softmax (NC, F32) #1"], nodes("Add", "Multiply"))
    assert found.nodes == ()
    assert "'Softmax (NC, F32) #1'" in found.reason


def test_a_node_without_an_event_that_cannot_be_fused_leaves_all_unlinked():
    found = align(["Add (ND) #1"], nodes("Add", "Multiply"))
    assert found.nodes == ()
    assert "more nodes than the 1 events" in found.reason


def test_an_event_of_another_delegate_is_named():
    assert "'cos/1' is not an XNNPACK event" in align(["cos/1"], nodes("Cos")).reason


def test_very_many_nodes_that_may_be_fused_are_given_up():
    many = [f"Clamp (NC, F32) #{i}" for i in range(400)]
    assert "too many" in align(many, nodes(*["Clamp"] * 800)).reason


def test_events_in_an_order_that_no_skipped_nodes_explain_are_of_another_model():
    own = nodes("Conv2d", "Clamp", "Add", "Softmax")
    assert may_have_logged(own, ["Convolution (NHWC, F32) IGEMM #1", "Softmax (NC, F32) #1"])
    assert not may_have_logged(own, ["Softmax (NC, F32) #1", "Add (ND) #1"])
    assert may_have_logged(own, ["a scope of another delegate"])


@pytest.mark.parametrize("model", ["mobile_x", "dyn_x", "part_x"])
def test_logged_events_are_the_nodes_that_the_truth_names(data, model):
    """Every event of the delegate calls of real models, with the debug handle of its node."""
    truth = json.loads((data / "pte" / f"{model}.xnn.json").read_text())["forward"]
    trace = open_file(str(data / "pte" / f"{model}.etdp"))
    (method,) = open_file(str(data / "pte" / f"{model}.pte")).methods
    calls = {at: keys for (scope, at), keys in call_events(trace).items()}
    assert {str(at) for at in calls} == set(truth)
    for at, keys in calls.items():
        own = method.delegates[method.instructions[at].delegate].nodes
        events = [str(trace.keys.identifier[key]) for key in keys]
        found = [(own[i].debug_handle, own[i].type) for i in align(events, own).nodes]
        assert found == [(handle, node_type) for _, handle, node_type in truth[str(at)]["events"]]
        assert events == [event for event, _, _ in truth[str(at)]["events"]]


def test_the_events_of_calls_are_in_the_order_they_were_logged(data):
    trace = open_file(str(data / "pte/part_x.etdp"))
    for keys in call_events(trace).values():
        rows = [int(trace.slices.source_row[trace.slices.key == key].min()) for key in keys]
        assert rows == sorted(rows)
        assert (trace.keys.kind[np.array(keys)] == KeyKind.DELEGATE_EVENT).all()
    assert INSERTED == 65535
