"""The time between inferences: idle time alone, of one process, where starts are measured."""

from fractions import Fraction

import numpy as np
import pytest

from tests.builders.inference_trace import inference_trace
from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.analysis.sequence.wall_time import gaps_of, rate_of, sequences
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind, RunKind, Trace


def blocks(*spans: tuple[RunKind, int, int], process: str = "p") -> Trace:
    builder = TraceBuilder("blocks", "test", "", Clock())
    track, scope = builder.track(process, "t"), builder.scope("forward")
    for kind, start, end in spans:
        builder.add(
            track=track, start=np.array([start]), end=np.array([end]),
            name=builder.intern("a"), key=builder.key(KeyKind.PLAIN, "a"),
        )  # fmt: skip
        builder.run(kind, "forward", track, scope, start, end)
    return builder.build()


def test_the_first_inference_has_no_gap() -> None:
    trace = inference_trace("t", [(100, [("a", 10)]), (115, [("a", 10)])], load=50)
    assert gaps_of(trace) == [None, None, 5]


def test_a_load_between_inferences_is_not_idle() -> None:
    load, inference = RunKind.LOAD, RunKind.INFERENCE
    trace = blocks((inference, 0, 10), (load, 20, 50), (inference, 60, 70))
    by_start = {run.start: gap for run, gap in zip(trace.runs, gaps_of(trace), strict=True)}
    assert by_start == {0: None, 20: None, 60: 20}


def test_a_rate_counts_the_gaps_before_its_inferences() -> None:
    trace = inference_trace("t", [(at * 100, [("a", 80)]) for at in range(5)])
    (own,) = sequences(trace)
    rate = rate_of(trace, own)
    assert rate is not None
    assert (rate.count, rate.ticks, rate.idle, rate.wall) == (5, 400, 80, 480)
    assert rate.per_second(Fraction(1)) == pytest.approx(5e9 / 480)


def test_decode_steps_per_second_of_wall_time() -> None:
    workspace = workspace_of(DATA / "phases" / "llm_200.etdp")
    trace = workspace.traces[0]
    prefill, decode = sequences(trace)
    assert rate_of(trace, prefill) is None
    rate = rate_of(trace, decode)
    assert rate is not None
    assert set(rate.gaps) == {1_500_000}
    assert round(rate.share, 2) == 0.22
    assert round(rate.per_second(Fraction(1)) or 0) == 146
