"""Every rule at nothing, at a half and at all: silent, reported, and never more than there is."""

import numpy as np
import pytest

from tests.analysis.findings.test_findings import (
    CALL,
    DELEGATE,
    KERNEL,
    RELUS,
    calls,
    dump,
    estimated,
    found,
    program,
    runs,
    text,
    units,
)
from viewer.analysis.findings.finding import Family, Finding, NotReported
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.linker import unlinked
from viewer.model.building.builder import TraceBuilder
from viewer.model.recorded_names import JOB_ID
from viewer.model.trace import Clock, KeyKind, Unit
from viewer.program.program import GraphNode, Method, Operator, Program


def hot(share: int) -> LinkTable:
    """One of eleven operators takes a share of the time; at 0, all take the same."""
    own = [1_000 * share, *[max(10_000 - 100 * share, 1)] * 10] if share else [100] * 11
    return dump((sum(own), calls(*own)), record=program(*RELUS[:11]))


def copied(share: int) -> LinkTable:
    kernels = [(KERNEL, 0, 0, share, "native_call_permute_copy.out")] if share else []
    kernels += [(KERNEL, 1, share, 100, "native_call_addmm.out")] if share < 100 else []
    return dump((100, kernels))


def not_delegated(share: int) -> LinkTable:
    events = [(DELEGATE, 0, 0, 100 - share, "DELEGATE_CALL")] if share < 100 else []
    events += [(CALL, 1, 100 - share, 100, "OPERATOR_CALL")] if share else []
    return dump((100, events))


