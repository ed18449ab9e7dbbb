"""Operators as rows: what a record says of each, and what each cost in a profile."""

import csv
import json

import pytest

from tests.builders.workspaces import export, workspace_of
from tests.paths import SAMPLES
from viewer.analysis.cost.costs import Costs
from viewer.workspace.exports import NothingToExport

SAMPLE = SAMPLES / "attention_xnnpack"
DUMP, RECORD = SAMPLE / "attn_xnnpack_x5.etdp", SAMPLE / "attn_teal_xnnpack.etrecord"


def table(tmp_path, *paths):
    space = workspace_of(*paths)
    out = tmp_path / "operators.csv"
    export(space, str(out), table="operators")
    with out.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file)), space


def test_every_operator_of_the_record_has_its_costs(tmp_path):
    rows, space = table(tmp_path, DUMP, RECORD)
    trace, links = space.traces[0], space.links(space.traces[0])
    assert len(rows) == len(links.program.operators)
    assert {row["file"] for row in rows} == {str(DUMP)}
    # Slow and plain: calls that are of one operator alone are its own time.
    slices = trace.slices
    own, shared = [0] * len(rows), [0] * len(rows)
    for i in range(len(slices)):
        if trace.name(i) not in ("OPERATOR_CALL", "DELEGATE_CALL"):
            continue
        operators = links.links[int(slices.key[i])].operators
        for operator in operators:
            told = own if len(operators) == 1 else shared
            told[operator] += int(slices.end[i] - slices.start[i])
    assert [int(row["self_ticks"]) for row in rows] == own
    assert [int(row["shared_ticks"]) for row in rows] == shared
    assert sum(own) > 0 < sum(shared)


def test_shared_times_add_up_over_distinct_groups(tmp_path):
    rows, space = table(tmp_path, DUMP, RECORD)
    costs = Costs(space.links(space.traces[0])).table()
    times = {}
    for row in rows:
        numbers, ticks = json.loads(row["shared_groups"]), json.loads(row["shared_group_ticks"])
        assert sum(ticks) == int(row["shared_ticks"])
        assert json.loads(row["shared_group_ns"]) == ticks, "1 tick = 1 ns"
        times |= zip(numbers, ticks, strict=True)
    assert sum(times.values()) == costs.shared
    assert sum(int(row["shared_ticks"]) for row in rows) > costs.shared, "it repeats"
    assert list(times.values()) != []
    assert [times[number] for number in sorted(times)] == sorted(times.values(), reverse=True)
    sharing = [{i for i, row in enumerate(rows) if n in json.loads(row["shared_groups"])} for n in
               sorted(times)]  # fmt: skip
    assert sharing == [set(row.operators) for row in costs.rows if row.is_shared]


def test_the_inferences_that_the_costs_cover_are_stated(tmp_path):
    rows, _ = table(tmp_path, DUMP, RECORD)
    assert {(row["inferences"], row["warm_up_inferences"]) for row in rows} == {("5", "1")}


def test_a_record_alone_has_no_costs(tmp_path):
    rows, space = table(tmp_path, RECORD)
    assert len(rows) == len(space.programs[0].operators)
    assert "self_ticks" not in rows[0]
    assert rows[9]["operator"] == "scaled_dot_product_attention"


def test_a_profile_without_a_record_has_no_operators(tmp_path):
    with pytest.raises(NothingToExport, match="No open ETRecord or source"):
        table(tmp_path, DUMP)
