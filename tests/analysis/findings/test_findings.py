"""Findings: each is reported with its exact numbers at its threshold, and not just below it."""

from dataclasses import replace
from fractions import Fraction
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.delegation_cases import DATA, DUMPS, OTHERS, SAMPLES, linked, name_of, spans
from viewer.analysis.delegates.delegation import Delegation
from viewer.analysis.findings.finding import (
    Family,
    OperatorSets,
    PanelRef,
    RunRef,
    Severity,
    TimeSpan,
)
from viewer.analysis.findings.findings import MOST, FindingsAnalysis
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.linker import link, unlinked
from viewer.analysis.torq.estimates import ActionRow, Estimates, Measured
from viewer.analysis.torq.measured_actions import ASSUMED_CYCLES
from viewer.model.building.builder import TraceBuilder
from viewer.model.figures import STEADY, WHOLE, TimeScope
from viewer.model.recorded_names import JOB_ID
from viewer.model.times import plain_spaces, tick_to_ns
from viewer.model.trace import Clock, Column, KeyKind, RunKind, Unit
from viewer.program.debug_handles import DelegateMap
from viewer.program.program import GraphNode, Method, Operator, Program
from viewer.workspace.snapshot import estimates_of_workspace
from viewer.workspace.workspace import Workspace

NS = Fraction(1)
CALL, KERNEL, DELEGATE, EVENT = (
    KeyKind.OPERATOR_CALL, KeyKind.KERNEL, KeyKind.DELEGATE_CALL, KeyKind.DELEGATE_EVENT
)  # fmt: skip


def program(*ops: str, delegates: dict | None = None, handles: dict | None = None) -> Program:
    """A record of operators, one an instruction, each called after its module m0, m1 ..."""
    operators = tuple(
        Operator(i, "forward", i + 1, (GraphNode(f"n{i}", op, i + 1, modules=((f"m{i}", "M"),)),))
        for i, op in enumerate(ops)
    )
    own = handles or {i: (i + 1,) for i in range(len(ops))}
    maps = {i: DelegateMap("Npu", {}) for i in delegates or ()}
    return Program("record", "ETRecord", "", (Method("forward", operators, own, maps),))


def dump(*runs, record: Program | None = None) -> LinkTable:
    """A dump of runs; each is (length, events), an event (kind, instruction, start, end, name)."""
    builder = TraceBuilder("dump", "test", "", Clock())
    track, scope = builder.track("p", "t"), builder.scope("Execute", "forward")
    at = 0
    for length, events in runs:
        execute = (KeyKind.FRAMEWORK, -1, 0, length, "Method::execute")
        for kind, instruction, start, end, name in (execute, *events):
            key = builder.key(
                kind, name, scope=scope, instruction=instruction,
                identifier=name if kind == EVENT else None,
            )  # fmt: skip
            level = {KeyKind.FRAMEWORK: 0, KERNEL: 2, EVENT: 2}.get(kind, 1)
            builder.add(
                track=track, start=np.array([at + start]), end=np.array([at + end]),
                name=builder.intern(name), key=key, levels=np.array([level], np.int32),
            )  # fmt: skip
        builder.run(RunKind.INFERENCE, "Execute", track, scope, at, at + length)
        at += length + 10
    trace = builder.build()
    return unlinked(trace) if record is None else link(trace, record)


def calls(*ticks: int, kind: KeyKind = CALL, name: str = "OPERATOR_CALL"):
    """Calls one after another, each of an instruction of its own."""
    ends = np.cumsum(ticks).tolist()
    return [(kind, i, end - own, end, name) for i, (own, end) in enumerate(zip(ticks, ends))]  # noqa: B905


def runs(*lengths: int):
    return [(length, [(CALL, 0, 0, length, "OPERATOR_CALL")]) for length in lengths]


def found(table: LinkTable, family: Family, run: int | None = None, **more):
    """The one finding of a family, or why there is none."""
    picked = None if run is None else table.trace.runs[run]
    answer = FindingsAnalysis(table).of(TimeScope(picked), NS, **more)
    reported = [one for one in answer.found if one.family is family]
    silent = [one for one in answer.not_reported if one.family is family]
    assert len(reported) + len(silent) == 1
    return (reported or silent)[0]


def text(one) -> str:
    return plain_spaces(one.title)


# -- hot spots -------------------------------------------------------------------------------------

RELUS = ("aten.relu.default",) * 12


