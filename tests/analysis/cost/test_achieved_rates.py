"""Times that work may be divided by, and the reasons where there is none."""

from dataclasses import replace

import numpy as np
import pytest

from viewer.analysis.cost.achieved_rates import TimedNodes, timed_by, timed_in
from viewer.analysis.links.linker import link
from viewer.formats import open_file
from viewer.model.inference_views import aligned_runs, mean_run
from viewer.model.queries import run_of_slices, starts_in_run
from viewer.model.trace import KeyKind
from viewer.program.debug_handles import DelegateMap
from viewer.program.program import base_name
from viewer.resources import SAMPLES

RELU1, TAN = 1, 4
LINEAR = 7  # of the CNN: permute_copy at instruction 7, addmm at 8
QKV, ATTENTION = 1, 9


@pytest.fixture
def cnn(data):
    return linked(
        data / "etdump/cnn_portable_x10.etdp", data / "etrecord/cnn_toedge_portable.etrecord"
    )


@pytest.fixture
def demo(data):
    return linked(data / "etdump/demo_str_x4.etdp", data / "etrecord/demo_str.etrecord")


@pytest.fixture
def attention():
    (sample,) = (s for s in SAMPLES if s.key == "attention_xnnpack")
    return linked(*sample.paths())


def linked(trace, program):
    return link(open_file(str(trace)), open_file(str(program)))


def slices_of(table, operator):
    return np.flatnonzero(table.keys_of((operator,))[table.trace.slices.key])


def in_run(table, operator, number):
    """The operator, and its slices in an inference counted from 1."""
    run = list(table.trace.inferences())[number - 1]
    some = starts_in_run(table.trace, run, slices_of(table, operator))
    return table.program.operators[operator], some


def kinds(table, slices):
    return table.trace.keys.kind[table.trace.slices.key[slices]]


def length(table, slices):
    return int((table.trace.slices.end - table.trace.slices.start)[slices].sum())


def test_an_operator_of_two_kernels_takes_the_time_of_both_calls_and_none_twice(cnn):
    operator, slices = in_run(cnn, LINEAR, 2)
    calls = slices[kinds(cnn, slices) == KeyKind.OPERATOR_CALL]
    assert (len(slices), len(calls)) == (4, 2)
    assert timed_in(cnn, operator, slices, 1) == TimedNodes(operator.nodes, 1, length(cnn, calls))


def test_all_runs_count_as_many_calls(cnn):
    slices = slices_of(cnn, LINEAR)
    timed = timed_in(cnn, cnn.program.operators[LINEAR], slices, 10)
    assert timed.times == 10
    each = [timed_in(cnn, *in_run(cnn, LINEAR, n), 1).ticks for n in range(1, 11)]
    assert timed.ticks == sum(each)


def test_a_part_that_did_not_run_is_named(cnn):
    operator, slices = in_run(cnn, LINEAR, 2)
    instruction = cnn.trace.keys.instruction[cnn.trace.slices.key[slices]]
    timed = timed_in(cnn, operator, slices[instruction == 7], 1)
    assert timed.reason == "Instruction 8 did not run"


def test_parts_that_ran_unequally_often_have_no_common_time(cnn):
    slices = slices_of(cnn, LINEAR)
    instruction = cnn.trace.keys.instruction[cnn.trace.slices.key[slices]]
    last = cnn.trace.slices.start[slices] >= list(cnn.trace.inferences())[-1].start
    fewer = slices[~(last & (instruction == 8))]
    timed = timed_in(cnn, cnn.program.operators[LINEAR], fewer, 10)
    assert timed.reason == (
        "Its parts ran a different number of times, or the number is not recorded"
    )


def test_no_slices_no_time(cnn):
    none = np.empty(0, np.int64)
    assert timed_in(cnn, cnn.program.operators[LINEAR], none, 1).reason == "It has no slice"


def test_an_operator_that_is_partly_in_shared_calls_has_no_rate(attention):
    operator, slices = in_run(attention, ATTENTION, 2)
    assert timed_in(attention, operator, slices, 1).reason == (
        "A part of its time is shared with other operators"
    )


def test_a_delegates_call_of_one_operator_is_its_time(attention):
    operator, slices = in_run(attention, QKV, 2)
    assert set(kinds(attention, slices)) == {KeyKind.DELEGATE_CALL}
    assert timed_in(attention, operator, slices, 1) == TimedNodes(
        operator.nodes, 1, length(attention, slices)
    )
    assert timed_by(attention, operator, int(slices[0]), slices).nodes == operator.nodes


def test_events_tell_an_operator_apart_in_a_call_that_others_share(demo):
    operator, slices = in_run(demo, TAN, 1)
    events = slices[kinds(demo, slices) == KeyKind.DELEGATE_EVENT]
    assert len(events) == 3  # 'sin:0;a=b', 'cos/1' and 'div' are all of tan
    assert timed_in(demo, operator, slices, 1) == TimedNodes(
        operator.nodes, 1, length(demo, events)
    )
    assert timed_by(demo, operator, int(events[0]), slices).reason == (
        "The delegate logs the operator in several parts, of which this is one"
    )


def test_an_identifier_that_was_not_logged_leaves_a_part_untold(demo):
    program = demo.program
    (method,) = program.methods
    known = method.delegates[0]
    more = DelegateMap(known.backend, {**known.entries, "never": (5,)})
    other = link(
        demo.trace,
        replace(program, methods=(replace(method, delegates={0: more}),)),
        demo.trace_match,
    )
    operator, slices = in_run(other, TAN, 1)
    assert timed_in(other, operator, slices, 1).reason == (
        "A part of its time is shared with other operators"
    )


