"""Vela's layers: estimated cycles in order."""

from tests.builders.runtime_files import vela_csv
from viewer.formats import open_file
from viewer.model.timing import kinds_of_time


def opened(tmp_path, text):
    path = tmp_path / "model_per-layer.csv"
    path.write_text(text)
    return open_file(str(path))


def test_operators_in_cycles_that_are_estimated_and_placed(tmp_path):
    trace = opened(tmp_path, vela_csv())
    assert [
        (trace.name(i), int(trace.slices.start[i]), int(trace.slices.end[i])) for i in range(3)
    ] == [
        ("sequential/conv1/Relu;sequential/conv1", 0, 7312),
        ("pool, first", 7312, 10304),
        ("sequential/dense/BiasAdd", 10304, 10816),
    ]
    assert kinds_of_time(trace.slices) == ("placed", "estimated")
    assert (trace.clock.unit, trace.clock.assumed) == ("cycle", True)


def test_both_shares_of_the_network_are_arguments(tmp_path):
    columns = opened(tmp_path, vela_csv()).slices.columns
    assert (columns["Network%"].value(0), columns["MAC Network%"].value(0)) == (17.64, 8.65)
    assert columns["MAC Count"].value(0) == 73008


def test_another_header_starts_another_part(tmp_path):
    trace = opened(tmp_path, vela_csv() + vela_csv())
    assert [t.thread for t in trace.tracks] == [
        "placed · layers", "placed · layers of part 2"
    ]  # fmt: skip


def test_a_row_without_cycles_is_counted(tmp_path):
    text = vela_csv().replace(",7312.0,17", ",many,17")
    (problem,) = opened(tmp_path, text).problems
    assert (problem.kind, problem.first) == ("row without a usable time: left out", "line 2")