def test_one_operator_that_takes_half_of_the_time():
    ticks = (50, 10, 10, 10, 10, 10)
    one = found(dump((100, calls(*ticks)), record=program(*RELUS)), Family.LARGEST)
    assert text(one) == "Speed up m0 · relu: up to 50 ns (50.0 % of the inference)"
    assert plain_spaces(one.detail) == "The most expensive of 6 operators."
    assert (one.ticks, one.whole, one.share) == (50, 100, 0.5)
    assert one.place == OperatorSets(((0,),))
    assert one.severity is Severity.HIGH
    assert "at most 5 operators" in one.rule


def test_several_operators_are_named_in_the_detail_with_their_shares():
    one = found(dump((100, calls(30, 30, 10, 10, 10, 10)), record=program(*RELUS)), Family.LARGEST)
    assert one.action == "Speed up the 2 most expensive operators"
    assert plain_spaces(one.detail) == (
        "m0 · relu 30 ns (30.0 %) and m1 · relu 30 ns (30.0 %), of 6 operators."
    )


def test_gains_are_per_inference_of_each_method():
    run = (100, calls(50, 10, 10, 10, 10, 10))
    one = found(dump(run, run, record=program(*RELUS)), Family.LARGEST)
    assert (one.ticks, one.whole) == (100, 200)
    assert text(one) == "Speed up m0 · relu: up to 50 ns of 100 ns (50.0 %) per inference"
    picked = found(dump(run, run, record=program(*RELUS)), Family.LARGEST, run=1)
    assert text(picked) == "Speed up m0 · relu: up to 50 ns (50.0 % of inference 2)"
    two = linked("etdump/multi_forward_decode_portable_x3.etdp", None)
    answer = FindingsAnalysis(two).of(WHOLE, NS)
    of_methods = [one for one in answer.found if one.family is Family.OUTSIDE]
    assert [one.phase for one in of_methods] == ["Execute 2", "Execute 1"]
    assert of_methods[0].title.endswith("per inference of Execute 2")
    for one in answer.found:
        assert one.phase
        assert one.gain.stated <= Fraction(one.whole, one.gain.per)


def test_six_operators_that_it_takes_for_half_are_too_many():
    five = dump((120, calls(*[12] * 5, *[10] * 6)), record=program(*RELUS))
    assert text(found(five, Family.LARGEST)) == (
        "Speed up the 5 most expensive operators: up to 60 ns (50.0 % of the inference)"
    )
    silent = found(dump((120, calls(*[10] * 12)), record=program(*RELUS)), Family.LARGEST)
    assert silent.applicable
    assert silent.why == "6 of 12 are needed for half of the inference"


def test_most_of_all_operators_are_not_few():
    silent = found(dump((90, calls(30, 30, 30)), record=program(*RELUS)), Family.LARGEST)
    assert silent.why.startswith("2 of 3 are needed for half")


def test_what_several_operators_share_is_reported_as_shared_and_not_divided():
    record = program(*RELUS, handles={0: (1, 2), 1: (3,), 2: (4,)})
    one = found(dump((100, calls(60, 20, 20)), record=record), Family.LARGEST)
    assert "(shared by 2): up to 60 ns (60.0 % of the inference)" in text(one)
    assert one.detail == "The most expensive of 3 operators and groups."
    assert one.place == OperatorSets(((0, 1),))


@pytest.mark.parametrize("count", [2, 4, 5, 40])
def test_a_title_names_a_call_of_many_operators_and_never_lists_them(count):
    handles = {0: tuple(range(1, count + 1)), 1: (count + 1,), 2: (count + 2,)}
    types = [f"aten.op{i}.default" for i in range(count + 2)]
    table = dump((100, calls(60, 20, 20)), record=program(*types, handles=handles))
    largest = found(table, Family.LARGEST)
    assert largest.action.count(" + ") <= 4
    assert len(largest.action) < 80
    assert (f"call of {count} operators" in largest.action) is (count >= 5)


@pytest.mark.parametrize("name", ["n" * 540, "", "a\nb", "\u202ex"], ids=ascii)
def test_a_title_has_any_name_on_one_line(name):
    events = [(CALL, 0, 0, 60, name), (CALL, 1, 60, 80, "b"), (CALL, 2, 80, 100, "c")]
    largest = found(dump((100, events)), Family.LARGEST)
    assert len(largest.action) < 80
    assert largest.action.isprintable()
    assert len(largest.action) > len("Speed up ")


