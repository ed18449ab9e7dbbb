"""How long a large plain profile CSV takes, beside the csv module alone.

Run with `pytest tests/bench/test_bench_table_csv.py --benchmark-enable`; OPSCOPE_BENCH_ROWS sets
the size (200,000 rows unless set). Prints only; nothing is asserted about time.
"""

import csv
import os
from pathlib import Path

import pytest

from viewer.formats import never_cancelled, no_progress
from viewer.formats.table_csv import FORMAT

ROWS = int(os.environ.get("OPSCOPE_BENCH_ROWS", "200000"))


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight threads, three levels, 300 names, two arguments."""
    path = tmp_path_factory.mktemp("table") / "profile.csv"
    with path.open("w") as file:
        file.write("process,thread,name,start_ns,dur_ns,depth,instruction_id,core,note\n")
        for i in range(ROWS):
            level = i // 8 % 3
            start = 4812337551000000 + i // 24 * 100 + level
            file.write(
                f"camera,thread {i % 8},op {i % 300},{start},{90 - 10 * level},{level},"
                f'{i % 300},{i % 4},"note {i % 50}"\n'
            )
    return path


def test_read(benchmark, profile):
    trace = benchmark(lambda: FORMAT.read(str(profile), no_progress, never_cancelled))
    assert len(trace.slices) == ROWS
    assert trace.problems == ()


def test_floor_csv_module(benchmark, profile):
    def rows() -> int:
        with profile.open(newline="") as file:
            return sum(1 for _ in csv.reader(file))

    assert benchmark(rows) == ROWS + 1