def test_the_one_event_of_an_operator_is_its_time_and_one_of_several_is_not(demo):
    program = demo.program
    (method,) = program.methods
    only = DelegateMap("Demo", {"cos/1": (5,)})
    other = link(
        demo.trace,
        replace(program, methods=(replace(method, delegates={0: only}),)),
        demo.trace_match,
    )
    operator, slices = in_run(other, TAN, 1)
    (event,) = slices[kinds(other, slices) == KeyKind.DELEGATE_EVENT].tolist()
    assert timed_by(other, operator, event, slices) == TimedNodes(
        operator.nodes, 1, length(other, [event])
    )
    every = slices_of(other, TAN)
    assert timed_by(other, operator, event, every).reason.startswith("The delegate logs")


def test_what_is_fused_has_no_time_of_its_own(demo):
    operator, slices = in_run(demo, RELU1, 1)
    assert timed_in(demo, operator, slices, 1).reason == (
        "It shares all its slices with other operators"
    )
    assert timed_by(demo, operator, int(slices[0]), slices).reason == (
        "Several operators share the slice"
    )


@pytest.mark.parametrize("kind", [KeyKind.KERNEL, KeyKind.OPERATOR_CALL])
def test_a_slice_of_a_kernel_did_the_node_of_its_name(cnn, kind):
    operator, slices = in_run(cnn, LINEAR, 2)
    chosen = slices[kinds(cnn, slices) == kind].tolist()
    timed = [timed_by(cnn, operator, i, slices) for i in chosen]
    assert [[base_name(n.op) for n in t.nodes] for t in timed] == [["permute_copy"], ["addmm"]]
    assert [t.ticks for t in timed] == [length(cnn, [i]) for i in chosen]


def test_nodes_that_are_alike_need_not_be_told_apart(attention):
    operator, slices = in_run(attention, ATTENTION, 2)
    names = [attention.trace.name(i) for i in slices.tolist()]
    first = dict(zip(reversed(names), reversed(slices.tolist()), strict=True))
    product = timed_by(attention, operator, first["native_call_mul.Scalar_out"], slices)
    assert [n.op for n in product.nodes] == ["aten.mul.Scalar"]  # two of them, of one shape
    negation = timed_by(attention, operator, first["native_call_logical_not.out"], slices)
    assert negation.reason == ("Which of the operator's 2 nodes logical_not it did is not recorded")


def test_units_that_work_at_once_count_once(data):
    table = linked(data / "torq/compile_c3_taskid_mtu.csv", data / "torq/tiny_cnn.mlir")
    pooling = next(op for op in table.program.operators if op.op == "tosa.max_pool2d")
    slices = slices_of(table, pooling.index)
    all_slices = table.trace.slices
    busy = set()
    for start, end in zip(all_slices.start[slices], all_slices.end[slices], strict=True):
        busy.update(range(start, end))
    timed = timed_in(table, pooling, slices, 1)
    assert (timed.ticks, timed.times, timed.units) == (
        len(busy),
        1,
        4,
    )  # DMA in and out, two slice units
    assert len(busy) < length(table, slices)
    assert timed_by(table, pooling, int(slices[0]), slices).reason == (
        "The slice did a part of the operator"
    )


def test_a_host_that_starts_and_waits_tells_no_time(data):
    table = linked(data / "torq/host_h1_quoted.csv", data / "torq/tiny_cnn.mlir")
    cast = next(op for op in table.program.operators if op.op == "tosa.cast")
    slices = slices_of(table, cast.index)
    reason = "The host only starts the work and waits; the file does not record its duration"
    assert timed_in(table, cast, slices, 1).reason == reason
    stated = slices[~table.trace.slices.derived[slices]]
    assert timed_by(table, cast, int(stated[0]), slices).reason == reason


def test_jobs_that_are_there_twice_may_be_two_runs_or_two_parts(data):
    table = linked(data / "torq/runtime_r0_nss.csv", data / "torq/tiny_cnn.mlir")
    add = next(op for op in table.program.operators if op.op == "tosa.add")
    slices = slices_of(table, add.index)
    assert timed_in(table, add, slices, 1) == TimedNodes(add.nodes, 1, length(table, slices), 1)
    assert timed_by(table, add, int(slices[0]), slices).nodes == add.nodes
    assert timed_in(table, add, slices, 2).reason.endswith("or the number is not recorded")


@pytest.mark.parametrize("view", [aligned_runs, mean_run])
def test_inferences_that_are_drawn_at_once_are_not_done_at_once(cnn, view):
    shown = replace(cnn, trace=view(cnn.trace))
    runs = sum(1 for _ in shown.trace.inferences())
    timed = timed_in(shown, cnn.program.operators[LINEAR], slices_of(shown, LINEAR), runs)
    included = 10 if view is aligned_runs else 8  # a mean leaves out the two that warm up
    every = slices_of(cnn, LINEAR)
    last = every[np.isin(run_of_slices(cnn.trace)[every], np.arange(11 - included, 11))]
    whole = timed_in(cnn, cnn.program.operators[LINEAR], last, included)
    assert timed.times == runs
    # A mean is floored to a tick at each end of its two calls.
    assert abs(timed.ticks / runs - whole.ticks / included) <= 4
