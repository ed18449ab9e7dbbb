"""How long the delegation report of a million slices takes, and what of it the window waits for.

The trace is that of `tests.builders.many_calls`. In a worker: report and rows. On the GUI thread:
only that the table takes the rows.
Prints only: `pytest tests/bench/test_bench_delegation.py --benchmark-enable -s`.
"""

import pytest

from tests.builders.bench_sizes import rounds
from tests.builders.many_calls import CALLS, EVENTS, OPERATORS, RUNS, opened
from tests.gui.dark_theme import dark_theme
from viewer.analysis.delegates.delegation import Delegation
from viewer.analysis.delegates.handle_maps import HandleMaps
from viewer.gui.panels.delegation.page import page_of
from viewer.gui.panels.delegation.panel import DelegationModel, DelegationView
from viewer.gui.panels.handle_map import HandleMapModel, maps_of
from viewer.model.figures import TimeScope

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def shown():
    return opened()


def test_the_report_of_all_runs(benchmark, shown):
    report = benchmark.pedantic(lambda: Delegation(shown.table).report(), rounds=rounds(3))
    assert len(report.instances) == CALLS


def test_the_report_of_another_run(benchmark, shown):
    delegation = Delegation(shown.table)
    run = shown.trace.runs[RUNS // 2]
    delegation.report(TimeScope(run))
    assert benchmark(delegation.report, TimeScope(run)).whole


def test_the_rows_of_the_handle_maps(benchmark, shown):
    rows = benchmark.pedantic(lambda: HandleMaps(shown.table).rows(), rounds=rounds(3))
    assert len(rows) == CALLS * (EVENTS + 1)


def test_the_window_takes_a_report(benchmark, shown, qapp, qtbot):
    page = page_of(shown, Delegation(shown.table).report())
    theme, model = dark_theme(), DelegationModel()
    view = DelegationView(model, theme)
    qtbot.addWidget(view)
    view.resize(600, 500)
    view.show()
    model.page = page
    benchmark(view.show_contents, page.contents, -1)
    model.expand("Not delegated")
    assert len(model.rows) > OPERATORS


def test_the_window_takes_all_rows_of_a_report(benchmark, shown, qapp, qtbot):
    page = page_of(shown, Delegation(shown.table).report())
    theme, model = dark_theme(), DelegationModel()
    view = DelegationView(model, theme)
    qtbot.addWidget(view)
    view.resize(600, 500)
    view.show()
    model.page = page
    view.show_contents(page.contents, -1)
    benchmark(model.expand, "Not delegated")


def test_the_window_takes_the_handle_maps(benchmark, shown):
    maps = maps_of(HandleMaps(shown.table).rows(), shown.table.program, shown)
    model = HandleMapModel()
    model.maps = maps
    benchmark(model.show, maps.contents)


def test_a_click_on_a_reason_finds_its_slices(benchmark, shown):
    delegation = Delegation(shown.table)
    keys = delegation.report().unlinked[0].keys
    assert len(benchmark(delegation.slices_of, keys))
