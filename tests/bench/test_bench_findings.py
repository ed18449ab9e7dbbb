"""How long the findings of a million slices and 5,000 operators take, beside a floor.

The floor is one pass over the slices, a sum of their lengths by key: nothing that looks at all of
them is faster. *Cold* is the first question of a trace, which charges its time; *warm* is that of
another run. All of it is in a worker. On the GUI thread: that the list takes the rows.
Prints only: `pytest tests/bench/test_bench_findings.py --benchmark-enable -s`.
"""

import time
from fractions import Fraction

import numpy as np
import pytest

from tests.builders.bench_sizes import rounds
from tests.builders.many_calls import RUNS, opened
from tests.gui.dark_theme import dark_theme
from viewer.analysis.findings.findings import FindingsAnalysis
from viewer.gui.panels.findings.list import FindingsList, FindingsModel
from viewer.model.figures import WHOLE, TimeScope

pytestmark = pytest.mark.nightly

NS = Fraction(1)


@pytest.fixture(scope="module")
def shown():
    made = opened()
    made.costs.table()  # other panels have asked for it
    return made


@pytest.fixture(scope="module", autouse=True)
def printed(shown):
    """All figures in one line, best of three."""
    slices = shown.trace.slices

    def floor():
        return np.bincount(slices.key, weights=slices.end - slices.start)

    findings = FindingsAnalysis(shown.table, shown.costs)
    run = shown.trace.runs[RUNS // 2]
    cold = _best(lambda: FindingsAnalysis(shown.table, shown.costs).of(WHOLE, NS))
    every, one = (_best(lambda of=of: findings.of(of, NS)) for of in (WHOLE, TimeScope(run)))
    costs = _best(lambda: shown.costs.table())
    print(
        f"\n{len(slices):,} slices: floor {_best(floor):.0f} ms, cost table {costs:.0f} ms, "
        f"findings cold {cold:.0f} ms, all runs warm {every:.0f} ms, one run {one:.0f} ms"
    )


def _best(ask) -> float:
    took = []
    for _ in range(rounds(3)):
        begin = time.perf_counter()
        ask()
        took.append(time.perf_counter() - begin)
    return min(took) * 1000


def test_the_first_findings(benchmark, shown):
    answer = benchmark.pedantic(
        lambda: FindingsAnalysis(shown.table, shown.costs).of(WHOLE, NS), rounds=rounds(3)
    )
    assert answer.found


def test_the_findings_of_another_run(benchmark, shown):
    findings = FindingsAnalysis(shown.table, shown.costs)
    findings.of(WHOLE, NS)
    assert benchmark(findings.of, TimeScope(shown.trace.runs[RUNS // 2]), NS).found


def test_the_window_takes_the_rows(benchmark, shown, qapp, qtbot):
    findings = FindingsAnalysis(shown.table, shown.costs).of(WHOLE, NS)
    model = FindingsModel()
    view = FindingsList(model, dark_theme())
    qtbot.addWidget(view)
    view.resize(600, 500)
    view.show()

    def show():
        model.show(findings)
        view.doItemsLayout()

    benchmark(show)


def test_a_click_finds_its_slices(benchmark, shown):
    findings = FindingsAnalysis(shown.table, shown.costs)
    one = next(one for one in findings.of(WHOLE, NS).found if one.family.key == "outside")
    assert len(benchmark(findings.slices_of, one, WHOLE))
