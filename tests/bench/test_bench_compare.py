"""How long a comparison of two arms of seven sessions takes, next to a floor.

Each session has 5,000 operators and 10 inferences. The floor is to read the 14 dumps and to link
them to nothing: no comparison is faster. *Compared* is everything after that: times of all parts,
pairs, rows and tests.
Prints only: `pytest tests/bench/test_bench_compare.py --benchmark-enable -s`.
"""

import random
import time

import pytest

from tests.builders.bench_sizes import rounds, size
from tests.builders.compare_sessions import write_session
from tests.builders.workspaces import workspace_of
from viewer.analysis.comparison.comparison import Comparison, Verdict
from viewer.reports.compare_text import compare_text
from viewer.workspace.comparison_arms import arm_of

pytestmark = pytest.mark.nightly

OPERATORS, SESSIONS = size(5_000, 50), 7


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    """The dumps of A and B; in B, one operator takes 30 % longer."""
    folder = tmp_path_factory.mktemp("compare")
    return [
        [_session(folder / f"{arm}{number}.etdp", arm, number) for number in range(SESSIONS)]
        for arm in "ab"
    ]


def _session(path, arm, number):
    dice = random.Random(f"{arm}{number}")
    kernels = {}
    for i in range(OPERATORS):
        ns = (1_000 + i * 37 % 9_000) * (1 + 0.02 * dice.random())
        slower = 1.3 if arm == "b" and i == 20 else 1
        kernels[f"op{i}.out"] = [round(ns * slower)] * 12
    return write_session(path, kernels)


def _opened(paths):
    workspace = workspace_of(*paths)
    for trace in workspace.traces:
        workspace.links(trace)
    return workspace


def test_two_arms(benchmark, dumps):
    took = []

    def compare():
        began = time.perf_counter()
        a, b = map(_opened, dumps)
        read = time.perf_counter()
        comparison = Comparison(arm_of(a), arm_of(b))
        text = compare_text(comparison)
        took.append((read - began, time.perf_counter() - read))
        return comparison, text

    comparison, text = benchmark.pedantic(compare, rounds=rounds(3))
    slower = [
        row.label
        for row, one in zip(comparison.rows, comparison.compared, strict=True)
        if one.verdict is Verdict.SLOWER
    ]
    assert slower == ["op20.out"]
    assert "op20.out" in text
    read, compared = min(took, key=sum)
    print(
        f"\n2 x {SESSIONS} dumps of {OPERATORS:,} operators: read and linked {1000 * read:.0f} ms, "
        f"compared {1000 * compared:.0f} ms"
    )
