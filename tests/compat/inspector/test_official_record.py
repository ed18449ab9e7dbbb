"""What the official Inspector takes from a record, and which records it cannot load."""

import json
import zipfile

import pytest

from tests import paths
from viewer.codecs.reading import UnreadableFile
from viewer.compat.inspector import official_record as inspector_record
from viewer.compat.inspector.official_record import InspectorError

DATA = paths.DATA / "etrecord"


@pytest.fixture
def changed(tmp_path):
    """The record demo_manual_int with some members replaced, or left out where None."""

    def write(**members):
        path = tmp_path / "changed.etrecord"
        with zipfile.ZipFile(DATA / "demo_manual_int.etrecord") as source:
            kept = {n: source.read(n) for n in source.namelist()}
        kept |= members
        with zipfile.ZipFile(path, "w") as target:
            for name, data in kept.items():
                if data is not None:
                    target.writestr(name, data if isinstance(data, bytes) else json.dumps(data))
        return str(path)

    return write


def test_the_maps_of_forward_as_texts_in_the_files_order():
    record = inspector_record.read(str(DATA / "demo_manual_int.etrecord")).forward()
    assert record.handles == {"0": [1, 2, 3, 4, 5]}
    assert record.delegates["0"].backend == "BackendManualIntDemo"
    assert list(record.delegates["0"].entries) == ["10", "1", "100", "0", "7"]
    assert record.ops[1] == ["aten.convolution.default"]


def test_nodes_of_branches_are_not_looked_at():
    """cond.etrecord has sin and cos in its branches; the outer graph has a node called cond."""
    record = inspector_record.read(str(DATA / "cond_toedge_portable.etrecord")).forward()
    ops = [op for found in record.ops.values() for op in found]
    assert "cond" in ops
    assert len(ops) < 6


def test_views_of_a_graph_without_deepcopy_are_not_looked_at(changed):
    """Its deserializer gives them no metadata, and so no debug handle."""
    nodes = [
        {"name": name, "target": target, "metadata": {"debug_handle": "1"}}
        for name, target in (
            ("relu", "torch.ops.aten.relu.out"), ("view", "executorch.exir.memory.view")
        )
    ]  # fmt: skip
    graph = {"graph_module": {"graph": {"nodes": nodes}}}
    path = changed(**{"edge_dialect_exported_program/forward": graph})
    assert inspector_record.read(path).forward().ops == {1: ["relu.out"]}


@pytest.mark.parametrize(
    ("members", "kind"),
    [
        ({"ETRECORD_V0": None}, "RuntimeError"),
        ({"reference_outputs": b"\x80\x04]\x94."}, "RuntimeError"),
        ({"edge_dialect_exported_program/forward_constants": None}, "KeyError"),
        ({"more/forward": {}}, "KeyError"),
        ({"edge_dialect_exported_program/forward": {"graph_module": {"graph": {"nodes": [{}]}}}},
         "TypeError"),
    ],
)  # fmt: skip
def test_records_that_it_cannot_load(changed, members, kind):
    with pytest.raises(InspectorError) as stopped:
        inspector_record.read(changed(**members))
    assert stopped.value.kind == kind


@pytest.mark.parametrize(
    ("members", "kind"),
    [
        ({"debug_handle_map": None}, "TypeError"),
        ({"debug_handle_map": {"encode": {}}}, "KeyError"),
        ({"delegate_map": {"encode": {}}}, "KeyError"),
        ({"instruction_id_to_num_outs_map": None}, "TypeError"),
        ({"edge_dialect_exported_program/forward": None}, "KeyError"),
    ],
)
def test_records_that_it_can_load_but_not_link(changed, members, kind):
    loaded = inspector_record.read(changed(**members))
    with pytest.raises(InspectorError) as stopped:
        loaded.forward()
    assert stopped.value.kind == kind


def test_a_record_without_a_delegate_map_is_fine(changed):
    assert inspector_record.read(changed(delegate_map=None)).forward().delegates == {}


@pytest.mark.parametrize(
    "members",
    [
        {"debug_handle_map": {"forward": {"0": ["1"]}}},
        {"debug_handle_map": {"forward": []}},
        {"delegate_map": {"forward": {"0": 7}}},
        {"delegate_map": {"forward": {"0": {"delegate_map": {"1": {}}}}}},
    ],
)
def test_maps_of_another_shape_are_refused(changed, members):
    with pytest.raises(UnreadableFile):
        inspector_record.read(changed(**members)).forward()


def test_a_member_that_would_unpack_to_many_times_the_file(tmp_path):
    path = tmp_path / "bomb.etrecord"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ETRECORD_V0", b"")
        archive.writestr("debug_handle_map", b" " * 10_000_000)
    with pytest.raises(UnreadableFile, match="many times the file"):
        inspector_record.read(str(path))


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"{}"])
def test_what_is_no_archive(tmp_path, data):
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(UnreadableFile):
        inspector_record.read(str(tmp_path / "x"))
