"""The nodes behind slices, as texts of tables."""

from tests.paths import DATA
from viewer.analysis.links.node_texts import node_texts
from viewer.workspace.workspace import Workspace


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
    workspace = Workspace()
    workspace.open(str(DATA / "etdump/demo_str_x4.etdp"))
    table = workspace.links(workspace.traces[0])
    assert {(t.names, t.op_types, t.modules, t.sources) for t in node_texts(table)} == {
        ((), (), (), ())
    }