def test_without_a_record_the_most_expensive_events_by_name():
    events = [(CALL, 0, 0, 60, "a"), (CALL, 1, 60, 80, "b"), (CALL, 2, 80, 100, "a")]
    events += [
        (KERNEL, 0, 5, 55, "native_call_add.out"),
        (KERNEL, 1, 61, 79, "native_call_mul.out"),
    ]
    one = found(dump((100, events)), Family.LARGEST)
    # A kernel and the call around it are called the same, so that the rest of the call has a name
    # of its own: tables by name have the kernel's time alone, too.
    assert text(one) == "Speed up add.out: up to 50 ns (50.0 % of the inference)"
    assert one.detail == "The most expensive of 5 event names."


# -- copies ----------------------------------------------------------------------------------------


def with_kernel(name: str, ticks: int):
    """A call of 1000 ticks with a kernel in it that takes some of them."""
    mixed = [(CALL, 0, 0, 900, "OPERATOR_CALL"), (KERNEL, 0, 0, ticks, f"native_call_{name}")]
    return (1000, [*mixed, (KERNEL, 0, 500, 800, "native_call_addmm.out")])


@pytest.mark.parametrize(
    "name", ["permute_copy.out", "clone.out", "_to_dim_order_copy.out", "copy_"]
)
def test_a_copy_in_the_call_of_another_operator(name):
    one = found(dump(with_kernel(name, 50)), Family.COPIES)
    assert text(one) == (
        "Avoid copies, layout changes and conversions: up to 50 ns (5.0 % of the inference)"
    )
    assert plain_spaces(one.detail) == f"{name.partition('.')[0]} 50 ns."
    assert one.severity is Severity.LOW
    assert found(dump(with_kernel(name, 49)), Family.COPIES).applicable


@pytest.mark.parametrize("name", ["embedding.out", "add.out", "full.out", "my::transpose.out"])
def test_what_is_no_copy(name):
    silent = found(dump(with_kernel(name, 500)), Family.COPIES)
    assert silent.why == "no event is a copy"


def test_copies_by_the_operators_that_a_call_is_linked_to():
    record = program("aten.permute_copy.default", "aten.relu.default", "aten.embedding.default")
    one = found(dump((100, calls(10, 80, 10)), record=record), Family.COPIES)
    assert (one.ticks, one.whole) == (10, 100)


@pytest.mark.parametrize(
    ("name", "is_copy"),
    [
        ("Transpose (ND, X32) #1", True), ("Copy (NC, X8) #2", True),
        ("Convert (NC, F32, QS8)", True), ("Add (ND) #1", False), ("Transposed Conv (NC)", False),
    ],
)  # fmt: skip
def test_copies_of_xnnpack_by_name(name, is_copy):
    events = [(DELEGATE, 0, 0, 90, "DELEGATE_CALL"), (EVENT, 0, 10, 20, name)]
    answer = found(dump((100, events)), Family.COPIES)
    assert (getattr(answer, "ticks", 0) == 10) == is_copy


# -- delegates -------------------------------------------------------------------------------------


def partly_delegated(outside: int):
    delegated = (DELEGATE, 0, 0, 1000 - outside, "DELEGATE_CALL")
    return (1000, [delegated, (CALL, 1, 1000 - outside, 1000, "OPERATOR_CALL")])


def test_what_ran_outside_delegates():
    record = program(*RELUS, delegates={0: ()})
    one = found(dump(partly_delegated(100), record=record), Family.OUTSIDE)
    assert text(one) == (
        "Delegate 1 operator that ran outside: up to 100 ns (10.0 % of the inference)"
    )
    assert plain_spaces(one.detail) == "m1 · relu 100 ns."
    assert one.severity is Severity.MEDIUM
    unknown = found(dump(partly_delegated(100)), Family.OUTSIDE)
    assert text(unknown).startswith("Delegate the work that ran outside: up to 100 ns")
    assert found(dump(partly_delegated(99), record=record), Family.OUTSIDE).applicable


def gapped(*between: int):
    """Delegate calls of 100 ticks each with gaps between them, 7 ticks before and after them."""
    at, events = 7, []
    for number, gap in enumerate((*between, 0)):
        events.append((DELEGATE, number, at, at + 100, "DELEGATE_CALL"))
        at += 100 + gap
    return (at + 7, events)


def test_an_operator_outside_is_reported_with_its_copies():
    events = [(DELEGATE, 0, 0, 500, "DELEGATE_CALL"), (CALL, 1, 500, 1000, "OPERATOR_CALL")]
    events += [(KERNEL, 1, 500, 700, "native_call_permute_copy.out")]
    events += [(KERNEL, 1, 700, 1000, "native_call_relu.out")]
    table = dump((1000, events), record=program(*RELUS, delegates={0: ()}))
    assert plain_spaces(found(table, Family.OUTSIDE).detail) == "m1 · relu 500 ns."
    assert plain_spaces(found(table, Family.COPIES).detail) == "permute_copy 200 ns."


