"""Delegate debug identifiers: looked up exactly, or by the key that a backend's own form states."""

import json
from pathlib import Path

import pytest

from tests.builders.etdump_writer import Run as Block
from tests.builders.etdump_writer import delegate, framework, operator, write_dump
from viewer.analysis.links.link_table import LinkTable, Reason
from viewer.analysis.links.linker import link
from viewer.analysis.links.match import Match
from viewer.formats import open_file
from viewer.model.trace import Trace
from viewer.program.debug_handles import (
    DelegateMap,
    MapEntry,
    Via,
    is_of_whole_call,
    is_word,
    short_identifier,
)
from viewer.program.program import GraphNode, Method, Operator, Program


def shader(node: object, name: str = "conv2d_10", kernel: str = "conv2d_clamp_1") -> str:
    """What Vulkan logs for one dispatch."""
    operator = {"name": name, "delegate_node_id": node, "args": [0, 1]}
    return json.dumps({"operator": operator, "kernel_name": kernel, "dispatch_id": 7})


INTS = DelegateMap("VulkanBackend", {"0": (1,), "1": (2, 3), "10": (4,)})
TENSORS = DelegateMap(
    "QnnBackend", {"aten_convolution_default": (1,), "aten_relu_default": (2,), "Input": (9,)}
)


@pytest.mark.parametrize(
    ("identifier", "handles"),
    [(10, (4,)), ("10", (4,)), (1, (2, 3)), (0, (1,)), (100, None), ("", None), ("1 0", None)],
)
def test_identifiers_are_found_by_their_exact_text_alone(identifier, handles):
    assert INTS.handles(identifier) == handles


def test_a_shader_of_vulkan_is_found_by_its_node_never_by_digits_in_its_name():
    assert INTS.find(shader(1)) == MapEntry((2, 3), "1", Via.NODE_ID)
    assert INTS.find(shader(10)) == MapEntry((4,), "10", Via.NODE_ID)
    assert INTS.find(shader(5, name="conv_1_10", kernel="10")) is None


@pytest.mark.parametrize(
    "text",
    ["{", "{}", '{"operator": 3}', '{"operator": {"delegate_node_id": true}}', "{" * 100_000,
     '{"operator": {"delegate_node_id": [1]}}', '{"operator": {"delegate_node_id": "1"}}'],
)  # fmt: skip
def test_json_that_states_no_node_is_not_found(text):
    assert INTS.find(text) is None
    assert short_identifier(text) == text


@pytest.mark.parametrize(
    ("identifier", "key"),
    [
        ("aten_convolution_default:OpId_12 (cycles)", "aten_convolution_default"),
        ("aten_relu_default:OpId_14 (us)", "aten_relu_default"),
        ("aten_relu_default:OpId_14", "aten_relu_default"),
        ("Input OpId_2 (cycles)", "Input"),
    ],
)
def test_an_operation_of_qnn_is_found_by_its_tensor(identifier, key):
    assert TENSORS.find(identifier) == MapEntry(TENSORS.entries[key], key, Via.TENSOR)


def test_a_tensor_is_not_found_by_a_part_of_its_name():
    assert TENSORS.find("aten_relu_default_1:OpId_14 (cycles)") is None
    assert TENSORS.find("relu:OpId_14 (cycles)") is None
    assert TENSORS.find("aten_relu_default") == MapEntry((2,), "aten_relu_default", Via.EXACT)


def test_an_identifier_of_the_map_goes_before_what_it_looks_like():
    odd = DelegateMap("Own", {"a:OpId_1": (1,), "a": (2,)})
    assert odd.find("a:OpId_1") == MapEntry((1,), "a:OpId_1", Via.EXACT)


def test_long_texts_are_looked_up_in_no_time():
    assert TENSORS.find(" OpId_1" * 20_000 + "!") is None
    assert TENSORS.find("a" + " " * 100_000) is None


@pytest.mark.parametrize(
    ("identifier", "whole"),
    [
        ("QNN accelerator (execute) time (cycles)", True),
        ("Accelerator (execute excluding wait) time (us)", True),
        ("ETVK_COPY_INPUTS", True),
        ("conv (execute)", False),
        (7, False),
        (None, False),
    ],
)
def test_totals_and_host_events_are_of_the_whole_call(identifier, whole):
    assert is_of_whole_call(identifier) is whole


