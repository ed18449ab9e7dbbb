"""Which runs of an ETDump are of one method."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.builders.etdump_cases import read_path
from tests.builders.etdump_writer import Event, delegate, framework, operator
from viewer.formats.executorch.etdump import methods as etdump_methods
from viewer.model.queries import run_of_slices
from viewer.model.trace import KeyKind, RunKind


def execution(kernels: list[str], start: int) -> tuple[str, list[Event]]:
    events = []
    for i, kernel in enumerate(kernels):
        at = start + 10 * i + 1
        events += [
            operator(kernel, i, at + 1, at + 2), operator("OPERATOR_CALL", i, at, at + 3)
        ]  # fmt: skip
    return "Execute", [*events, framework("Method::execute", start, start + 100)]


def load(start: int) -> tuple[str, list[Event]]:
    return "Default", [framework("Method::init", start, start + 10)]


def delegated(identifiers: list[int | str], start: int) -> tuple[str, list[Event]]:
    """A run that a delegate swallowed whole, with what the delegate logged."""
    inner = [delegate(name, 0, start + 2, start + 3) for name in identifiers]
    return "Execute", [*inner, operator("DELEGATE_CALL", 0, start + 1, start + 9)]


def test_runs_that_contradict_each_other_are_methods_of_their_own(dump):
    encoder, decoder = ["native_call_a", "native_call_b"], ["native_call_a", "native_call_c"]
    trace = read_path(
        dump(
            load(0),
            load(50),
            execution(encoder, 100),
            load(300),
            ("Execute", []),
            execution(decoder, 400),
            execution(encoder, 600),
            load(900),
        )
    )
    assert [t.thread for t in trace.tracks] == ["Execute 1", "Execute 2", "load"]
    assert [(r.kind, r.number, trace.tracks[r.track].thread) for r in trace.runs] == [
        (RunKind.LOAD, 0, "load"),
        (RunKind.LOAD, 0, "Execute 1"),
        (RunKind.INFERENCE, 1, "Execute 1"),
        (RunKind.LOAD, 0, "Execute 2"),
        (RunKind.INFERENCE, 1, "Execute 2"),
        (RunKind.INFERENCE, 2, "Execute 1"),
        (RunKind.LOAD, 0, "load"),
    ]
    scopes = {trace.scopes[r.scope].name for r in trace.runs if r.kind is RunKind.LOAD}
    assert scopes == {"load"}
    kernels = {
        (trace.scopes[int(trace.keys.scope[k])].name, trace.strings[int(trace.keys.name[k])])
        for k in range(len(trace.keys))
        if trace.keys.kind[k] == KeyKind.KERNEL
    }
    assert ("Execute 1", "native_call_b") in kernels
    assert ("Execute 2", "native_call_b") not in kernels


def test_after_one_load_there_is_one_method(dump):
    """A loop or a branch may run other instructions each time."""
    trace = read_path(dump(load(0), execution(["native_call_a"], 100), execution([], 300)))
    assert [t.thread for t in trace.tracks] == ["Execute"]
    assert [r.number for r in trace.runs] == [0, 1, 2]


def test_a_call_of_an_operator_contradicts_a_call_of_a_delegate(dump):
    call = ("Execute", [operator("DELEGATE_CALL", 0, 401, 409)])
    trace = read_path(dump(load(0), load(50), execution(["native_call_a"], 100), call))
    assert [r.scope for r in trace.inferences()] == [0, 1]


def test_methods_that_a_delegate_swallowed_are_told_apart_by_what_it_logged(dump):
    linear, both = ["linear"], ["linear", "sigmoid"]
    runs = [delegated(names, 100 * i) for i, names in enumerate([linear, both, linear, both], 1)]
    trace = read_path(dump(load(0), load(50), *runs))
    assert [r.scope for r in trace.inferences()] == [0, 1, 0, 1]


def test_what_a_delegate_logs_makes_no_more_methods_than_were_loaded(dump):
    runs = [delegated([f"step {i}"], 100 * i) for i in range(1, 5)]
    trace = read_path(dump(load(0), load(50), *runs))
    assert [r.scope for r in trace.inferences()] == [0, 0, 0, 0]


def test_a_method_that_begins_like_another_is_one_of_its_own(dump):
    short, long = ["native_call_a", "native_call_b"], ["native_call_a", "native_call_b"] * 2
    runs = [execution(names, 1000 * i) for i, names in enumerate([short, long, short, long], 1)]
    trace = read_path(dump(load(0), load(50), *runs))
    assert [r.scope for r in trace.inferences()] == [0, 1, 0, 1]


def test_lengths_make_no_more_methods_than_were_loaded(dump):
    runs = [execution(["native_call_a"] * i, 1000 * i) for i in range(1, 5)]
    trace = read_path(dump(load(0), load(50), *runs))
    assert [r.scope for r in trace.inferences()] == [0, 0, 0, 0]


def test_a_run_that_failed_half_way_is_no_other_method(dump):
    name, events = execution(["native_call_a", "native_call_b"], 1000)
    failed = (name, events[:2])
    trace = read_path(dump(load(0), load(50), (name, events), failed))
    assert [r.scope for r in trace.inferences()] == [0, 0]


def test_a_run_that_failed_hides_no_length_from_runs_that_logged_the_same(dump):
    """It got as far as the end of the shorter method, but is of the longer one."""
    name, cut = execution(["native_call_a"] * 2, 1000)
    long, short = execution(["native_call_a"] * 3, 2000), execution(["native_call_a"] * 2, 3000)
    trace = read_path(dump(load(0), load(50), (name, cut[:-1]), long, short))
    assert [r.scope for r in trace.inferences()] == [0, 0, 1]


def test_branches_of_one_method_may_differ_in_length(dump):

    def branching(start: int, *ids: int, last: int) -> tuple[str, list[Event]]:
        end = {3: "JF_CALL", 6: "MOVE_CALL"}.get(last, "OPERATOR_CALL")
        return "Execute", [
            operator("JF_CALL", 0, start, start),
            *(operator("OPERATOR_CALL", i, start + i, start + i) for i in ids),
            operator(end, last, start + 9, start + 9),
            framework("Method::execute", start, start + 10),
        ]

    one = [branching(1000, 1, 2, last=5), branching(2000, 4, last=5)]
    longer = [branching(3000, 1, 2, 5, last=7), branching(4000, 4, 5, last=7)]
    trace = read_path(dump(load(0), load(50), *one, *longer))
    assert [r.scope for r in trace.inferences()] == [0, 0, 1, 1]
    open_end = [branching(1000, 1, 2, last=3), branching(2000, 4, last=6)]
    trace = read_path(dump(load(0), load(50), *open_end))
    assert [r.scope for r in trace.inferences()] == [0, 0]


def test_a_move_contradicts_a_jump(dump):
    runs = [
        ("Execute", [operator("OPERATOR_CALL", 0, at, at + 5), operator(name, 1, at + 6, at + 7)])
        for at, name in ((100, "MOVE_CALL"), (200, "JF_CALL"), (300, "MOVE_CALL"))
    ]
    trace = read_path(dump(load(0), load(50), *runs))
    assert [r.scope for r in trace.inferences()] == [0, 1, 0]


def test_the_number_of_methods_is_bounded(dump):
    most = etdump_methods.MOST_METHODS
    runs = [execution([f"native_call_{i}"], 1000 * i + 100) for i in range(most + 20)]
    trace = read_path(dump(load(0), load(50), *runs))
    assert len({r.scope for r in trace.inferences()}) == most
    assert [p.kind for p in trace.problems] == [
        f"more than {most} methods: the rest are shown as the last"
    ]


def test_a_hundred_methods_told_apart_by_identifiers_keep_their_own(dump):
    loads = [load(i) for i in range(0, 700, 7)]
    runs = [delegated([f"step {i}", "copy"], 1000 * i) for i in range(1, 101)]
    trace = read_path(dump(*loads, *runs))
    scope = np.array([run.scope for run in trace.runs])
    assert len(set(scope.tolist())) == 101
    of_slice = scope[run_of_slices(trace)]
    assert (trace.keys.scope[trace.slices.key] == of_slice).all()


@pytest.mark.parametrize("seed", range(80))
def test_no_part_of_the_runs_has_several_methods(dump, seed):
    """Whatever the order of loads and runs, if a method loaded alone is the next to run."""
    rng = random.Random(seed)
    runs, truth, loaded, left, at = [], [], [], list(range(rng.randint(2, 4))), 0
    while left or rng.random() < 0.8:
        at += 1000
        if left and (not loaded or rng.random() < 0.4):
            count = rng.randint(1, len(left))
            new, left = left[:count], left[count:]
            loaded += new
            runs += [load(at + 20 * i) for i in range(count)]
            ran = new[0] if count == 1 else rng.choice(loaded)
        else:
            ran = rng.choice(loaded)
        runs.append(execution(["native_call_a", "native_call_b"], at + 500))
        truth.append(ran)
    trace = read_path(dump(*runs))
    assert {trace.scopes[run.scope].name for run in trace.inferences()} == {"Execute"}
    if not any(run.load for run in trace.runs):
        alone = sum(
            a.kind is not RunKind.LOAD and b.kind is RunKind.LOAD and c.kind is not RunKind.LOAD
            for a, b, c in zip(trace.runs, trace.runs[1:], trace.runs[2:], strict=False)
        )
        assert alone + (trace.runs[1].kind is not RunKind.LOAD) < 2  # nothing shows several methods
        return
    methods: dict[int, set[int]] = {}
    for run, ran in zip(trace.inferences(), truth, strict=True):
        methods.setdefault(run.part, set()).add(ran)
    assert all(len(own) == 1 for own in methods.values())