def test_gaps_between_delegate_calls_and_not_before_or_after_them():
    one = found(dump(gapped(5, 12)), Family.GAPS)  # 17 of 331
    assert (one.ticks, one.whole) == (17, 331)
    assert text(one) == ("Close gaps between instructions: up to 17 ns (5.1 % of the inference)")
    assert plain_spaces(one.detail) == (
        "2 gaps in the inference, 17 ns in total; the longest is 12 ns."
    )
    assert one.place == TimeSpan(212, 224, (0,))
    silent = found(dump(gapped(5, 11)), Family.GAPS)  # 16 of 330
    assert plain_spaces(silent.why) == "gaps between instructions are 4.8 % of the inference"
    assert silent.applicable


def test_an_operator_or_a_move_between_calls_is_no_gap():
    length, events = gapped(100)
    operator = (CALL, 5, 107, 157, "OPERATOR_CALL")
    move = (KeyKind.CONTROL, 6, 157, 187, "MOVE_CALL")
    one = found(dump((length, [*events, operator, move])), Family.GAPS)
    assert (one.ticks, one.place) == (20, TimeSpan(187, 207, (0,)))
    events += [(CALL, 10 + at, 110 + 3 * at, 112 + 3 * at, "OPERATOR_CALL") for at in range(30)]
    one = found(dump((length, events)), Family.GAPS)  # of two delegate calls, but 32 instructions
    assert plain_spaces(one.detail).startswith("31 gaps in the inference")


def test_gaps_of_all_runs_add_up_and_those_between_runs_are_none():
    table = dump(gapped(50), gapped(70), gapped(60))
    one = found(table, Family.GAPS)
    assert (one.ticks, one.whole) == (180, 264 + 284 + 274)
    assert (
        text(one) == "Close gaps between instructions: up to 60 ns of 274 ns (21.9 %) per inference"
    )
    assert found(table, Family.GAPS, run=1).ticks == 70


def test_time_without_an_operator():
    record = program(*RELUS)
    one = found(dump((100, calls(30, 60)), record=record), Family.NO_OPERATOR)
    assert text(one) == (
        "Look into time without an operator: up to 10 ns (10.0 % of the inference)"
    )
    assert one.place == TimeSpan(90, 100, (0,))
    assert found(dump((100, calls(30, 61)), record=record), Family.NO_OPERATOR).applicable
    assert not found(dump((100, calls(30, 61))), Family.NO_OPERATOR).applicable


def test_slices_without_a_link():
    record = program(*RELUS[:9])
    one = found(dump((100, calls(*[10] * 10)), record=record), Family.LINKS)
    assert text(one) == "Link 1 of 10 linkable slices (10.0 %) to their operators"
    assert (one.place, one.share) == (PanelRef("delegation"), None)
    assert one.severity is Severity.LOW
    eleven = dump((110, calls(*[10] * 11)), record=program(*RELUS[:10]))
    assert found(eleven, Family.LINKS).applicable  # 9.1 %


# -- between inferences ----------------------------------------------------------------------------


def test_a_slow_warm_up():
    one = found(dump(*runs(131, 100, 100, 100)), Family.WARM_UP)
    assert text(one) == (
        "Warm up before the first inference: up to 8 ns of 108 ns (7.2 %) per inference, over all "
        "4 inferences"
    )
    assert (one.ticks, one.whole, one.place, one.across) == (31, 431, RunRef(0), True)
    assert plain_spaces(one.detail) == (
        "Inference 1 took 131 ns, 1.3 times the median of the 3 inferences after warm-up (100 ns). "
        "Slower than inference 3 mainly in: OPERATOR_CALL +31 ns."
    )
    passed = found(dump(*runs(130, 100, 100, 100)), Family.WARM_UP)
    assert passed.applicable
    assert passed.why == "the slowest inference that warms up took 1.3 times the median"


def test_of_less_than_four_inferences_none_warms_up():
    few = found(dump(*runs(500, 100, 100)), Family.WARM_UP)
    assert not few.applicable
    assert few.why == "too few inferences after a load for any to warm up"


def test_all_inferences_that_warm_up_are_compared_with_the_steady_ones():
    """Of 12 the first three warm up; the second is slow only by the steady ones' median."""
    one = found(dump(*runs(300, 200, 110, *[100] * 9)), Family.WARM_UP)
    assert (one.ticks, one.place) == (200 + 100, RunRef(0))
    assert plain_spaces(one.detail).startswith(
        "Compared with the median of the 9 inferences after warm-up (100 ns): inference 1 300 ns "
        "(3.0 times) and inference 2 200 ns (2.0 times)."
    )


