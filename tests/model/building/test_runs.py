"""The numbers of inferences."""

from viewer.model.building.runs import numbered_runs
from viewer.model.trace import Run, RunKind


def run(kind: RunKind, track: int, number: int = 0) -> Run:
    return Run(kind, number, "Execute", track, 0, 0, 1)


def test_inferences_are_counted_per_process_and_loads_are_not():
    kinds = [RunKind.LOAD, RunKind.INFERENCE, RunKind.INFERENCE]
    runs = [run(kind, track) for track in (0, 1) for kind in kinds]
    found = numbered_runs(runs, ["a", "b"])
    assert [(r.number, r.total) for r in found] == [(0, 0), (1, 2), (2, 2)] * 2


def test_numbers_that_a_file_states_stay():
    runs = [run(RunKind.INFERENCE, 0, number) for number in (3, 5)]
    assert [(r.number, r.total) for r in numbered_runs(runs, ["a"])] == [(3, 5), (5, 5)]
