"""Work outside delegates: all of it, half of it, none; and what is known about the reason."""

from dataclasses import replace

import pytest

from tests.analysis.findings.test_findings import CALL, DELEGATE, KERNEL, dump, found, program, text
from viewer.analysis.findings.delegation import why_text
from viewer.analysis.findings.finding import Family
from viewer.analysis.findings.severity import Severity
from viewer.model.times import plain_spaces
from viewer.program.debug_handles import DelegateMap
from viewer.program.program import GraphNode, Method, Operator, Program, Tensor


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


def linears(*dtypes: str) -> Program:
    """Linear operators in a row with their dtypes, all but the last one delegated."""
    operators = tuple(
        Operator(
            i, "forward", i + 1,
            (
                GraphNode(
                    f"n{i}", "aten.linear.default", i + 1,
                    inputs=(Tensor(f"v{i}", dtype, (1, 8)),),
                    outputs=(Tensor(f"v{i + 1}", dtype, (1, 8)),),
                ),
            ),
        )
        for i, dtype in enumerate(dtypes)
    )  # fmt: skip
    inside = tuple(range(1, len(dtypes)))
    maps = {0: DelegateMap("Npu", {0: inside})}
    handles = {0: inside, 1: (len(dtypes),)}
    return Program("record", "ETRecord", "", (Method("forward", operators, handles, maps),))


def test_why_names_types_and_neighbors() -> None:
    record = linears("f32", "f32", "f32", "f32", "i64")
    assert why_text(record, {0, 1, 2, 3}, 4) == (
        "linear (i64): 4 of 5 linear are delegated, of f32; its neighbors are delegated"
    )


def test_why_names_dynamic_shapes() -> None:
    record = linears("f32", "f32")
    last = record.methods[0].operators[1]
    node = replace(last.nodes[0], inputs=(Tensor("v1", "f32", ("s0", 8)),))
    method = replace(
        record.methods[0], operators=(record.methods[0].operators[0], replace(last, nodes=(node,)))
    )
    assert "its shapes are dynamic" in why_text(replace(record, methods=(method,)), {0}, 1)


def test_nothing_is_known_of_an_operator_in_a_program_without_delegates() -> None:
    assert why_text(linears("f32"), set(), 0) == ""