def gapped(share: int) -> LinkTable:
    half = max((100 - share) // 2, 1)
    first = (DELEGATE, 0, 0, half, "DELEGATE_CALL")
    return dump((100, [first, (DELEGATE, 1, 100 - half, 100, "DELEGATE_CALL")]))


def without_operator(share: int) -> LinkTable:
    return dump((100, calls(max(100 - share, 1))), record=program(*RELUS))


def only_dma(share: int) -> LinkTable:
    spans = [(Unit.DMA_IN, 0, 100), (Unit.SLICE, share - (share == 100), 100)]
    return units(*spans)


def between(share: int) -> LinkTable:
    """The builder leaves 10 ticks between inferences."""
    return dump(*runs(*[{0: 10_000, 50: 10, 100: 1}[share]] * 4))


def warm(share: int) -> LinkTable:
    return dump(*runs({0: 100, 50: 300, 100: 100_000}[share], 100, 100, 100))


def slow(share: int) -> LinkTable:
    return dump(*runs(*[100] * 5, {0: 100, 50: 500, 100: 100_000}[share], 100, 100))


def changed(share: int) -> LinkTable:
    return dump(*runs(*[100] * 10, *[{0: 100, 50: 300, 100: 100_000}[share]] * 10))


RULES = {
    Family.LARGEST: (hot, "Speed up m0 · relu", 50.0, 100.0),
    Family.COPIES: (copied, "Avoid copies, layout changes and conversions", 50.0, 100.0),
    Family.GAPS: (gapped, "Close gaps between instructions", 50.0, 98.0),
    Family.NO_OPERATOR: (without_operator, "Look into time without an operator", 50.0, 99.0),
    Family.DMA: (only_dma, "Overlap DMA with compute", 50.0, 99.0),
    Family.WARM_UP: (warm, "Warm up before the first inference", 33.3, 99.6),
    Family.SLOW_RUNS: (slow, "Look into inference 6, which took", 33.3, 99.2),
    Family.CHANGES: (changed, "Prevent the slowdown, from inference 11 on", 54.1, 99.8),
}


@pytest.mark.parametrize("family", [*RULES, Family.OUTSIDE, Family.BETWEEN])
def test_nothing_is_silent(family: Family) -> None:
    make = {Family.OUTSIDE: not_delegated, Family.BETWEEN: between}
    made = make.get(family) or RULES[family][0]
    assert isinstance(found(made(0), family), NotReported)


@pytest.mark.parametrize("family", RULES)
def test_a_half_and_all_are_reported_with_their_shares(family: Family) -> None:
    make, action, half, every = RULES[family]
    for share, expected in ((50, half), (100, every)):
        one = found(make(share), family)
        assert isinstance(one, Finding)
        assert text(one).startswith(action)
        assert 100 * one.share == pytest.approx(expected, abs=0.06)
        assert 0 < one.ticks <= one.whole


def test_work_outside_delegates_names_the_part_or_the_model() -> None:
    half, every = (found(not_delegated(share), Family.OUTSIDE) for share in (50, 100))
    assert text(half).startswith("Delegate the work that ran outside: up to 50 ns (50.0 %")
    assert text(every).startswith("Delegate the model: nothing runs in a delegate: up to 100 ns")


def test_time_between_inferences_is_a_part_of_the_wall_time() -> None:
    half, every = (found(between(share), Family.BETWEEN) for share in (50, 100))
    assert "42.9 % of the wall time" in text(half)  # 3 gaps of 4 inferences
    assert "88.2 % of the wall time" in text(every)
    assert half.gain.ticks == every.gain.ticks == 0


@pytest.mark.parametrize(("linked", "title"), [(12, None), (6, "6 of 12"), (1, "11 of 12")])
def test_slices_without_a_link_at_the_extremes(linked: int, title: str | None) -> None:
    table = dump((120, calls(*[10] * 12)), record=program(*RELUS[:linked]))
    one = found(table, Family.LINKS)
    assert isinstance(one, NotReported) is (title is None)
    assert title is None or text(one).startswith(f"Link {title} linkable slices")


@pytest.mark.parametrize("mean", [100, 300, 100_000])
def test_estimates_at_the_extremes(mean: int) -> None:
    table = units((Unit.NSS, 0, 45), (Unit.NSS, 45, 100), **{JOB_ID: 0})
    one = found(table, Family.ESTIMATES, estimates=estimated(table, mean, 100))
    if mean == 100:
        assert isinstance(one, NotReported)
    else:
        assert one.share == pytest.approx((mean - 100) / mean)


@pytest.mark.parametrize("count", [8, 10, 12])
def test_of_equal_operators_none_is_the_most_expensive(count: int) -> None:
    """Five of ten have half of the time, and are no hot spots."""
    table = dump((10 * count, calls(*[10] * count)), record=program(*RELUS[:count]))
    silent = found(table, Family.LARGEST)
    assert isinstance(silent, NotReported)
    assert silent.why == (
        f"all {count} take about the same"
        if count <= 10
        else "6 of 12 are needed for half of the inference"
    )


def in_modules(*modules: str) -> Program:
    """Operators of a type and a module each."""
    operators = tuple(
        Operator(i, "forward", i + 1, (
            GraphNode(f"n{i}", f"aten.op{i}.default", i + 1, modules=((name, "M"),)),
        ))
        for i, name in enumerate(modules)
    )  # fmt: skip
    handles = {i: (i + 1,) for i in range(len(modules))}
    return Program("record", "ETRecord", "", (Method("forward", operators, handles, {}),))


def test_modules_are_the_hot_spots_of_equal_operators_of_all_types() -> None:
    record = in_modules(*["encoder"] * 8, *(f"m{i}" for i in range(6)))
    one = found(dump((140, calls(*[10] * 14)), record=record), Family.LARGEST)
    assert text(one) == ("Speed up the operators of encoder: up to 80 ns (57.1 % of the inference)")
    assert "8 operators of similar cost" in one.detail
    assert one.advice


def test_events_of_a_plain_profile_say_what_to_do() -> None:
    spans = [("busy", 0, 80), ("a", 80, 90), ("b", 90, 100)]
    builder = TraceBuilder("plain", "test", "", Clock())
    builder.scope("file")
    track = builder.track("p", "t")
    for name, start, end in spans:
        builder.add(
            track=track, start=np.array([start]), end=np.array([end]),
            name=builder.intern(name), key=builder.key(KeyKind.PLAIN, name),
        )  # fmt: skip
    one = found(unlinked(builder.build()), Family.LARGEST)
    assert text(one).startswith("Speed up busy: up to 80 ns")
    assert one.advice.startswith("Open them in Calls")
