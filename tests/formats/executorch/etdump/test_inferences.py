"""Runs of ETDumps: loads, steps, and clocks that start again."""

from __future__ import annotations

from tests.builders.etdump_cases import EXECUTE, LOAD, read, read_path, rows
from tests.builders.etdump_writer import Event, framework, operator
from viewer.analysis.cost.costs import Costs
from viewer.analysis.links.linker import unlinked
from viewer.analysis.statistics.events import event_statistics
from viewer.formats.executorch.etdump import methods as etdump_runs
from viewer.model.inference_views import mean_run
from viewer.model.trace import KeyKind, Problem, RunKind


def test_steps_are_parted_from_the_load_whose_run_they_are_logged_in(dump):
    """`Method::step` opens no event block of its own."""
    steps = []
    for i in range(3):
        steps += [
            operator("native_call_a", i, 100 * i + 120, 100 * i + 130),
            operator("OPERATOR_CALL", i, 100 * i + 110, 100 * i + 140),
            framework("Method::step", 100 * i + 100, 100 * i + 150),
        ]
    trace = read_path(dump(("Default", [*LOAD[1], *steps])))
    assert [(r.kind, r.number, r.start, r.end) for r in trace.runs] == [
        (RunKind.LOAD, 0, 5, 25),
        (RunKind.INFERENCE, 1, 100, 350),
    ]
    assert rows(trace)[2:5] == [
        ("Method::step", 0, 100, 150),
        ("OPERATOR_CALL", 1, 110, 140),
        ("native_call_a", 2, 120, 130),
    ]
    kernels = trace.keys.kind == KeyKind.KERNEL
    assert {trace.scopes[k].name for k in trace.keys.scope[kernels].tolist()} == {"Execute"}


def test_a_default_run_of_instructions_alone_is_an_inference(dump):
    trace = read_path(dump(("Default", EXECUTE[1])))
    assert [r.kind for r in trace.runs] == [RunKind.INFERENCE]


def test_a_run_that_failed_did_not_finish_and_is_counted():
    """The first of three runs was given a word that the embedding does not have."""
    trace = read("words_failing_x3")
    assert [run.finished for run in trace.inferences()] == [False, True, True]
    assert [run.number for run in trace.finished_inferences()] == [2, 3]
    (problem,) = trace.problems
    assert problem.kind == "inference without Method::execute: it failed or was interrupted"
    assert (problem.count, problem.first) == (1, "event 2")


def test_a_run_whose_delegate_failed_did_not_finish(data):
    trace = read_path(data / "pte" / "mix_str_failed.etdp")
    assert [run.finished for run in trace.inferences()] == [True, False, True]


def test_runs_on_a_clock_that_starts_again_are_threads_of_their_own(dump):
    def run(begin: int, each: int) -> tuple[str, list[Event]]:
        calls = [
            operator("OPERATOR_CALL", i, begin + each * i, begin + each * (i + 1)) for i in range(3)
        ]
        return ("Execute", [*calls, framework("Method::execute", begin, begin + 3 * each)])

    trace = read_path(dump(run(0, 10), run(30, 10), run(0, 20), run(3, 5)))
    assert trace.problems == (
        Problem("the clock restarted: later inferences are on separate threads", 2, "run 2"),
    )
    assert [t.thread for t in trace.tracks] == [
        "Execute", "Execute · clock 2", "Execute · clock 3"
    ]  # fmt: skip
    assert [(r.track, r.number, r.total, r.start, r.end) for r in trace.runs] == [
        (0, 1, 4, 0, 30), (0, 2, 4, 30, 60), (1, 3, 4, 0, 60), (2, 4, 4, 3, 18)
    ]  # fmt: skip
    assert {scope.name for scope in trace.scopes} == {"Execute"}
    costs = Costs(unlinked(trace))
    assert [costs.of_run(run).whole for run in trace.runs] == [30, 30, 60, 15]
    assert len(mean_run(trace).runs) == 1
    assert len(event_statistics(unlinked(trace)).blocks) == 1


def test_a_clock_that_starts_again_thousands_of_times_fills_no_picture(dump, monkeypatch):
    monkeypatch.setattr(etdump_runs, "MOST_CLOCKS", 3)
    runs = [("Execute", [framework("Method::execute", 0, 10 + i)]) for i in range(5)]
    trace = read_path(dump(*runs))
    assert len(trace.tracks) == 3
    assert len(trace.slices) == 5
