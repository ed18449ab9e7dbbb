"""The sessions of files, and the time of every part in their inferences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.compare_sessions import INFERENCES, arm, write_session, write_sessions
from tests.builders.etdump_writer import Run, framework, operator, write_dump
from tests.paths import DATA
from viewer.analysis.comparison.sessions import PartId, _distinct, _nth


def test_parts_are_instructions_with_the_names_of_their_kernels(tmp_path):
    (session,) = arm(*write_sessions(tmp_path, "a", {"conv.out": 5000, "add.out": 700})).sessions
    (times,) = session.methods
    assert [(part.id.instruction, part.name) for part in times.parts] == [
        (0, "conv.out"), (1, "add.out")
    ]  # fmt: skip
    assert not any(part.is_method_known for part in times.parts)  # there is no ETRecord
    assert times.ticks.shape == (INFERENCES - 3, 2)  # three warm up
    assert (times.ticks == [5000, 700]).all()
    assert times.measured.all()


def test_with_a_record_parts_have_methods_and_operators():
    found = arm(*(DATA / f"compare/16_methods_swapped/a.{end}" for end in ("etrecord", "etdp")))
    (session,) = found.sessions
    assert [times.method for times in session.methods] == ["encode", "decode"]
    linear = [part for part in found.parts if part.id.method == "encode"][:2]
    assert [part.operators for part in linear] == [linear[0].operators] * 2  # permute and addmm
    assert all(part.is_method_known for part in found.parts)


def test_events_inside_a_delegate_call_are_parts_by_name_and_number():
    found = arm(*(DATA / f"compare/06_portable_vs_xnnpack/b.{end}" for end in ("etrecord", "etdp")))
    events = [part for part in found.parts if part.id.event]
    assert {part.backend for part in events} == {"XnnpackBackend"}
    assert len({part.id for part in events}) == len(events)
    assert all(part.id.call in found.number for part in events)
    assert {int(found.grain_ns[found.number[part.id]]) for part in events} == {1000}


def test_equal_events_of_one_call_are_told_apart_by_their_number(tmp_path):
    calls = [
        operator("DELEGATE_CALL", 4, 100, 900, chain=0),
        {"text": "gemm", "instruction": 4, "start": 200, "end": 300},
        {"text": "gemm", "instruction": 4, "start": 400, "end": 450},
    ]
    path = write_dump(tmp_path / "d.etdp", [Run("Execute", [*calls, whole(0, 1000)])])
    (times,) = arm(path).sessions[0].methods
    ticks = {part.id.event: times.ticks[0, i] for i, part in enumerate(times.parts)}
    assert ticks == {None: 800, ("gemm", 0): 100, ("gemm", 1): 50}


def whole(start, end):
    return framework("Method::execute", start, end)


def test_a_part_that_does_not_run_has_no_time(tmp_path):
    runs = [
        Run("Execute", [operator("OPERATOR_CALL", n % 2, 1000 * n + 100, 1000 * n + 300, chain=0),
                        whole(1000 * n, 1000 * n + 900)])
        for n in range(4)
    ]  # fmt: skip
    (times,) = arm(write_dump(tmp_path / "d.etdp", runs)).sessions[0].methods
    assert np.isnan(times.ticks).sum(axis=0).tolist() == [1, 2]  # the first one warms up
    assert times.calls.tolist() == [1, 1]


def test_a_restart_of_the_clock_starts_another_session(tmp_path):
    runs = []
    for began in (10_000_000, 20_000_000, 1_000, 5_000_000):
        call = operator("OPERATOR_CALL", 0, began + 100, began + 300, chain=0)
        runs.append(Run("Execute", [call, whole(began, began + 900)]))
    found = arm(write_dump(tmp_path / "d.etdp", runs))
    assert [len(session.runs) for session in found.sessions] == [2, 2]


def test_every_inference_of_a_session_has_its_own_times(tmp_path):
    path = write_session(tmp_path / "a.etdp", {"conv.out": range(1000, 1000 + INFERENCES)})
    (times,) = arm(path).sessions[0].methods
    assert times.ticks[:, 0].tolist() == list(range(1003, 1000 + INFERENCES))
    assert times.parts[0].id == PartId(times.method, 0)


@pytest.mark.slow
@given(st.data())
def test_parts_are_those_of_a_sort_of_all_slices(data):
    count = data.draw(st.integers(0, 40))

    def drawn(last, of):
        return np.array(data.draw(st.lists(st.integers(0, last), min_size=of, max_size=of)), int)

    instruction, name, row = drawn(3, 6), drawn(3, 6) - 1, drawn(2, count)
    key, start = drawn(5, count), drawn(9, count)
    nth = _nth(row, instruction[key], name[key], start)
    nth[name[key] < 0] = 0
    identity = np.stack([instruction[key], name[key], nth])
    _, first, part_of = np.unique(identity, axis=1, return_index=True, return_inverse=True)
    found = _distinct(key, instruction, name, nth)
    assert found[0].tolist() == first.tolist()
    assert found[1].tolist() == part_of.reshape(-1).tolist()
