"""`opscope prove`: what it prints, and its exit codes."""

import json
import sys

import pytest

from tests.builders.command_line import run
from tests.paths import DATA, SAMPLES
from viewer.analysis.calls import call_tree
from viewer.reports import proof

FILE = str(SAMPLES / "plain_csv" / "demo_str_x4.csv")


@pytest.fixture
def by_name(monkeypatch):
    """Statistics are checked by names alone: what a command does with the answer is the point."""
    monkeypatch.setattr(proof, "KEYS", ("name",))


@pytest.mark.slow
def test_no_difference(capsys):
    code, out, _ = run(capsys, "prove", FILE)
    assert code == 0
    assert out.splitlines()[0].endswith("figures derived a second way, no difference")
    code, out, _ = run(capsys, "prove", FILE, "--json")
    facts = json.loads(out)
    assert (code, facts["differences"]) == (0, [])
    assert [figure["figure"] for figure in facts["unchecked"]] == [f"{FILE}: summary: findings"]
    assert facts["checked"] > 300


@pytest.mark.slow
def test_a_difference_has_exit_code_3(capsys, monkeypatch, by_name):
    monkeypatch.setattr(call_tree, "clipped", lambda slices, *_: (slices.start, slices.end + 1))
    code, out, _ = run(capsys, "prove", FILE)
    assert code == 3
    assert "calls by name: " in out
    assert "reported" in out
    code, out, _ = run(capsys, "prove", FILE, "--json")
    assert code == 3
    assert {"figure", "shown", "derived"} == set(json.loads(out)["differences"][0])


def test_without_a_profile_there_is_nothing_to_derive(capsys):
    record = str(SAMPLES / "plain_csv" / "demo_str.etrecord")
    assert run(capsys, "prove", record)[0] == 1


@pytest.mark.slow
def test_a_comparison_is_checked_too(capsys, by_name):
    arms = [str(DATA / "compare" / "05_swapped" / f"{side}.etdp") for side in "ab"]
    code, out, _ = run(capsys, "prove", arms[0], "--with", arms[1], "--json")
    alone = [json.loads(run(capsys, "prove", path, "--json")[1])["checked"] for path in arms]
    assert code == 0
    assert json.loads(out)["checked"] > sum(alone) + 20


def test_without_duckdb_one_sentence_says_how_to_get_it(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    code, _, err = run(capsys, "prove", FILE)
    assert code == 2
    assert "queries need duckdb" in err