@pytest.mark.parametrize(("first", "names_it"), [(299, False), (300, True)])
def test_a_first_inference_that_is_far_longer_may_have_a_larger_input(first, names_it):
    one = found(dump(*runs(first, *[100] * 9)), Family.WARM_UP)
    assert ("larger input, such as a prompt" in one.advice) is names_it


def test_a_warm_up_within_the_spread_of_the_steady_inferences():
    # The median is 100 and half of the steady ones are 10 from it: 150 is 5 deviations above.
    steady = (100, 90, 110, 100, 110)
    assert found(dump(*runs(151, *steady)), Family.WARM_UP).ticks == 51
    assert found(dump(*runs(150, *steady)), Family.WARM_UP).applicable


def test_a_call_of_a_delegate_is_listed_without_its_events():
    def run(call, event):
        return (call, [(DELEGATE, 0, 0, call, "DELEGATE_CALL"), (EVENT, 0, 0, event, "Add (ND)")])

    one = found(dump(run(200, 130), *[run(100, 90)] * 3), Family.WARM_UP)
    increases = plain_spaces(one.detail).partition("mainly in: ")[2]
    assert increases == "rest of the call DELEGATE_CALL +60 ns, Add (ND) +40 ns."


def test_slow_steady_inferences():
    one = found(dump(*runs(900, 100, 200, 100, 100, 131)), Family.SLOW_RUNS)
    assert text(one) == (
        "Look into the 2 slowest of 5 inferences after warm-up, which took up to 2.0 times the "
        "median: up to 22 ns of 255 ns (8.6 %) per inference, over all 6 inferences"
    )
    assert plain_spaces(one.detail) == (
        "Compared with the median of the 5 inferences after warm-up (100 ns): inference 3 200 ns "
        "(2.0 times) and inference 6 131 ns (1.3 times)."
    )
    assert (one.ticks, one.place) == (131, RunRef(2))
    single = found(dump(*runs(900, 100, 200, 100, 100, 100)), Family.SLOW_RUNS)
    assert single.action == "Look into inference 3, which took 2.0 times the median"


def test_slow_inferences_with_a_tenth_of_the_time_distort_the_sums():
    def outliers(*lengths):
        return FindingsAnalysis(dump(*runs(*lengths))).outliers

    found = outliers(900, 100, 200, 100, 100, 131)
    assert found.text == "2 of 5 inferences after warm-up took up to 2.0 times the median"
    assert outliers(900, 100, 131, *[100] * 6) is None  # 31 of 731 ns
    assert outliers(900, 100, 900, 100, 100) is None  # too few to compare


def test_inferences_that_warm_up_are_not_slow_ones():
    """Of 12 the first three warm up, however long they take."""
    silent = found(dump(*runs(900, 800, 700, *[100] * 8, 130)), Family.SLOW_RUNS)
    assert silent.applicable
    assert silent.why == "the slowest inference after warm-up took 1.3 times the median"


def test_slow_inferences_need_five_steady_ones():
    few = found(dump(*runs(900, 100, 200, 100, 100)), Family.SLOW_RUNS)
    assert few.why == "it needs 5 inferences after warm-up; there are 4"
    assert not few.applicable
    one = found(dump(*runs(900)), Family.SLOW_RUNS)
    assert one.why == "it needs 5 inferences after warm-up; there is 1"


def test_comparisons_of_inferences_rank_last_where_one_is_picked():
    table = dump(*runs(10_000, 100, 100, 100))
    findings = FindingsAnalysis(table)
    assert findings.of(WHOLE, NS).scope == "all 4 inferences"
    picked = findings.of(TimeScope(table.trace.runs[2]), NS)
    assert picked.scope == "inference 3"
    assert [one.family for one in picked.found][-1] is Family.WARM_UP


def test_figures_per_inference_leave_out_the_warm_up():
    table = linked("etdump/cnn_portable_x10.etdp", None)
    answer = FindingsAnalysis(table).of(STEADY, NS)
    assert answer.scope == "8 inferences after warm-up"
    lengths = [run.end - run.start for run in table.trace.inferences()]
    assert {one.whole for one in answer.found if not one.across} == {sum(lengths[2:])}


