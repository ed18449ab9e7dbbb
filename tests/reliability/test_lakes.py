"""The campaign of changed lakes: what it calls a finding, and a few lakes."""

import json
import random
import shutil

import pytest

from tests.reliability.lakes import changes, check
from tests.reliability.lakes.check import Lakes, Said, command
from tests.reliability.lakes.sound import tree, write_witnesses

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def lakes(tmp_path_factory):
    return Lakes(tmp_path_factory.mktemp("lakes"))


@pytest.mark.nightly  # the daily campaign changes twice as many
def test_changed_lakes_have_no_findings(lakes):
    found = [lakes.check(random.Random(f"test {number}")) for number in range(12)]
    assert [(one.story, one.fault) for one in found if one.fault] == []
    assert "named" in {one.end for one in found}


@pytest.mark.parametrize("number", range(9))
def test_sound_lakes_are_as_before(lakes, monkeypatch, number):
    monkeypatch.setattr(check, "change", lambda lake, dice: ([], False))
    dice = random.Random(number)
    monkeypatch.setattr(dice, "randrange", lambda *_: number)
    assert (lakes.check(dice).end, lakes.check(dice).fault) == ("as before", "")


@pytest.mark.parametrize("kind", dict.fromkeys(changes.CHANGES))
def test_every_change_changes_the_lake_and_nothing_else(lakes, tmp_path, kind):
    seen = set()
    for number in range(12):
        world = tmp_path / str(number)
        # One with snapshots, for their changes.
        shutil.copytree(lakes.sound["snapshot" in kind.__name__ and 7], world / "lake")
        write_witnesses(world)
        outside = tree(world, world / "lake")
        before = tree(world / "lake", world / "none")
        kind(world / "lake", random.Random(number))
        assert tree(world, world / "lake") == outside
        seen.add(tree(world / "lake", world / "none") != before)
    assert True in seen


def rows(**more):
    return json.dumps([{"files": 6, "ns": 5} | more])


@pytest.mark.parametrize(
    ("said", "is_forged", "verdict"),
    [
        (Said(0, rows(), ""), False, ("as before", False)),
        (Said(0, rows(files=5), ""), False, ("as before", True)),
        (Said(0, rows(files=5), "opscope: answers lack"), False, ("named", False)),
        (Said(0, rows(ns=5000), ""), True, ("forged", False)),
        (Said(2, "", "opscope: damaged"), False, ("refused", False)),
    ],
)
def test_rows_that_are_missing_without_a_word_are_a_finding(lakes, said, is_forged, verdict):
    sound = [json.loads(rows())[0]]
    end, fault = check.judged(said, sound, "as before", is_forged=is_forged)
    assert (end, bool(fault)) == verdict


@pytest.mark.parametrize(
    ("code", "err", "is_fault"),
    [
        (0, "", False),
        (2, "opscope: lake: damaged\n", False),
        (2, "", True),
        (1, "opscope: fleet failed because of an error in Opscope (KeyError)", True),
        (-1, "no end after 10 s", True),
        (0, "Traceback (most recent call last)", True),
    ],
)
def test_an_unexpected_end_is_a_finding(code, err, is_fault):
    assert bool(Said(code, "", err).fault) == is_fault


def test_a_command_that_does_not_end_is_a_finding(monkeypatch):
    def endless(words):
        while True:
            pass

    monkeypatch.setattr(check, "_MOST_SECONDS", 0.1)
    monkeypatch.setattr("viewer.cli.main", endless)
    assert "no end" in command("status", "lake").fault
