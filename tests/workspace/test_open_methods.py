"""Inferences whose method is open: no figure mixes them, and choosing a method settles them."""

import json
from dataclasses import replace

import pytest

from tests.builders.command_line import run
from tests.builders.workspaces import workspace_of
from viewer.model.inference_views import series_of, times_of_methods


@pytest.fixture
def paths(data):
    return [str(data / "pte" / f"et_step.{end}") for end in ("etdp", "etrecord")]


@pytest.fixture
def space(paths):
    return workspace_of(*paths)


def loads(space):
    return [one.load for one in space.traces[0].inferences()]


def test_the_first_run_after_a_load_is_of_another_method_than_that_of_another_load(space):
    (trace,) = space.traces
    assert loads(space) == [1, 2, -1, -1]
    assert len({series_of(trace, one) for one in trace.inferences()}) == 4
    assert len(times_of_methods(trace)) == 4
    assert not any(one.warms_up for one in trace.inferences())


def test_runs_of_a_chosen_method_are_a_series(space, paths):
    space.choose_method(paths[0], "Execute", "decode", (3, 4))
    (trace,) = space.traces
    assert loads(space) == [1, 2, 0, 0]
    assert sorted(own.runs for own in times_of_methods(trace).values()) == [1, 1, 2]
    space.choose_method(paths[0], "Execute", "decode")
    assert loads(space) == [0] * 4
    space.match_automatically(paths[0])
    assert loads(space) == [1, 2, -1, -1]


def test_a_record_with_one_such_method_settles_all_runs(space):
    """A method may be loaded again: then its runs are one series."""
    (record,) = space.programs
    space.add(replace(record, methods=record.methods[:1]))
    assert loads(space) == [0] * 4


def test_nothing_is_slower_than_inferences_of_another_method(paths, capsys):
    """The first one took 14 times as long as the last one."""
    _, out, _ = run(capsys, "findings", "--json", *paths)
    assert "slow-runs" not in out
    _, out, _ = run(capsys, "report", "--markdown", *paths)
    assert "slowest" not in out
    assert "median" not in out


def test_info_lists_the_possible_methods(paths, capsys):
    code, out, _ = run(capsys, "info", "--json", *paths)
    facts = json.loads(out)["files"][0]["inferences"]
    assert code == 0
    assert [(one["method"], one["methods"]) for one in facts] == [
        (None, ["decode", "prefill"])
    ] * 4  # fmt: skip


@pytest.mark.parametrize(
    ("choice", "wanted"),
    [
        ("Execute=decode", ["decode"] * 4),
        ("Execute:1=prefill", ["prefill", None, None, None]),
        ("Execute:2-4=decode", [None, "decode", "decode", "decode"]),
        ("Execute 1=prefill", ["prefill", None, None, None]),
        ("Execute · run 2 of 4=decode", [None, "decode", None, None]),
        ("et_step.etdp:Execute 3=decode", [None, None, "decode", None]),
    ],
)
def test_what_info_prints_can_be_chosen(paths, capsys, choice, wanted):
    code, out, err = run(capsys, "info", "--json", "--method", choice, *paths)
    assert code == 0, err
    facts = json.loads(out)["files"][0]["inferences"]
    assert [one["method"] for one in facts] == wanted
    assert all((one["method"] is None) == bool(one["methods"]) for one in facts)


def test_the_choice_that_info_prints_is_possible(paths, capsys):
    _, out, _ = run(capsys, "info", *paths)
    assert "Execute · run 1 of 4: 83.684" in out
    assert "decode or prefill" in out
    (choice,) = (line.split('"')[1] for line in out.splitlines() if "--method" in line)
    assert choice == "Execute:1=decode"
    code, out, _ = run(capsys, "info", "--method", choice, *paths)
    assert code == 0
    assert "decode · run 1 of 4" in out