def test_a_shader_is_called_by_its_kernel():
    assert short_identifier(shader(1)) == "conv2d_clamp_1"
    assert short_identifier(shader(1, kernel="")) == "conv2d_10"
    assert short_identifier("Fancy Fusion") == "Fancy Fusion"
    assert short_identifier(3) == "3"


# -- identifiers in the forms of QNN and Vulkan -------------------------------------------------


SHADER = '{"operator": {"name": "conv_1", "delegate_node_id": 0}, "kernel_name": "conv2d_10"}'


def delegate_table(tmp_path: Path, identifiers: list[str], entries: dict) -> LinkTable:
    """One DELEGATE_CALL with these events, linked to a record with this map."""
    events = [delegate(name, 0, 110 + 2 * i, 111 + 2 * i) for i, name in enumerate(identifiers)]
    dump = write_dump(
        tmp_path / "run.etdp",
        [Block("Execute", [*events, operator("DELEGATE_CALL", 0, 100, 200),
                     framework("Method::execute", 90, 210)])],
    )  # fmt: skip
    trace = open_file(str(dump))
    nodes = [
        GraphNode(name, op, handle)
        for name, op, handle in (
            ("conv", "aten.convolution.default", 1), ("relu", "aten.relu.default", 2)
        )
    ]  # fmt: skip
    method = Method(
        "forward",
        tuple(Operator(i, "forward", n.debug_handle, (n,)) for i, n in enumerate(nodes)),
        {0: (1, 2)},
        {0: DelegateMap("Backend", entries)},
    )
    assert isinstance(trace, Trace)
    return link(trace, Program("model.etrecord", "ETRecord", "1.2+", (method,)))


def links_of(table: LinkTable) -> dict[str, tuple[Reason, list[str]]]:
    keys = table.trace.keys
    return {
        table.trace.strings[int(keys.name[k])]: (x.reason, [o.op for o in table.operators(k)])
        for k, x in enumerate(table.links)
    }


def test_vulkan_and_qnn_state_the_key_of_their_map(tmp_path):
    shaders = delegate_table(tmp_path, [SHADER, "ETVK_EXECUTE"], {"0": (1,), "10": (2,)})
    assert links_of(shaders)[SHADER] == (Reason.BY_NODE_ID, ["convolution"])
    assert links_of(shaders)["ETVK_EXECUTE"] == (Reason.WHOLE_CALL, [])
    tensors = ["relu_default:OpId_3 (cycles)", "QNN (execute) time (cycles)", "elu:OpId_4 (cycles)"]
    found = links_of(delegate_table(tmp_path, tensors, {"relu_default": (2,)}))
    assert found[tensors[0]] == (Reason.BY_TENSOR, ["relu"])
    assert found[tensors[1]] == (Reason.WHOLE_CALL, [])
    assert found[tensors[2]] == (Reason.IDENTIFIER_UNKNOWN, [])


def test_totals_do_not_speak_against_a_pair(tmp_path):
    names = ["relu_default:OpId_3 (cycles)", "QNN (execute) time (cycles)", "ETVK_EXECUTE"]
    table = delegate_table(tmp_path, names, {"relu_default": (2,)})
    assert table.trace_match.match == Match(1.0, 1)


def test_a_total_that_a_map_lists_is_linked_all_the_same(tmp_path):
    name = "mine (execute) time (us)"
    table = delegate_table(tmp_path, [name], {name: (1,)})
    assert links_of(table)[name] == (Reason.BY_IDENTIFIER, ["convolution"])


def test_numbers_and_texts_are_apart_where_the_map_keeps_them_so():
    delegate = DelegateMap("Npu", {10: (1,), "10": (2,), "-3": (3,), 5: (5,)})
    assert [delegate.handles(x) for x in (10, "10", -3, "5")] == [(1,), (2,), (3,), (5,)]
    assert [delegate.handles(x) for x in ("010", "+5", "5.0", 1, "1" * 5000)] == [None] * 5


@pytest.mark.parametrize(
    ("identifier", "is_word_"),
    [(10, False), ("10", False), ("-3", False), ("", True), ("1.5", True), ("conv", True)],
)
def test_numbers_are_no_words(identifier, is_word_):
    assert is_word(identifier) is is_word_
