"""All sessions of a program in Summary: the median of all, the range, and each of them."""

from statistics import median

import pytest
from PySide6.QtWidgets import QLabel

from tests.builders.compare_sessions import varied, write_sessions
from viewer.gui.panels.summary.panel import SummaryPanel
from viewer.gui.panels.summary.sections import MOST_SESSIONS, FigureLink, SessionsSection, TextLink
from viewer.gui.session.comparison import compare, compare_files
from viewer.gui.session.navigation import show_file
from viewer.model.times import format_time, plain_spaces

BASE = {"add.out": 20_000, "mul.out": 9_000}
SHARES = [0, 0.3, 0.1, 0.2]


@pytest.fixture
def paths(tmp_path):
    return [str(path) for path in write_sessions(tmp_path, "s", *varied(BASE, SHARES))]


@pytest.fixture
def panel(opened, paths, show_panel, data):
    session = opened(*paths, data / "chrome_json/kineto_cpu.json")
    return show_panel(SummaryPanel, session, 372, 900)


def labels(panel):
    return [label.text() for label in panel.card.findChildren(QLabel)]


def rows(panel):
    return [plain_spaces(one.text()) for one in panel.card.findChildren(TextLink)]


def test_sessions_are_one_object_with_their_median_and_range(panel):
    sessions = panel.answer.sessions
    medians = [
        median(run.end - run.start for run in session.runs) for session in sessions.arm.sessions
    ]
    assert "4 sessions, 36 inferences" in labels(panel)
    figures = {one.caption: one for one in panel.card.findChildren(FigureLink)}
    wanted = plain_spaces(format_time(round(median(medians))))
    assert plain_spaces(figures["median of 4"].text()) == wanted
    share = 100 * (max(medians) - min(medians)) / median(medians)
    assert figures["fastest to slowest"].number == f"{share:.1f}"
    for name, ns in zip(("s0.etdp", "s1.etdp", "s2.etdp", "s3.etdp"), medians, strict=True):
        place = rows(panel).index(name)
        assert rows(panel)[place + 1 : place + 3] == [
            plain_spaces(format_time(round(ns))), "9 inferences",
        ]  # fmt: skip


def test_a_session_is_switched_to_and_only_other_profiles_are_listed_again(panel):
    panel.card.links()["s2.etdp"].click()
    assert panel.session.current_trace == 2
    assert rows(panel).count("s2.etdp") == 1
    others = rows(panel)[-4:]
    assert "kineto_cpu.json" in others
    panel.card.links()["kineto_cpu.json"].click()
    assert panel.session.current_trace == 4
    assert "4 sessions, 36 inferences" not in labels(panel)
    assert "s0.etdp" in rows(panel)


def test_the_slowest_and_the_typical_session_are_a_click_away(panel):
    figures = {one.caption: one for one in panel.card.findChildren(FigureLink)}
    figures["fastest to slowest"].click()
    assert panel.session.current_trace == 1
    figures = {one.caption: one for one in panel.card.findChildren(FigureLink)}
    figures["median of 4"].click()
    assert panel.session.current_trace in (2, 3)


def test_sets_are_made_again_only_for_other_files_or_arms(panel, paths):
    sets = panel.answer.sets
    show_file(panel.session, 3)
    assert panel.answer.sets is sets
    assert not compare_files(panel.session, paths[2:])
    assert panel.answer.sets is not sets
    assert [len(one.traces) for one in panel.answer.sets] == [2, 2]


def test_many_sessions_are_counted(opened, tmp_path, show_panel):
    many = write_sessions(tmp_path, "m", *varied(BASE, [i / 50 for i in range(11)]))
    panel = show_panel(SummaryPanel, opened(*many), 372, 900)
    assert f"{11 - MOST_SESSIONS} more sessions" in rows(panel)


def test_operators_of_a_record_are_selected(show_panel, compared):
    session = compared({})
    compare(session, None)
    panel = show_panel(SummaryPanel, session, 372, 900)
    (row, *_) = panel.answer.sessions.operators
    section = SessionsSection(panel.card, panel.host, panel.answer.sessions, panel.answer.shown)
    section._select(row.operators)
    assert session.state.operators == (0, row.operators)
