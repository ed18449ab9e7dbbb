"""Graphs of XNNPACK with and without a header, of both schemas, and what cannot be read of them."""

import numpy as np
import pytest

from tests.builders.pte_writer import Method, write_program, xnnpack_graph
from viewer.formats import open_file
from viewer.formats.executorch.pte.xnnpack import Unread, read_graph
from viewer.program.executable.executable import INSERTED

NODES = [(5, INSERTED), (7, 3), (47, 8)]


def read(data: bytes) -> list[tuple[str, int]]:
    return [(n.type, n.debug_handle) for n in read_graph(np.frombuffer(data, np.uint8)).nodes]


@pytest.mark.parametrize("identifier", [b"XN00", b"XN01"])
@pytest.mark.parametrize("header", [True, False])
def test_nodes_of_both_schemas_with_and_without_a_header(identifier, header):
    found = read(xnnpack_graph(NODES, identifier, header=header))
    assert found == [("XNNStaticTranspose", INSERTED), ("XNNConv2d", 3), ("XNNCos", 8)]


def test_a_graph_states_how_many_results_its_calls_have():
    data = np.frombuffer(xnnpack_graph(NODES, outputs=2), np.uint8)
    assert read_graph(data).outputs == 2


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
