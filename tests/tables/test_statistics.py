"""The table of statistics: one row a group of every profile, and what is in no group."""

import csv
import random
from fractions import Fraction

import numpy as np
import pytest

from tests.builders.workspaces import export, workspace_of
from tests.paths import DATA, SAMPLES
from viewer.analysis.statistics.group_table import Group, Spreads
from viewer.model.quantiles import grouped
from viewer.tables.statistics import group_row
from viewer.workspace.exports import NothingToExport
from viewer.workspace.workspace import Workspace

ATTENTION = [
    str(SAMPLES / "attention_xnnpack" / name)
    for name in ("attn_xnnpack_x5.etdp", "attn_teal_xnnpack.etrecord")
]


def table(tmp_path, *paths, by=None):
    space = workspace_of(*paths)
    out = tmp_path / "statistics.csv"
    export(space, str(out), table="statistics", by=by)
    with out.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_operators_and_the_rest_add_up_to_all_runs(tmp_path):
    rows = table(tmp_path, *ATTENTION)
    assert {row["by"] for row in rows} == {"operator"}
    space = workspace_of(*ATTENTION)
    trace = space.traces[0]
    slices = trace.slices
    executes = sum(
        int(slices.end[i] - slices.start[i])
        for i in range(len(slices)) if trace.name(i) == "Method::execute"
    )  # fmt: skip
    assert sum(int(row["self_ticks"]) for row in rows) == executes
    assert sum(float(row["share"]) for row in rows) == pytest.approx(1, abs=1e-4)
    assert rows[-1]["label"] == "(no operator)"
    assert rows[-1]["count"] == ""


def test_several_profiles_stand_below_one_another(tmp_path):
    jobs, plan = DATA / "torq/runtime_r0_nss.csv", DATA / "torq/compile_c0_callsite.csv"
    rows = table(tmp_path, jobs, plan, by="unit")
    assert [row["file"] for row in rows] == sorted((row["file"] for row in rows), reverse=True)
    assert {row["key"] for row in rows if row["file"] == str(plan)} >= {"dma", "slice", "idle"}


def test_without_a_record_it_is_by_name(tmp_path):
    rows = table(tmp_path, ATTENTION[0])
    assert {row["by"] for row in rows} == {"name"}


def test_what_no_profile_has_is_refused_with_the_reason(tmp_path):
    with pytest.raises(
        NothingToExport, match="No statistics by unit: No track belongs to an NPU unit"
    ):
        table(tmp_path, ATTENTION[0], by="unit")
    with pytest.raises(NothingToExport, match="No profile is open"):
        table(tmp_path, ATTENTION[1])
    assert not (tmp_path / "statistics.csv").exists()


def test_what_a_delegates_clock_timed_has_a_column_of_its_own(tmp_path):
    path = DATA / "etdump" / "SYN_qnn_like.etdp"
    assert "delegate_ns" not in table(tmp_path, path, by="name")[0]
    space, out = Workspace(), tmp_path / "rated.csv"
    space.open(str(path))
    space.set_delegate_clock(str(path), "cycles", Fraction(5, 4))
    export(space, str(out), table="statistics", by="name")
    with out.open(newline="", encoding="utf-8") as file:
        rows = {row["label"]: row for row in csv.DictReader(file)}
    own = rows["aten_relu_default:OpId_14 (cycles)"]
    assert (own["delegate_ns"], own["mean_ns"], own["mean_ticks"]) == ("375", "375", "")
    assert rows["DELEGATE_CALL"]["delegate_ns"] == ""


@pytest.mark.parametrize("rate", [Fraction(1), Fraction(5, 4), Fraction(7, 3)])
def test_means_and_percentiles_are_rounded_down_from_the_exact_value(rate):
    dice = random.Random(str(rate))
    for count in range(1, 60):
        durations = sorted(dice.randint(0, 3000) for _ in range(count))
        spreads = Spreads(grouped(np.array(durations), np.zeros(count, np.int64), 1))
        row = group_row("", rate, Group("", 0, 0.0, spread=spreads.of(0)))
        place, rest = divmod(9 * (count - 1), 10)
        after = durations[min(place + 1, count - 1)]
        p90 = durations[place] + Fraction(rest, 10) * (after - durations[place])
        assert row["p90_ns"] == p90 * rate // 1
        assert row["mean_ns"] == Fraction(sum(durations), count) * rate // 1
