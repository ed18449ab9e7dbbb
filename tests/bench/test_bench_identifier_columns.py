"""How long a profile of a million slices takes to be compared with a map, and to be identified.

Prints only: `pytest tests/bench/test_bench_identifier_columns.py --benchmark-enable -s`.
"""

from __future__ import annotations

import pytest

from tests.builders.bench_sizes import size
from tests.paths import DATA
from viewer.analysis.links.pairing import identified_by, identifier_columns
from viewer.formats import open_file
from viewer.model.trace import Trace
from viewer.program.program import Program

pytestmark = pytest.mark.nightly

ROWS = size(1_000_000, 40_000)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """Five events of the record, 200 locations, a task id of its own on every row."""
    words = ("Fancy Fusion", "Fancy Fusion 2", "sin:0;a=b", "cos/1", "div")
    path = tmp_path_factory.mktemp("bench") / "c3.csv"
    with path.open("w") as file:
        file.write("taskId, elapsed_time(us), timestamp(us), event, location, bytes\n")
        for i in range(ROWS):
            file.write(f'{i},100,{i * 100},{words[i % 5]},loc("m.mlir":{i % 200 + 1}:1),\n')
    made = open_file(str(path))
    assert isinstance(made, Trace)
    return made


@pytest.fixture(scope="module")
def program() -> Program:
    made = open_file(str(DATA / "etrecord" / "demo_str.etrecord"))
    assert isinstance(made, Program)
    return made


def test_compare_all_columns_with_a_map(benchmark, trace, program):
    assert len(benchmark(identifier_columns, trace, program)) == 2


@pytest.mark.parametrize("column", ["event", "task_id"])
def test_identify_by_a_column(benchmark, trace, column):
    assert len(benchmark(identified_by, trace, column).slices) == ROWS
