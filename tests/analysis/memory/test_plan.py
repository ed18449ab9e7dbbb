"""Bytes in use at each instruction, the peak and what holds it."""

import numpy as np
import pytest

from tests.builders.planned_methods import jump, kernel, planned_method
from tests.paths import DATA
from viewer.analysis.memory.plan import (
    held_by_groups,
    instruction_operators,
    instruction_times,
    known_plan,
    memory_plan,
    planned_counters,
    slices_of_instruction,
    used_by,
    written_by,
)
from viewer.formats import open_file
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind, RunKind
from viewer.program.executables import ExecutableMethod


def test_live_bytes_the_peak_and_what_holds_it():
    method = planned_method([(0, 8), (8, 16), (24, 4)], kernel(0, 1), kernel(1, 2), kernel(2, 2),
                            inputs=[0], arena=32)  # fmt: skip
    plan = memory_plan(method)
    assert plan.live.tolist() == [24, 20, 4]
    assert (plan.peak, plan.peak_instruction, plan.arena) == (24, 0, 32)
    assert plan.fragmentation == 0.25
    assert plan.storages.tensor[plan.at_peak].tolist() == [1, 0]


def test_bytes_of_several_memories_add_up():
    method = planned_method([(0, 8), (0, 16)], kernel(0, 1), inputs=[0], memories=[1, 3])
    plan = memory_plan(method)
    assert plan.live.tolist() == [24]
    assert {memory: live.tolist() for memory, live in plan.live_of.items()} == {1: [8], 3: [16]}


def test_bytes_that_two_tensors_share_count_once():
    # Value 2 overlaps the end of value 1, so it is no view of it.
    method = planned_method([(0, 8), (8, 8), (12, 8)], kernel(0, 1), kernel(1, 2), inputs=[0])
    assert memory_plan(method).live.tolist() == [16, 12]


def test_a_method_without_planned_memory_has_no_peak():
    for method in (planned_method([]), planned_method([None], kernel(0))):
        plan = memory_plan(method)
        assert (plan.peak, plan.peak_instruction) == (0, -1)
        assert len(plan.at_peak) == 0


def test_a_tensor_beyond_its_memory_is_reported():
    plan = memory_plan(planned_method([(0, 8), (28, 8)], kernel(0, 1), inputs=[0], arena=32))
    assert plan.outside.tolist() == [False, True]


@pytest.mark.parametrize(
    ("name", "peak", "instruction", "arena"),
    [
        # executorch's own planning data, made by exporting the models again (tests/peers)
        ("dyn_x", 868, 5, 944),
        ("part_x", 1156, 2, 1232),
        ("mobile_x", 3092, 0, 3168),
    ],
)
def test_real_programs_have_the_peak_that_export_planned(name, peak, instruction, arena):
    (method,) = open_file(str(DATA / "pte" / f"{name}.pte")).methods
    plan = memory_plan(method)
    assert (plan.peak, plan.peak_instruction, plan.arena) == (peak, instruction, arena)


def test_live_bytes_equal_those_of_a_map_of_all_bytes():
    dice = np.random.default_rng(5)
    for _ in range(40):
        places = [
            (int(low), int(size))
            for low, size in zip(dice.integers(0, 60, 12), dice.integers(1, 20, 12), strict=True)
        ]
        instructions = [kernel(*dice.integers(0, 12, 3).tolist()) for _ in range(10)]
        plan = memory_plan(planned_method(places, *instructions, arena=80))
        wanted = []
        for at in range(len(instructions)):
            used = np.zeros(80, np.bool_)
            for one in plan.storages.live_at(at):
                low = plan.storages.offset[one]
                used[low : low + plan.storages.size[one]] = True
            wanted.append(int(used.sum()))
        assert plan.live.tolist() == wanted


METHOD = planned_method(
    [(0, 8), (8, 16), (24, 4), (0, 8)],
    kernel(0, 1), kernel(1, 2), kernel(4, 3),
    inputs=[0], lists={4: (2, -1)}, outputs=[3],
)  # fmt: skip
PLAN = memory_plan(METHOD)


