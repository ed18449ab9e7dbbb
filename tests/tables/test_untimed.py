"""The table of events without a time: what each row says, with and without a record."""

import numpy as np

from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.model.untimed import value_text
from viewer.tables.slices import UNTIMED, untimed_columns


def rows(*names: str) -> list[dict[str, object]]:
    workspace = workspace_of(*(DATA / name for name in names))
    columns = untimed_columns(workspace.links(workspace.traces[0]), "a.etdp")
    assert tuple(columns) == UNTIMED.names
    lists = [np.asarray(column).tolist() for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def test_a_linked_value_names_its_operator_and_line():
    table = rows("etdump/cnn_portable_x2_debug.etdp", "etrecord/cnn_toedge_portable.etrecord")
    assert len(table) == 28
    assert table[1] == {
        "process": "a.etdp", "run": "forward · run 1 of 2", "event": 5, "after": "OPERATOR_CALL",
        "after_event": 4, "kind": "debug", "name": "", "bytes": 8192, "identifier": "",
        "method": "forward", "chain": 0, "instruction_id": 1, "type": "tensor",
        "value": "f32 1 × 8 × 16 × 16", "output": "", "offset": 8224, "debug_handles": "[2]",
        "operators": '["aten._native_batch_norm_legit_no_training.default"]',
        "source": "/home/user/models/models.py:20",
        "link_reason": "instruction in the debug handle map", "called_from": "",
    }  # fmt: skip
    last = table[13]
    assert (last["output"], last["chain"], last["instruction_id"]) == ("true", -1, "")
    assert (last["operators"], last["link_reason"]) == ("", "logged outside any instruction")


def test_an_allocation_names_its_allocator_and_no_operator():
    (first, second) = rows("etdump/SYN_allocations.etdp")
    told = {name: value for name, value in first.items() if value != ""}
    assert told == {
        "process": "a.etdp", "run": "load", "event": 0, "kind": "allocation",
        "name": "method_allocator", "bytes": 4096,
    }  # fmt: skip
    assert (second["name"], second["bytes"]) == ("planned", 1048576)


def test_values_and_identifiers_are_those_of_the_events():
    table = rows("etdump/SYN_untimed_kinds.etdp")
    workspace = workspace_of(DATA / "etdump/SYN_untimed_kinds.etdp")
    events = workspace.traces[0].untimed
    assert [row["value"] for row in table] == [value_text(events, i) for i in range(len(events))]
    named = [(row["name"], row["identifier"]) for row in table if row["identifier"] != ""]
    assert named == [("fused", "0"), ("µ", "Fancy Fusion")]
    assert [row["bytes"] for row in table[:2]] == [2**64 - 1, 1 << 20]
    assert [row["run"] for row in table[-2:]] == ["Execute · block 3"] * 2