def test_the_slices_of_a_finding_are_those_of_its_scope():
    table = linked("etdump/cnn_portable_x10.etdp", None)
    findings = FindingsAnalysis(table)
    run = list(table.trace.inferences())[4]
    counts = {}
    for name, scope in (("every", WHOLE), ("steady", STEADY), ("one", TimeScope(run))):
        answer = findings.of(scope, NS)
        finding = next(one for one in answer.found if one.family is Family.LARGEST)
        counts[name] = len(findings.slices_of(finding, scope))
    assert counts["every"] == 10 * counts["one"]
    assert counts["steady"] == 8 * counts["one"]


def test_gaps_are_those_after_warm_up():
    table = linked("etdump/attn_xnnpack_x5.etdp", None)
    every, steady = (
        next(
            one for one in FindingsAnalysis(table).of(scope, NS).found if one.family is Family.GAPS
        )
        for scope in (WHOLE, STEADY)
    )
    assert "in 4 inferences after warm-up" in steady.detail
    assert steady.ticks < every.ticks


def test_inferences_that_did_not_end_are_not_compared():
    table = linked("etdump/words_failing_x3.etdp", None)
    assert found(table, Family.SLOW_RUNS).why == "it needs 5 inferences after warm-up; there are 2"


# -- units -----------------------------------------------------------------------------------------


def units(*spans: tuple[Unit, int, int], **columns) -> LinkTable:
    builder = TraceBuilder("npu", "test", "", Clock("cycle"))
    builder.scope("file")
    for unit, start, end in spans:
        builder.add(
            track=builder.track("p", unit.name, unit=unit), start=np.array([start]),
            end=np.array([end]), name=builder.intern(unit.name),
            key=builder.key(KeyKind.PLAIN, unit.name),
            columns={k: Column(np.array([v])) for k, v in columns.items()},
        )  # fmt: skip
    return unlinked(builder.build())


def test_only_dma_for_a_quarter_of_the_time():
    spans = [(Unit.DMA_IN, 0, 30), (Unit.SLICE, 25, 100), (Unit.DMA_OUT, 50, 60)]
    one = found(units(*spans), Family.DMA)
    assert text(one) == "Overlap DMA with compute: up to 25 ns (25.0 % of the whole trace)"
    assert (one.ticks, one.whole, one.place) == (25, 100, TimeSpan(0, 25, (0, 1, 2)))
    assert plain_spaces(one.detail).endswith("without them is 25 ns, during transfers of DMA_IN.")
    fewer = [(Unit.DMA_IN, 0, 30), (Unit.SLICE, 24, 100)]
    assert found(units(*fewer), Family.DMA).applicable
    assert not found(units((Unit.DMA_IN, 0, 30)), Family.DMA).applicable


def test_time_in_which_no_unit_is_active():
    one = found(units((Unit.DMA_IN, 0, 45), (Unit.SLICE, 50, 100)), Family.GAPS)
    assert text(one) == "Keep the NPU units busy: up to 5 ns (5.0 % of the whole trace)"
    assert (one.ticks, one.whole) == (5, 100)
    assert (one.place.start, one.place.end) == (45, 50)
    assert found(units((Unit.DMA_IN, 0, 46), (Unit.SLICE, 50, 100)), Family.GAPS).applicable


def test_gaps_between_jobs():
    one = found(units((Unit.NSS, 0, 45), (Unit.NSS, 50, 100)), Family.GAPS)
    assert text(one) == "Close gaps between NSS jobs: up to 5 ns (5.0 % of the whole trace)"
    assert (one.ticks, one.place) == (5, TimeSpan(45, 50, (0,)))
    assert found(units((Unit.NSS, 0, 46), (Unit.NSS, 50, 100)), Family.GAPS).applicable


def estimated(table: LinkTable, mean: float, estimate: float) -> Estimates:
    row = ActionRow(
        "conv", (), True, 1, estimate, Measured(3, mean, mean, mean, mean), job=0, action=1
    )
    sources = ((table.trace.path, "measurement"),)
    return Estimates((row,), (), None, sources, (), ASSUMED_CYCLES)


def test_estimates_that_are_off():
    table = units((Unit.NSS, 0, 45), (Unit.NSS, 45, 100), **{JOB_ID: 0})
    longer = found(table, Family.ESTIMATES, estimates=estimated(table, 201, 100))
    assert text(longer) == (
        "Look into 1 of 1 estimated action above twice the estimate: "
        "up to 303 ns (50.2 % of the time of estimated actions)"
    )
    assert plain_spaces(longer.detail) == "job 0 (conv) 201 ns instead of 100 ns (2.0 times)."
    assert (longer.ticks, longer.whole) == (3 * 101, 3 * 201)
    assert longer.place.numbers == (0, 1)
    shorter = found(table, Family.ESTIMATES, estimates=estimated(table, 49, 100))
    assert text(shorter) == (
        "Check the estimates of 1 of 1 estimated action: it took less than half of them"
    )
    assert shorter.ticks == 0  # nothing can be saved
    for mean in (200, 50):
        assert found(table, Family.ESTIMATES, estimates=estimated(table, mean, 100)).applicable
    assert not found(table, Family.ESTIMATES).applicable