def test_an_instruction_writes_its_result_and_reads_the_rest():
    assert PLAN.storages.tensor[written_by(PLAN, [1])].tolist() == [2]
    assert PLAN.storages.tensor[used_by(PLAN, [1])].tolist() == [1, 2]
    assert PLAN.storages.tensor[used_by(PLAN, [0, 1])].tolist() == [0, 1, 2]


def test_members_of_lists_are_read():
    assert sorted(PLAN.storages.tensor[used_by(PLAN, [2])].tolist()) == [2, 3]


def test_no_or_unknown_instructions_use_nothing():
    assert len(used_by(PLAN, [])) == len(used_by(PLAN, [9])) == len(written_by(PLAN, [])) == 0


def test_groups_hold_bytes_at_the_peak_and_at_most():
    # 8 and 16 bytes at instruction 0, 16 and 4 at 1, 4 and 8 at 2.
    group = np.array([0, 1, 1, 0])[np.argsort(np.argsort(PLAN.storages.tensor))]
    held = held_by_groups(PLAN, group, 2)
    assert held.count.tolist() == [2, 2]
    assert held.at_peak.tolist() == [8, 16]
    assert held.most.tolist() == [8, 20]
    assert (held.first.tolist(), held.last.tolist()) == ([0, 0], [2, 2])


def test_a_group_that_ends_as_it_begins_again_holds_one_at_a_time():
    method = planned_method([(0, 8), (8, 8)], kernel(0), kernel(1))
    held = held_by_groups(memory_plan(method), np.array([0, 0]), 1)
    assert held.most.tolist() == [8]


FILES = DATA / "pte"


def labels(name):
    program = open_file(str(FILES / f"{name}.etrecord"))
    (method,) = open_file(str(FILES / f"{name}.pte")).methods
    found = instruction_operators(program, method)
    return {at: [program.operators[i].label for i in own] for at, own in found.items()}


def test_kernels_and_delegate_calls_have_the_operators_of_their_debug_handles():
    found = labels("part_x")
    assert found[1] == ["c1 · convolution", "relu"]
    assert all(found.values())


def test_kernels_in_branches_have_the_operators_of_their_nodes():
    program_labels = labels("cond")
    assert "sin" in {label for own in program_labels.values() for label in own}


def test_a_method_that_the_record_does_not_have_has_none():
    program = open_file(str(FILES / "part_x.etrecord"))
    decode = open_file(str(FILES / "multi3.pte")).method("decode")
    assert instruction_operators(program, decode) == {}


@pytest.fixture
def chain() -> ExecutableMethod:
    """Three kernels, with 24, 20 and 4 bytes in use."""
    return planned_method([(0, 8), (8, 16), (24, 4)], kernel(0, 1), kernel(1, 2), kernel(2, 2),
                          inputs=[0], arena=32)  # fmt: skip


def trace_of(*runs, kind=KeyKind.OPERATOR_CALL, tracks=None):
    """A trace of runs, each of (start, end, ((instruction, start, end), …)), of one method.

    tracks: the process of each run's track; one process by default.
    """
    builder = TraceBuilder("dump.etdp", "ETDump", "", Clock())
    scope = builder.scope("Method::execute")
    for number, (start, end, calls) in enumerate(runs):
        process = tracks[number] if tracks else "p"
        track = builder.track(process, "t")
        for instruction, first, last in calls:
            builder.add(
                track=track, start=np.array([first]), end=np.array([last]),
                name=builder.intern("OPERATOR_CALL"),
                key=builder.key(kind, "OPERATOR_CALL", scope=scope, instruction=instruction),
            )  # fmt: skip
        builder.run(RunKind.INFERENCE, "Method::execute", track, scope, start, end)
    return builder.build()


ONE = (10, 50, ((0, 12, 20), (1, 22, 30), (2, 32, 40)))
NEXT = (60, 90, ((0, 62, 70), (1, 70, 80), (2, 80, 85)))


def changes(counter):
    return list(zip(counter.tick.tolist(), counter.value.tolist(), strict=True))


