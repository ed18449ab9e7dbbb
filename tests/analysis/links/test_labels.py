"""What slices, runs and tracks are called."""

import numpy as np
import pytest

from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.analysis.links.labels import (
    brief_label,
    describe_near,
    is_number,
    key_labels,
    node_texts,
    operator_count,
    run_label,
    run_slices,
    set_label,
    slice_labels,
    title_of_near,
    track_name,
)
from viewer.analysis.links.link_table import Link, LinkTable, Reason
from viewer.analysis.links.linker import unlinked
from viewer.model.trace import KeyKind, Trace
from viewer.workspace.workspace import Workspace


def linked(dump: str, record: str) -> LinkTable:
    workspace = Workspace()
    trace = workspace.open(str(DATA / "etdump" / f"{dump}.etdp"))
    workspace.open(str(DATA / "etrecord" / f"{record}.etrecord"))
    assert isinstance(trace, Trace)
    return workspace.links(trace)


@pytest.fixture(scope="module")
def cnn() -> LinkTable:
    return linked("cnn_portable_x10", "cnn_toedge_portable")


def labels_of(table: LinkTable, kind: KeyKind) -> set[str]:
    keys = table.trace.keys
    return {key_labels(table)[k] for k in range(len(keys)) if keys.kind[k] == kind}


def test_an_operator_call_is_called_by_its_operator(cnn):
    found = labels_of(cnn, KeyKind.OPERATOR_CALL)
    assert "features.4 · convolution" in found
    assert "OPERATOR_CALL" not in found


def test_a_kernel_keeps_its_name_without_the_prefix(cnn):
    assert "convolution.out" in labels_of(cnn, KeyKind.KERNEL)


def test_a_delegate_call_is_called_by_its_backend_and_size():
    found = labels_of(linked("cnn_xnnpack_x10", "cnn_teal_xnnpack"), KeyKind.DELEGATE_CALL)
    assert all(x.startswith("XnnpackBackend · ") and x.endswith((" ops", " op")) for x in found)


def test_a_delegate_event_is_called_by_its_identifier():
    found = labels_of(linked("demo_str_x4", "demo_str"), KeyKind.DELEGATE_EVENT)
    assert {"Fancy Fusion", "sin:0;a=b"} <= found


def test_runs_are_called_by_method_and_number(cnn):
    trace = cnn.trace
    assert [run_label(cnn, r) for r in trace.inferences()] == [
        f"forward · run {n} of 10" for n in range(1, 11)
    ]
    assert {run_label(cnn, r) for r in trace.runs if not r.number} == {"load"}
    codes, strings = slice_labels(cnn)
    runs, spans = run_slices(trace)
    assert len(spans) == 10
    for run, i in zip(runs, spans.tolist(), strict=True):
        assert strings[codes[i]] == f"forward · run {run.number} of 10"
        assert trace.name(i) == "Method::execute"
    assert len(codes) == len(trace.slices)


def test_a_run_that_failed_says_so():
    table = linked("words_failing_x3", "words_toedge_portable")
    assert [run_label(table, run) for run in table.trace.inferences()] == [
        "forward · run 1 of 3, did not finish",
        "forward · run 2 of 3",
        "forward · run 3 of 3",
    ]


def test_a_thread_is_called_by_its_method_once_it_is_known(cnn):
    assert track_name(cnn, 0) == "forward"
    alone = unlinked(cnn.trace)
    assert track_name(alone, 0) == "Execute"
    assert run_label(alone, next(cnn.trace.inferences())) == "Execute · run 1 of 10"
    # Without a record a call is called by its kernel.
    assert "addmm.out" in labels_of(alone, KeyKind.OPERATOR_CALL)


def test_threads_of_several_methods():
    table = linked("multi_forward_decode_portable_x3", "multi_forward_decode_toedge_portable")
    names = [track_name(table, t) for t in range(len(table.trace.tracks))]
    assert {"forward", "decode"} <= set(names)


def test_several_operators_are_named_together(cnn):
    program = cnn.program
    assert program is not None
    number = {op.label: op.index for op in program.operators}
    first, second = number["features.0 · convolution"], number["features.4 · convolution"]
    assert set_label(cnn, [first]) == "features.0 · convolution"
    assert set_label(cnn, [first, second]) == "features · 2 convolution"
    assert set_label(cnn, []) == ""


def labels_by_name(*files: str) -> set[tuple[str, str]]:
    workspace = Workspace()
    opened = [workspace.open(str(DATA / "torq" / name)) for name in files]
    trace = opened[0]
    assert isinstance(trace, Trace)
    codes, labels = slice_labels(workspace.links(trace))
    return {(trace.name(i), labels[int(codes[i])]) for i in range(len(codes))}