# -- all of them -----------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=DUMPS + OTHERS, ids=map(name_of, DUMPS + OTHERS))
def table(request):
    return linked(*request.param)


def test_no_finding_is_of_more_than_the_whole_and_each_leads_somewhere(table):
    findings = FindingsAnalysis(table)
    for run in (None, *table.trace.runs):
        answer = findings.of(TimeScope(run), NS)
        checked = [one.family for one in (*answer.found, *answer.not_reported)]
        assert set(checked) == set(Family)
        assert all(one.rule.startswith("Reported when") for one in answer.not_reported)
        for one in answer.found:
            assert one.rule.startswith("Reported when")
            assert ("up to" in one.title) == (one.ticks > 0)
            assert one.ticks <= one.whole or not one.whole
            place = one.place
            if isinstance(place, TimeSpan):
                assert place.end > place.start
                if run is not None and not one.across:
                    assert run.start <= place.start < place.end <= run.end
            elif not isinstance(place, RunRef | PanelRef):
                assert len(findings.slices_of(one, TimeScope(run)))
        kept = [one.gain.stated for one in answer.found if not (run and one.across) and one.ticks]
        assert kept == sorted(kept, reverse=True)
        assert len(answer.found) <= MOST


def test_what_ran_outside_is_what_the_delegation_report_lists():
    table = linked(*DUMPS[0])
    for run in (None, *table.trace.runs[1:]):
        report = Delegation(table).report(TimeScope(run))
        answer = FindingsAnalysis(table).of(TimeScope(run), NS)
        (one,) = (one for one in answer.found if one.family is Family.OUTSIDE)
        assert (one.ticks, one.whole) == (report.not_delegated, report.whole)


def test_the_attention_model_by_hand():
    """Against the slices of the file, one by one."""
    table = linked(*DUMPS[0])
    trace, slices = table.trace, table.trace.slices
    inferences = list(trace.inferences())
    lengths = [run.end - run.start for run in inferences]
    first = found(table, Family.WARM_UP)
    usual = median(lengths[1:])
    assert (first.ticks, first.whole) == (lengths[0] - usual, sum(lengths)) == (63_465, 324_625)
    kinds = trace.keys.kind[slices.key].tolist()
    starts, ends = slices.start.tolist(), slices.end.tolist()
    gaps = []
    for run in inferences:
        own = [i for i, s in enumerate(starts) if run.start <= s < run.end]
        called = [i for i in own if kinds[i] == DELEGATE]
        covered = np.zeros(run.end - run.start, np.bool_)
        for i in own:
            if kinds[i] != KeyKind.FRAMEWORK:
                covered[starts[i] - run.start : ends[i] - run.start] = True
        lo = min(starts[i] for i in called) - run.start
        hi = max(ends[i] for i in called) - run.start
        gaps.append(int((~covered[lo:hi]).sum()))
    assert found(table, Family.GAPS).ticks == sum(gaps) == 19_054
    assert found(table, Family.GAPS, run=2).ticks == gaps[1]


def test_transposes_of_a_profile_without_a_record():
    table = linked("etdump/cnn_xnnpack_x10.etdp", None)
    trace = table.trace
    inside = [
        int(trace.slices.end[i] - trace.slices.start[i])
        for i in range(len(trace.slices))
        if trace.name(i).startswith(("Transpose (", "Static Reshape (", "Copy (", "Convert ("))
    ]
    assert found(table, Family.COPIES).ticks == sum(inside) == 19_000


def test_copies_of_the_attention_model_in_portable_kernels():
    """What kernels and their calls take that are called a copy, by the slices alone."""
    table = linked("etdump/attn_portable_x5.etdp", None)
    trace = table.trace
    names = (
        "permute_copy",
        "view_copy",
        "expand_copy",
        "split_with_sizes_copy",
        "_clone_dim_order",
    )
    copied = {f"native_call_{name}.out" for name in names}
    kernels = {
        (int(trace.slices.start[i]), int(trace.slices.end[i]))
        for i in range(len(trace.slices))
        if trace.name(i) in copied
    }
    around = [
        (start, end)
        for start, end in spans(trace, CALL)
        if any(start <= a and b <= end for a, b in kernels)
    ]
    one = found(table, Family.COPIES)
    assert one.ticks == sum(end - start for start, end in around) == 354_306
    assert round(one.share, 3) == 0.431


