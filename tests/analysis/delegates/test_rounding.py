"""How much of unattributed time rounding alone can explain."""

from __future__ import annotations

from tests.builders.etdump_cases import read, read_path
from tests.builders.etdump_writer import Run, delegate, framework, operator, write_dump
from viewer.analysis.delegates.delegation import RoundingLoss, rounding_loss
from viewer.model.queries import children_of, parent_of
from viewer.model.trace import KeyKind, Trace

CONV, ADD = "Convolution (NHWC, F32) IGEMM #1", "Add (ND, F32) #1"


def losses(trace: Trace) -> list[tuple[str, int, RoundingLoss | None]]:
    """Name, length and loss of all calls and unattributed parts by time."""
    slices, kind = trace.slices, trace.keys.kind
    some = [
        i
        for i in range(len(slices))
        if kind[slices.key[i]] in (KeyKind.DELEGATE_CALL, KeyKind.UNATTRIBUTED)
    ]
    return [
        (trace.name(i), int(slices.end[i] - slices.start[i]), rounding_loss(trace, i)) for i in some
    ]


def dump_of(tmp_path, first: int, end: int) -> Trace:
    """A call from 0 to `end` with two events of 2 µs and 0 µs from `first` on."""
    events = [
        delegate(CONV, 0, first, first + 2_000),
        delegate(ADD, 0, first + 2_000, first + 2_000),
        operator("DELEGATE_CALL", 0, 0, end),
        framework("Method::execute", 0, end),
    ]
    return read_path(write_dump(tmp_path / "a.etdp", [Run("Execute", events)]))


def test_time_before_the_first_event_is_real(tmp_path):
    assert losses(dump_of(tmp_path, 500, 10_000)) == [
        ("DELEGATE_CALL", 10_000, RoundingLoss(2_000, 2)),
        ("unattributed", 500, None),
        ("unattributed", 7_500, RoundingLoss(2_000, 2)),
    ]


def test_no_more_is_rounding_than_is_unattributed(tmp_path):
    assert losses(dump_of(tmp_path, 500, 3_000)) == [
        ("DELEGATE_CALL", 3_000, RoundingLoss(500, 2)),
        ("unattributed", 500, None),
        ("unattributed", 500, RoundingLoss(500, 2)),
    ]
    assert losses(dump_of(tmp_path, 500, 2_500)) == [
        ("DELEGATE_CALL", 2_500, None),
        ("unattributed", 500, None),
    ]


def test_other_slices_and_other_delegates_have_no_rounding():
    trace = read("attn_xnnpack_x5")
    execute = next(i for i in range(len(trace.slices)) if trace.name(i) == "Method::execute")
    assert rounding_loss(trace, execute) is None
    assert {loss for _, _, loss in losses(read("demo_str_x4"))} == {None}


def test_the_parent_of_a_slice_has_it_among_its_children():
    trace = read("attn_xnnpack_x5")
    for i in range(len(trace.slices)):
        parent = parent_of(trace.slices, i)
        if parent < 0:
            assert trace.slices.depth(i) == 0
        else:
            assert i in children_of(trace.slices, parent)
