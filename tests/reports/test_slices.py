"""Single slices have the columns of exported tables, and matches are in the requested order."""

import json

import numpy as np
import pytest

from tests.builders.call_traces import trace_of
from tests.builders.workspaces import attention, opened
from viewer.analysis.search.query import parse
from viewer.analysis.search.search import NO_CYCLES
from viewer.reports.slices import (
    BY_DURATION,
    NoSuchSlice,
    WrongQuery,
    search_facts,
    slice_facts,
    slice_rows,
)
from viewer.tables.slices import SLICES, SliceTableSource, slice_columns
from viewer.workspace.snapshot import Snapshot
from viewer.workspace.workspace import Workspace


@pytest.fixture(scope="module")
def workspace():
    return attention()


def first(workspace):
    return Snapshot.of(workspace).traces[0]


@pytest.mark.parametrize("name", ["SYN_qnn_like.etdp", "attn_xnnpack_x5.etdp"])
def test_rows_are_those_of_the_exported_table(name):
    one = first(opened(name))
    every = np.arange(len(one.trace.slices))[::-1]
    rows = slice_rows(one, every)
    source = SliceTableSource(one.table, one.rate.ns_per_tick, one.offset_ns, one.processes)
    columns, count = slice_columns(source)
    assert count == len(rows)
    exported = sorted(
        json.dumps([column.value(i) for column in columns.values()]) for i in range(count)
    )
    lists = ("debug_handles", "operators")
    found = sorted(
        json.dumps([json.dumps(row[k]) if k in lists else row[k] for k in columns]) for row in rows
    )
    assert found == exported
    assert [row["slice"] for row in rows] == every.tolist()
    assert set(SLICES.names) <= set(rows[0])


def test_a_slice_has_its_operators_and_its_place_in_the_tree(workspace):
    (trace,) = workspace.traces
    facts = slice_facts(workspace, trace, 8)
    assert (facts["label"], facts["run"]) == ("blocks.0.qkv · linear", "forward · run 1 of 5")
    (operator,) = facts["linked_operators"]
    assert operator["source"] == {"file": "/home/user/models/models.py", "line": 48}
    assert operator["source_text"].startswith("q, k, v = ")
    assert operator["outputs"] == ["f32[1, 8, 96]"]
    parent = slice_facts(workspace, trace, facts["parent"])
    assert parent["start_ns"] <= facts["start_ns"]
    assert parent["children"] > 1
    assert facts["link"]["what_to_do"] is None


def test_a_slice_without_a_program_says_what_to_open():
    workspace = opened("attn_xnnpack_x5.etdp")
    facts = slice_facts(workspace, workspace.traces[0], 8)
    assert facts["linked_operators"] == []
    assert facts["link"]["reason"] == "no ETRecord or source is linked"
    assert facts["link"]["what_to_do"].startswith("Open the ETRecord")


def test_time_on_a_clock_of_its_own_has_no_self_time():
    workspace = opened("SYN_qnn_like.etdp")
    (trace,) = workspace.traces
    every = [slice_facts(workspace, trace, i) for i in range(len(trace.slices))]
    own_clock = [facts for facts in every if facts["native_dur"] is not None]
    assert own_clock
    assert {facts["self_ns"] for facts in own_clock} == {None}


def test_there_is_no_slice_of_another_number(workspace):
    (trace,) = workspace.traces
    with pytest.raises(NoSuchSlice, match="they are numbered 0 to 726"):
        slice_facts(workspace, trace, 727)


def test_matches_are_in_order_and_limited(workspace):
    one = first(workspace)
    whole = search_facts([one], parse("linear"), 1000)
    starts = [row["start_ns"] for row in whole["rows"]]
    assert starts == sorted(starts)
    assert whole["total"] == whole["shown"] == len(starts)
    some = search_facts([one], parse("linear"), 3)
    assert some["rows"] == whole["rows"][:3]
    assert (some["total"], some["shown"]) == (whole["total"], 3)
    longest = search_facts([one], parse("linear"), 3, BY_DURATION)
    times = sorted((row["dur_ns"] for row in whole["rows"]), reverse=True)
    assert [row["dur_ns"] for row in longest["rows"]] == times[:3]


def test_a_wrong_query_is_a_sentence(workspace):
    one = first(workspace)
    with pytest.raises(WrongQuery, match="not closed"):
        search_facts([one], parse("(a"), 3)
    with pytest.raises(WrongQuery, match="empty"):
        search_facts([one], parse(""), 3)
    with pytest.raises(WrongQuery, match=NO_CYCLES):
        search_facts([one], parse("dur > 3 cycles"), 3)
    assert search_facts([one], parse("zzz"), 3)["total"] == 0


def test_files_without_slices_have_no_matches():
    space = Workspace()
    space.add(trace_of())
    found = search_facts(Snapshot.of(space).traces, parse("x"), 3)
    assert (found["total"], found["rows"]) == (0, [])
    with pytest.raises(NoSuchSlice, match="it has no slices"):
        slice_facts(space, space.traces[0], 0)