def test_estimates_of_the_bundled_torq_profile():
    space = Workspace()
    for name in ("host.csv", "main_dispatch_0_conv_56x56x32_i8.mlir", "tiny_cnn.mlir"):
        space.open(str(SAMPLES / "torq_npu" / name))
    (trace,) = space.traces
    rate = space.clocks.ns_per_tick(trace)
    answer = FindingsAnalysis(space.links(trace)).of(WHOLE, rate, estimates_of_workspace(space))
    (one,) = (one for one in answer.found if one.family is Family.ESTIMATES)
    # Cycles of the debug info at 1.25 ns, and both executions of each job as the file has them.
    off = 2 * (65_500 - 13_113.75) + 2 * (83_000 - 37_525)
    assert text(one).startswith("Look into 2 of 4 estimated actions above twice the estimate")
    assert tick_to_ns(one.ticks, rate) == pytest.approx(off, abs=500)


def test_a_list_is_cut_where_there_are_very_many():
    builder = TraceBuilder("many", "test", "", Clock())
    execute = builder.intern("Method::execute")
    for method in range(MOST + 3):
        track = builder.track("p", f"t{method}")
        scope = builder.scope(f"Execute {method}")
        key = builder.key(KeyKind.FRAMEWORK, "Method::execute", scope=scope)
        for number, length in enumerate((1000 + method, 100, 100, 100)):
            at = 2000 * number
            builder.add(
                track=track, start=np.array([at]), end=np.array([at + length]), name=execute,
                key=key,
            )  # fmt: skip
            builder.run(RunKind.INFERENCE, "Execute", track, scope, at, at + length)
    answer = FindingsAnalysis(unlinked(builder.build())).of(WHOLE, NS)
    # Each method warms up; the host also waits between the inferences of the first one.
    assert (len(answer.found), answer.left_out) == (MOST, 4)
    assert text(answer.found[0]).startswith("Warm up before the first inference of Execute 14: up")


def test_an_empty_trace_has_no_finding_and_says_why():
    table = unlinked(TraceBuilder("empty", "test", "", Clock()).build())
    answer = FindingsAnalysis(table).of(WHOLE, NS)
    assert answer.found == ()
    assert {one.family for one in answer.not_reported} == set(Family)
    assert all(one.why for one in answer.not_reported)


def test_a_mean_of_inferences_compares_none():
    table = dump(*runs(500, 100, 100, 100))
    mean = tuple(replace(run, count=4) for run in table.trace.runs[:1])
    trace = replace(table.trace, runs=mean)
    assert not found(unlinked(trace), Family.WARM_UP).applicable


def test_damaged_dumps_raise_nothing():
    # SYN_no_runs has nothing to show, so it does not open.
    for path in sorted(
        set((DATA / "etdump").glob("SYN*.etdp")) - {DATA / "etdump/SYN_no_runs.etdp"}
    ):
        table = linked(f"etdump/{path.name}", None)
        for run in (None, *table.trace.runs):
            FindingsAnalysis(table).of(TimeScope(run), NS)


# -- gains -----------------------------------------------------------------------------------------

LENGTHS = st.lists(st.integers(1, 10_000), min_size=1, max_size=9)


@given(lengths=LENGTHS, parts=st.lists(st.integers(1, 9), min_size=1, max_size=6), data=st.data())
def test_a_gain_is_between_nothing_and_its_base_and_findings_sort_by_what_they_state(
    lengths, parts, data
):
    def run(length):
        whole = sum(parts) + data.draw(st.integers(0, 3))
        return length, calls(*(length * part // whole for part in parts))

    table = dump(*map(run, lengths), record=program(*RELUS[: len(parts)]))
    picked = data.draw(st.sampled_from([None, *range(len(lengths))]))
    scope = TimeScope(None if picked is None else table.trace.runs[picked])
    answer = FindingsAnalysis(table).of(scope, NS)
    for one in answer.found:
        gain = one.gain
        assert 0 <= gain.ticks <= gain.whole
        assert gain.stated * gain.per == gain.ticks
        assert bool(gain.text) == bool(gain.whole)
        if gain.is_per_inference:
            assert f"up to {gain.time} of {gain.base} (" in gain.text
    for across in (False, True) if picked is not None else (None,):
        stated = [
            one.gain.stated for one in answer.found if one.ticks and across in (None, one.across)
        ]
        assert stated == sorted(stated, reverse=True)
