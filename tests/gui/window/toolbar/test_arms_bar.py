"""The arms of a comparison in the toolbar."""

from collections import defaultdict
from shutil import copyfile
from types import SimpleNamespace

import pytest
from PySide6.QtWidgets import QLabel, QToolButton

from tests.builders.compared_windows import arms_of, write_arms
from tests.gui.events import open_files, settle
from tests.paths import DATA
from viewer.gui.session import comparison as comparison_feed
from viewer.gui.session.comparison import compare, compare_inferences
from viewer.gui.window.toolbar.toolbar import ArmsBar


@pytest.fixture(scope="module")
def arms(tmp_path_factory):
    return write_arms(tmp_path_factory.mktemp("arms"))


@pytest.fixture
def compared(shared_window, qtbot, arms):
    a, b = arms
    controller = shared_window.showing(*a, *b)
    compare(controller.session, arms_of(a, b[:3]))
    settle(qtbot, controller)
    return controller


@pytest.fixture
def labels(qtbot, theme):
    """The texts of a bar without a window, for a session that compares."""

    def labels_of(session):
        command = SimpleNamespace(plain_title="")
        commands = SimpleNamespace(commands=defaultdict(lambda: command), run=lambda id: None)
        bar = ArmsBar(session, commands, theme)
        qtbot.addWidget(bar)
        return [label.text() for label in bar.findChildren(QLabel)]

    return labels_of


def button(controller, text):
    buttons = controller.toolbar.arms.findChildren(QToolButton)
    return next(one for one in buttons if one.text() == text)


def test_it_replaces_the_inference_picker(compared, qtbot):
    assert compared.toolbar.arms.isVisible()
    assert not compared.toolbar.run.isVisible()
    compare(compared.session, None)
    settle(qtbot, compared)
    assert not compared.toolbar.arms.isVisible()
    assert compared.toolbar.run.isVisible()


def test_it_counts_the_sessions_of_each_arm(opened, labels, arms):
    a, b = arms
    session = opened(*a, *b)
    compare(session, arms_of(a, b[:3]))
    assert [text.partition(" · ")[0] for text in labels(session)] == ["4 sessions", "3 sessions"]


def test_it_names_chosen_inferences(opened, labels, arms):
    session = opened(arms[0][0])
    file = session.traces[0].file
    runs = list(file.inferences())
    compare_inferences(session, file, runs[2], [*runs[4:7], runs[8]])
    assert labels(session) == ["inference 3", "inferences 5 to 7 and 9"]


def test_profiles_without_inferences_count_none(opened, labels):
    paths = [str(DATA / "torq" / f"{x}.csv") for x in ("compile_c1_css_cdma", "compile_c3_taskid")]
    session = opened(*paths)
    compare(session, arms_of(paths[:1], paths[1:]))
    assert labels(session) == ["1 session", "1 session"]


def test_it_swaps_and_ends(compared):
    before = compared.session.state.compared
    button(compared, "⇄").click()
    assert compared.session.state.compared == before.swapped
    ends = (b for b in compared.toolbar.arms.findChildren(QToolButton) if b.text()[:3] == "End")
    next(ends).click()
    assert compared.session.state.compared is None


def test_costs_replace_changes_in_the_tables_and_come_back(compared, qtbot):
    def titles():
        return [heading.title for heading in compared.panels["operators"].model.contents.headings]

    assert "Change" in titles()
    button(compared, "Changes").click()
    settle(qtbot, compared)
    assert "Change" not in titles()
    assert not button(compared, "Changes").isChecked()
    button(compared, "Changes").click()
    settle(qtbot, compared)
    assert "Change" in titles()


def test_relative_times_are_switched_on_and_off_and_undone(compared, qtbot):
    action = compared.commands.actions["compare.relative"]
    assert action.isEnabled()
    action.trigger()
    settle(qtbot, compared)
    assert compared.session.state.compared.relative
    assert button(compared, "Relative changes").isChecked()
    assert compared.panels["operators"].subtitle.text().endswith(", relative to the inference")
    compared.commands.actions["go.undo"].trigger()
    settle(qtbot, compared)
    assert not compared.session.state.compared.relative
    assert button(compared, "Changes").isChecked()


def test_relative_times_are_offered_as_soon_as_a_large_comparison_is_computed(
    shared_window, qtbot, arms, monkeypatch
):
    monkeypatch.setattr(comparison_feed, "AT_ONCE", 0)  # off the GUI thread
    a, b = arms
    controller = shared_window.showing(*a, *b)
    compare(controller.session, arms_of(a, b))
    settle(qtbot, controller)
    assert controller.commands.actions["compare.relative"].isEnabled()


@pytest.mark.parametrize("width", [1024, 1280])
def test_it_fits_into_narrow_windows(compared, width, qtbot):
    compared.commands.actions["compare.relative"].trigger()
    compared.window.resize(width, 720)
    settle(qtbot, compared)
    toolbar = compared.toolbar
    assert toolbar.arms.mapTo(toolbar, toolbar.arms.rect().topRight()).x() <= toolbar.width()
    assert toolbar.arms.isVisible()


def test_profiles_without_inferences_offer_no_relative_times(controller, qtbot, tmp_path):
    a = str(DATA / "torq/compile_c3_taskid.csv")
    b = copyfile(a, tmp_path / "other.csv")
    open_files(qtbot, controller, a, str(b))
    compare(controller.session, arms_of([a], [str(b)]))
    settle(qtbot, controller)
    assert not controller.commands.actions["compare.relative"].isEnabled()
    assert controller.commands.actions["compare.swap"].isEnabled()
