"""Phases of traces: what the times show, what a program excludes, what the user chooses."""

import numpy as np
import pytest

from tests.builders.inference_trace import inference_trace
from viewer.analysis.sequence.phases import evidence_of, with_phases
from viewer.model.building.builder import TraceBuilder
from viewer.model.inference_views import times_of_methods
from viewer.model.trace import Clock, KeyKind, RunKind, Trace


def unknown(scope: int) -> bool | None:
    return None


def chat(prompts: int = 1, steps: int = 20) -> Trace:
    """Prompts of 15 times the work, each followed by steps whose attention grows."""
    runs, at = [], 1000
    for _ in range(prompts):
        for step in range(steps + 1):
            work = 15 if step == 0 else 1
            operators = [("linear", 4000 * work), ("attention", (500 + 20 * step) * work)]
            runs.append((at, operators))
            at += sum(ns for _, ns in operators) + 300
    return inference_trace("chat", runs, load=900)


@pytest.mark.parametrize("prompts", [1, 3])
def test_prefill_and_decode_are_series_of_their_own(prompts: int) -> None:
    trace = with_phases(chat(prompts), unknown, {})
    first = [run.number for run in trace.inferences() if run.phase == "prefill"]
    assert first == [1 + 21 * prompt for prompt in range(prompts)]
    times = {series[3]: own for series, own in times_of_methods(trace, warm_up=True).items()}
    assert times["prefill"].median == 15 * 4500
    assert times["decode"].runs == 20 * prompts
    assert "operators take" in evidence_of(trace, unknown)[0]


def test_prefill_does_not_warm_up_and_decode_warms_up_by_itself() -> None:
    trace = with_phases(chat(), unknown, {})
    assert [run.number for run in trace.inferences() if run.warms_up] == [2, 3, 4]


def test_a_program_with_static_sizes_has_no_phases() -> None:
    trace = chat()
    assert with_phases(trace, lambda scope: False, {}) is trace


def test_the_user_names_merges_and_splits_phases() -> None:
    trace = chat()
    chosen = {(0, number): "first" if number < 4 else "" for number in range(1, 22)}
    runs = list(with_phases(trace, unknown, chosen).inferences())
    assert [run.phase for run in runs] == ["first"] * 3 + [""] * 18
    merged = with_phases(trace, unknown, {(0, number): "" for number in range(1, 22)})
    assert merged is trace


def test_single_slow_inferences_are_no_phase() -> None:
    random = np.random.default_rng(0)
    runs, at = [], 0
    for number in range(60):
        times = random.integers(900, 1100, 3)
        times[0] *= 40 if number in (0, 31) else 1
        runs.append((at, list(zip("abc", times.tolist(), strict=True))))
        at += int(times.sum()) + 10
    trace = inference_trace("slow", runs, load=0)
    assert with_phases(trace, unknown, {}) is trace


@pytest.mark.parametrize("seed", range(20))
def test_two_methods_that_take_turns_have_no_phases(seed: int) -> None:
    """Each method does the same work in all of its inferences, however they are mixed."""
    random = np.random.default_rng(seed)
    builder = TraceBuilder("two", "test", "", Clock())
    scopes = [builder.scope(name) for name in ("encoder", "decoder")]
    tracks = [builder.track("p", name) for name in ("encoder", "decoder")]
    at = 0
    for method in random.integers(0, 2, 80).tolist():
        start = at
        for name in "abc":
            length = int(random.normal(1, 0.05) * (60_000, 3_000)[method])
            builder.add(
                track=tracks[method], start=np.array([at]), end=np.array([at + length]),
                name=builder.intern(name),
                key=builder.key(KeyKind.PLAIN, name, scope=scopes[method]),
            )  # fmt: skip
            at += length
        builder.run(RunKind.INFERENCE, "run", tracks[method], scopes[method], start, at)
        at += 100
    trace = builder.build()
    assert with_phases(trace, unknown, {}) is trace
    assert len(times_of_methods(trace)) == 2
