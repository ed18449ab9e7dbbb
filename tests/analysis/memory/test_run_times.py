"""When instructions ran: the planned bytes over time, and the time of each instruction."""

import numpy as np
import pytest

from tests.builders.planned_methods import jump, kernel, planned_method
from viewer.analysis.memory.plan import known_plan
from viewer.analysis.memory.run_times import (
    instruction_times,
    planned_counters,
    slices_of_instruction,
)
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind, RunKind
from viewer.program.executable.executable import ExecutableMethod


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
