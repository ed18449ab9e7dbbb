"""What `opscope fleet compare` prints."""

import json
from dataclasses import replace

import pytest

from viewer.analysis.comparison.arms import WallRate
from viewer.analysis.comparison.comparison import Doubt, Verdict
from viewer.cli import main
from viewer.fleet.answers.arms import parse_arm
from viewer.fleet.answers.comparison import (
    compare_lake,
    lake_comparison_facts,
    lake_comparison_text,
)
from viewer.fleet.lake import Lake

A, B = parse_arm("build=9"), parse_arm("build=10")


def test_groups_with_proven_changes_are_shown_first_and_the_others_counted(lake_of_builds):
    found, notes = compare_lake(Lake(str(lake_of_builds)), A, B)
    lines = lake_comparison_text(A, B, found, notes).splitlines()
    assert lines[:5] == [
        "A: build=9", "B: build=10", "1 of 2 groups have a proven change.", "",
        "model=net, device=phone1: 3 + 3 sessions",
    ]  # fmt: skip
    assert any("blocks.1.dw" in line and "slower" in line for line in lines)
    assert lines[-1] == "1 more group without a proven change. --all shows them."
    everything = lake_comparison_text(A, B, found, ["note"], everything=True)
    assert "model=net, device=phone2" in everything
    assert everything.endswith("note: note")


def test_json_has_every_group_and_row(lake_of_builds):
    found, notes = compare_lake(Lake(str(lake_of_builds)), A, B)
    facts = lake_comparison_facts(A, B, found, notes)
    assert facts["schema"] == "opscope-fleet-compare/1"
    assert (facts["a"], facts["b"]) == ({"build": "9"}, {"build": "10"})
    first, second = facts["groups"]
    assert (first["device"], first["changed"], second["changed"]) == ("phone1", True, False)
    assert first["sessions"] == first["profiles"] == [3, 3]
    (slow,) = [row for row in first["rows"] if row["verdict"] == "slower"]
    assert slow["label"].startswith("blocks.1.dw")
    assert slow["change_ns"] == pytest.approx(slow["b_ns"] - slow["a_ns"], abs=1)
    assert slow["change"] == pytest.approx(1, abs=0.01)


def test_an_assumed_clock_is_noted_and_no_option_is_named_that_the_command_lacks(lake_of_builds):
    found, _ = compare_lake(Lake(str(lake_of_builds)), A, B)
    one = replace(found[0], note="The clock is assumed: 1 cycle = 1 ns.")
    assert "1 cycle = 1 ns." in lake_comparison_text(A, B, [one], [])
    whole = replace(one.inference, verdict=Verdict.CANNOT_TELL, doubt=Doubt.DIFFERENT_CLOCKS)
    text = lake_comparison_text(A, B, [replace(one, inference=whole)], [])
    assert "different clocks" in text
    assert "--clock" not in text


def test_rates_of_the_wall_time_are_those_of_opscope_compare(lake_of_builds, builds, capsys):
    found, notes = compare_lake(Lake(str(lake_of_builds)), A, B)
    (group,) = (
        one
        for one in lake_comparison_facts(A, B, found, notes)["groups"]
        if one["device"] == "phone1"
    )
    arms = [
        [str(path) for path in (builds / build / "phone1/net").iterdir()] for build in ["9", "10"]
    ]
    main(["compare", *arms[0], "--with", *arms[1], "--json"])
    compared = json.loads(capsys.readouterr().out)["arms"]
    for arm in "ab":
        for name, figure in group["rates"][arm].items():
            assert figure == pytest.approx(compared[arm][name], rel=1e-5)
        assert group["rates"][arm]["per_second"] > 0


def test_a_good_part_between_inferences_is_in_the_text(lake_of_builds):
    found, _ = compare_lake(Lake(str(lake_of_builds)), A, B)
    rates = WallRate(100.0, 1_500_000.0, 0.15), WallRate(80.0, 4_000_000.0, 0.32)
    text = lake_comparison_text(A, B, [replace(found[0], rates=rates)], [])
    assert "Wall time: 100 → 80 inferences per second; 1.500 ms → 4.000 ms between" in text
    assert "Wall time" not in lake_comparison_text(
        A, B, [replace(found[0], rates=(None, None))], []
    )
