"""Slices far from all others: what is reported, how far it is, and which traces have none."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.clocked_traces import NS, clocked_trace
from tests.builders.delegation_cases import DATA, SAMPLES
from viewer.analysis.findings.finding import Family, Finding, TimeView
from viewer.analysis.findings.findings import FindingsAnalysis
from viewer.analysis.findings.gaps import FEW, TIMES, FarTimes, far_times
from viewer.analysis.links.linker import unlinked
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.model.building.builder import TraceBuilder
from viewer.model.figures import WHOLE
from viewer.model.times import LAP, plain_spaces
from viewer.model.trace import Clock, KeyKind, RunKind, Trace

S = 10**9
HOUR = 3600 * S
DAY = 24 * HOUR
EPOCH = 51 * 8766 * HOUR  # since 1970
US = Clock("us", Fraction(1000))


def work(start: int, count: int = 20, each: int = 100_000) -> list[tuple[int, int]]:
    """Slices one after another."""
    return [(start + i * each, start + (i + 1) * each - each // 4) for i in range(count)]


def reported(trace: Trace) -> Finding:
    findings = FindingsAnalysis(unlinked(trace)).of(WHOLE, trace.clock.ns_per_tick)
    return findings.found[0]


def title(*slices: tuple[int, int], clock: Clock = NS) -> str:
    one = reported(clocked_trace("far", clock, *slices))
    assert one.family is Family.FAR_TIMES
    return plain_spaces(one.title)


def test_events_at_0_next_to_times_since_1970():
    slices = [(0, 5), (0, 9), (7, 8), *work(EPOCH // 1000, each=1000)]
    assert title(*slices, clock=US) == "Zoom to the rest: 3 slices are 51 years before it"
    one = reported(clocked_trace("far", US, *slices))
    assert one.place == TimeView(EPOCH // 1000, EPOCH // 1000 + 19_751)
    assert plain_spaces(one.detail) == (
        "The 20 other slices take 19.750 ms of 51 years. Far away: a."
    )


@pytest.mark.parametrize(
    ("away", "text"),
    [
        (3 * 8766 * HOUR, "3 years"), (8766 * HOUR, "1 year"), (60 * DAY, "60 days"),
        (60 * HOUR, "2.5 days"), (DAY, "1 day"), (5 * HOUR, "5 hours"), (HOUR // 4, "15 minutes"),
    ],
)  # fmt: skip
def test_the_distance_has_a_unit_that_people_use(away, text):
    late = work(0)[-1][1] + away
    assert title(*work(0), (late, late + 5)) == f"Zoom to the rest: 1 slice is {text} after it"


def test_both_sides_and_different_distances():
    middle = 10 * DAY
    slices = [(0, 1), (5 * DAY, 5 * DAY + 1), *work(middle), (middle + 4 * HOUR, middle + 5 * HOUR)]
    assert title(*slices) == (
        "Zoom to the rest: 2 slices are 5 days to 10 days before it and 1 slice is 4 hours after it"
    )


def test_strays_at_very_different_distances_are_all_outside():
    """Next to 51 years, 3 days are as near as the rest: those are found in a second step."""
    slices = [(0, 1), (EPOCH - 3 * DAY, EPOCH - 3 * DAY + 1), *work(EPOCH)]
    found = far_times(clocked_trace("far", NS, *slices))
    assert found is not None
    assert (found.start, found.end) == (EPOCH, work(EPOCH)[-1][1])
    assert len(found.before) == 2


def test_what_starts_in_1970_and_ends_now():
    late = work(EPOCH)[3][1]
    assert title((0, late), *work(EPOCH)) == "Zoom to the rest: 1 slice is 51 years before it"


def test_what_a_wrap_leaves_behind():
    """The rest is at the same times modulo 2^32."""
    late = LAP + work(0)[-1][1] - 50
    assert title(*work(0), (late, late + 40)) == "Zoom to the rest: 1 slice is 4.295 s after it"
    late = LAP + LAP // 2
    assert far_times(clocked_trace("far", NS, *work(0), (late, late + 40))) is None


def with_runs(*runs: tuple[RunKind, int, int]) -> Trace:
    """Runs of a slice each, and twenty inferences after an hour."""
    builder = TraceBuilder("runs", "test", "", NS)
    track, scope = builder.track("p", "t"), builder.scope("Execute")
    all_runs = [*runs, *((RunKind.INFERENCE, start, end) for start, end in work(3 * HOUR))]
    key, name = builder.key(KeyKind.PLAIN, "a"), builder.intern("a")
    for kind, start, end in all_runs:
        builder.add(track=track, start=np.array([start]), end=np.array([end]), name=name, key=key)
        builder.run(kind, "run", track, scope, start, end)
    return builder.build()


def test_a_load_long_before_the_inferences_is_no_finding():
    assert far_times(with_runs((RunKind.LOAD, 0, 50))) is None
    assert far_times(with_runs((RunKind.INFERENCE, HOUR, HOUR + 50))) is None
    assert far_times(with_runs((RunKind.LOAD, -2 * DAY, -2 * DAY + 50))) is not None


@pytest.mark.parametrize(
    "slices",
    [
        pytest.param([], id="nothing"),
        pytest.param([(5, 6)], id="one slice"),
        pytest.param([(5, 5)] * 4, id="all at one time"),
        pytest.param([(0, 1), (EPOCH, EPOCH + 1)], id="two slices: neither is the rest"),
        pytest.param([*work(0, 5), *work(DAY, 5)], id="two halves"),
        pytest.param([*work(0, 2), *work(30 * S)], id="cold start"),
        pytest.param([(0, 2 * HOUR), *work(HOUR)], id="a span around all"),
        pytest.param([(i * S, i * S + 1) for i in range(9)] + work(4 * S), id="sparse and burst"),
        pytest.param([(i * HOUR, i * HOUR + S) for i in range(100)], id="once an hour"),
    ],
)
def test_ordinary_traces_have_none(slices):
    assert far_times(clocked_trace("near", NS, *slices)) is None


@given(
    scale=st.integers(1, 10**9),
    count=st.integers(3, 60),
    before=st.integers(0, 20),
    after=st.integers(0, 20),
    away=st.integers(10**3, 10**6),
    seed=st.integers(0, 99),
)
def test_whatever_is_far_is_outside_and_the_rest_is_whole(scale, count, before, after, away, seed):
    pick = np.random.default_rng(seed)
    start = np.sort(pick.integers(0, 1000 * scale, count))
    end = start + pick.integers(0, 10 * scale, count)
    first, last = int(start.min()), int(end.max())
    far = max((last - first + 1) * TIMES, 601 * S) * away // 10**3
    early = first - far - pick.integers(0, far // 2, before)
    late = last + far + pick.integers(0, far // 2, after)
    starts, others = np.concatenate([early, start, late]), np.concatenate([early, end, late])
    trace = clocked_trace("far", NS, *zip(starts.tolist(), others.tolist(), strict=True))
    found = far_times(trace)
    if not before + after or before + after > FEW * len(trace.slices):
        assert found is None or (found.start, found.end) != (first, last)
        return
    assert isinstance(found, FarTimes)
    assert (found.start, found.end) == (first, last)
    assert (len(found.before), len(found.after)) == (before, after)


@pytest.mark.slow
def test_no_file_of_the_samples_and_tests_has_far_times():
    """But one that was made of random numbers."""
    paths = [*SAMPLES.rglob("*"), *DATA.rglob("*")]
    reported, count = [], 0
    for path in sorted(path for path in paths if path.is_file()):
        if path.suffix in {".etrecord", ".pte", ".py", ".md"} or "regress" in path.parts:
            continue
        try:
            trace = open_file(str(path))
        except UnreadableFile:
            continue
        if isinstance(trace, Trace):
            count += 1
            reported += [path.name] if far_times(trace) else []
    assert count > 40
    assert not reported
