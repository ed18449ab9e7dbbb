"""Work outside delegates: all of it, half of it, none; and what is known about the reason."""

import pytest

from tests.analysis.findings.test_findings import CALL, DELEGATE, KERNEL, dump, found, program, text
from tests.paths import DATA
from viewer.analysis.findings.finding import Family, Severity
from viewer.model.times import plain_spaces
from viewer.reports.summary import findings_facts
from viewer.workspace.workspace import Workspace


def shared(delegated: int) -> tuple[int, list[tuple[object, ...]]]:
    """An inference of 100 ticks, of which so many are delegated."""
    events: list[tuple[object, ...]] = []
    if delegated:
        events.append((DELEGATE, 0, 0, delegated, "DELEGATE_CALL"))
    if delegated < 100:
        events.append((CALL, 1, delegated, 100, "OPERATOR_CALL"))
        events.append((KERNEL, 1, delegated, 100, "native_call_relu.out"))
    return 100, events


def test_nothing_delegated_is_the_strongest_finding() -> None:
    one = found(dump(shared(0), shared(0)), Family.OUTSIDE)
    assert text(one) == (
        "Delegate the model: nothing runs in a delegate: "
        "up to 100 ns of 100 ns (100.0 %) per inference"
    )
    assert one.severity is Severity.HIGH
    detail = plain_spaces(one.detail)
    assert detail.startswith("0 of 100 ns runs in a delegate; all operators run as native_call_")
    assert "By kernel: native_call_relu.out 100.0 %" in detail
    assert "XNNPACK" in one.advice


def test_a_half_is_a_part_to_delegate() -> None:
    one = found(dump(shared(50)), Family.OUTSIDE)
    assert text(one).startswith("Delegate the work that ran outside: up to 50 ns")
    assert one.advice == "No open file shows why it was not delegated."


def test_all_delegated_is_silent() -> None:
    silent = found(dump(shared(100)), Family.OUTSIDE)
    assert silent.applicable
    assert silent.why.startswith("0")


@pytest.mark.parametrize("delegated", [0, 50, 100])
def test_no_finding_offers_time_without_saying_what_to_do(delegated: int) -> None:
    kinds = [DELEGATE if at < delegated else CALL for at in (0, 50, 80)]
    events = [
        (kind, number, start, end, str(number))
        for number, (kind, start, end) in enumerate(zip(kinds, (0, 70, 90), (70, 90, 100)))  # noqa: B905
    ]
    one = found(dump((100, events)), Family.LARGEST)
    assert text(one) == "Speed up 0: up to 70 ns (70.0 % of the inference)"
    assert one.advice == (
        "Use a smaller data type or smaller tensors in them, or another delegate."
        if delegated
        else "Delegate them, or use optimized kernels or a smaller data type for them."
    )


def test_types_are_the_hot_spots_of_equal_operators() -> None:
    ops = ("aten.linear.default",) * 8 + ("aten.relu.default",) * 4 + ("aten.add.Tensor",) * 4
    ops += ("aten.mul.Tensor",) * 4
    times = [10] * 8 + [2] * 12
    events, at = [], 0
    for number, ticks in enumerate(times):
        events.append((CALL, number, at, at + ticks, "OPERATOR_CALL"))
        at += ticks
    one = found(dump((at, events), record=program(*ops)), Family.LARGEST)
    assert text(one) == "Speed up linear operators: up to 80 ns (76.9 % of the inference)"
    assert "8 operators of similar cost" in one.detail


def test_a_log_says_why_the_most_expensive_ones_are_outside() -> None:
    workspace = Workspace()
    for name in ("net.etdp", "net.etrecord", "xnnpack.log"):
        workspace.open(str(DATA / "partition_log" / name))
    facts = findings_facts(workspace)["files"][0]["findings"]
    (advice,) = (one["advice"] for one in facts if one["kind"] == "outside")
    assert "mean (f32): mean.dim only supports keepdim=True. " in advice
    assert "No open file shows" not in advice