def test_what_a_unit_does_is_called_by_its_operation():
    found = labels_by_name("compile_c3_taskid_mtu.csv", "tiny_cnn.mlir")
    assert ("Slice 1", "tosa.conv2d@L11 + tosa.clamp@L13") in found
    assert ("CDMA LRAM to DTCM", "tosa.cast@L15") in found
    # A place in the function alone is no operation of the model.
    assert ("DMA In", "DMA In") in found


def test_what_is_more_than_its_unit_keeps_its_name_too():
    found = labels_by_name("compile_c0_callsite.csv", "tiny_cnn.mlir")
    assert ("conv2d", "conv2d · tosa.conv2d@L11") in found
    assert ("DMA In", "tosa.conv2d@L11") in found


def test_counts_and_neighbors():
    assert (operator_count(1), operator_count(6)) == ("1 op", "6 ops")
    table = linked("cnn_xnnpack_x10", "cnn_teal_xnnpack")
    near = next(x for x in table.links if x.reason is Reason.NO_DELEGATE_MAP)
    assert describe_near(near) == f"one of {len(near.near)} operators of its call"
    linked_one = next(x for x in table.links if x.operators)
    assert describe_near(linked_one) == ""


@pytest.mark.parametrize(
    ("reason", "count", "said", "title"),
    [
        (Reason.IN_BRANCH, 1, "probably the only such operator in a branch",
         "Operators in branches"),
        (Reason.IN_BRANCH, 3, "one of 3 such operators in branches", "Operators in branches"),
        (Reason.OTHER_OPERATOR, 2, "", "Operators of its debug handle"),
        (Reason.WHOLE_CALL, 2, "", "Operators of its call"),
        (Reason.NO_DELEGATE_MAP, 1, "the operator of its call", "Operators of its call"),
    ],
)  # fmt: skip
def test_what_an_unlinked_event_has_to_do_with_the_operators_near_it(reason, count, said, title):
    link = Link(reason, "", near=tuple(range(count)))
    assert describe_near(link) == said
    assert title_of_near(link) == title


def test_nodes_are_those_of_the_operators_of_a_key():
    workspace = Workspace()
    for name in ("etdump/demo_str_x4.etdp", "etrecord/demo_str.etrecord"):
        workspace.open(str(DATA / name))
    (trace,) = workspace.traces
    table = workspace.links(trace)
    fused = trace.keys.identifier.tolist().index("Fancy Fusion")
    assert [node.op for node in table.nodes(fused)] == [
        "aten.convolution.default", "aten.relu.default",
    ]  # fmt: skip
    texts = node_texts(table)
    assert texts[fused].op_types == ("aten.convolution.default", "aten.relu.default")
    assert texts[fused].names == tuple(node.name for node in table.nodes(fused))
    assert all(place.rpartition(":")[2].isdigit() for place in texts[fused].sources)


def test_what_is_not_linked_has_no_nodes():
    workspace = workspace_of(DATA / "etdump/demo_str_x4.etdp")
    table = workspace.links(workspace.traces[0])
    assert {(t.names, t.op_types, t.modules, t.sources) for t in node_texts(table)} == {
        ((), (), (), ())
    }


def test_a_sentence_lists_a_few_operators_of_a_set(cnn):
    count = len(cnn.program.operators)
    for size in range(2, count + 1):
        label = brief_label(cnn, range(size))
        if size <= 4:
            assert label == set_label(cnn, range(size))
        else:
            assert label.endswith(f" + {size - 3} more operators")
            assert label.count(" + ") <= 3


def test_a_linked_event_that_is_only_numbered_is_called_by_its_operators():
    table = linked("demo_generated_int_x4", "demo_generated_int")
    keys, labels = table.trace.keys, key_labels(table)
    events = np.flatnonzero(keys.kind == KeyKind.DELEGATE_EVENT).tolist()
    assert any(table.links[key].operators for key in events)
    for key in events:
        name, operators = table.trace.strings[keys.name[key]], table.links[key].operators
        expected = set_label(table, operators) or name if is_number(name) else name
        assert labels[key] == expected
        assert not is_number(labels[key]) or not operators


def test_what_is_nothing_but_a_number():
    assert all(map(is_number, ("0", "12", "-1", "0x1F", "3.0", "#7", "2:1", " 5 ")))
    assert not any(map(is_number, ("", "conv2d", "conv 2", "abc", "Slice 1", "12 ms", "x0")))