def test_bytes_are_in_use_from_the_start_of_an_instruction_to_the_end_of_the_inference(chain):
    (counter,) = planned_counters(trace_of(ONE, NEXT), [chain])
    assert changes(counter) == [
        (12, 24), (22, 20), (32, 4), (50, 0), (62, 24), (70, 20), (80, 4), (90, 0),
    ]  # fmt: skip
    assert (counter.name, counter.unit, counter.limit) == ("Planned memory in use", "B", 32)
    assert counter.note == "derived from the memory plan of the program file; its arena has 32 B"


def test_state_stays_in_use_between_inferences():
    method = planned_method([(0, 8), (8, 16)], kernel(0, 1), constants=[0])
    (counter,) = planned_counters(trace_of((0, 10, ((0, 2, 8),)), (20, 30, ((0, 22, 28),))),
                                  [method])  # fmt: skip
    assert known_plan(method).kept == 8
    assert changes(counter) == [(2, 24), (10, 8), (22, 24), (30, 8)]


def test_an_instruction_that_starts_as_an_inference_ends_counts(chain):
    (counter,) = planned_counters(trace_of((0, 10, ((0, 0, 10),)), (10, 20, ((1, 10, 20),))),
                                  [chain])  # fmt: skip
    assert changes(counter) == [(0, 24), (10, 20), (20, 0)]


def test_what_cannot_be_in_use_together_has_no_counter(chain):
    overlapping = (20, 60, ((0, 22, 30),))
    assert planned_counters(trace_of(ONE, overlapping), [chain]) == ()
    assert planned_counters(trace_of(ONE), [None]) == ()
    assert planned_counters(trace_of(ONE), []) == ()
    assert planned_counters(trace_of(ONE), [planned_method([None], kernel(0), arena=0)]) == ()


def test_every_process_has_its_own_counter(chain):
    overlapping = (20, 60, ((0, 22, 30),))
    found = planned_counters(trace_of(ONE, overlapping, tracks=["a", "b"]), [chain])
    assert {counter.process: changes(counter) for counter in found} == {
        "a": [(12, 24), (22, 20), (32, 4), (50, 0)],
        "b": [(22, 24), (60, 0)],
    }


def test_numbers_beyond_the_method_and_other_events_are_left_out(chain):
    (counter,) = planned_counters(trace_of((0, 9, ((0, 1, 2), (7, 3, 4)))), [chain])
    assert changes(counter) == [(1, 24), (9, 0)]
    events = trace_of((0, 9, ((0, 1, 2),)), kind=KeyKind.DELEGATE_EVENT)
    (counter,) = planned_counters(events, [chain])
    assert changes(counter) == []


def test_times_of_instructions_that_did_not_run_are_those_around_them(chain):
    trace = trace_of((10, 50, ((0, 12, 20), (2, 32, 40))))
    times = instruction_times(trace, trace.runs[0], chain)
    assert times is not None
    assert times.start.tolist() == [12, 32, 32]
    assert times.end.tolist() == [20, 20, 40]
    assert times.number.tolist() == [0, 2]


def test_an_instruction_of_a_loop_lasts_from_its_first_call_to_its_last():
    method = planned_method([(0, 8), (8, 8)], kernel(0, 1), kernel(1, 0), jump(0), inputs=[0])
    trace = trace_of((0, 50, ((0, 1, 2), (1, 3, 4), (0, 11, 12), (1, 13, 14))))
    times = instruction_times(trace, trace.runs[0], method)
    assert times is not None
    assert (times.start.tolist()[:2], times.end.tolist()[:2]) == ([1, 3], [12, 14])
    assert times.tick.tolist() == [1, 3, 11, 13]


def test_only_the_instructions_of_one_inference_count(chain):
    trace = trace_of(ONE, NEXT)
    times = instruction_times(trace, trace.runs[1], chain)
    assert times is not None
    assert times.tick.tolist() == [62, 70, 80]
    empty = trace_of((0, 9, ()), ONE)
    assert instruction_times(empty, empty.runs[0], chain) is None


def test_the_slices_of_an_instruction_are_its_calls(chain):
    trace = trace_of(ONE, NEXT)
    found = slices_of_instruction(trace, [0], 1)
    assert trace.slices.start[found].tolist() == [22, 70]
