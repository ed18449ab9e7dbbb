"""The Compare panel: the answer in a sentence, the steps, and what the sessions could find."""

import json
from dataclasses import replace
from pathlib import Path
from shutil import copyfile

import pytest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton

from tests.builders.compare_sessions import write_session
from tests.builders.compared_windows import arms_of, write_arms
from viewer.gui.panels.base.compared_operators import compared_contents
from viewer.gui.panels.compare.panel import (
    COPY,
    END,
    NOTHING,
    ONE_FILE,
    SWAP,
    ComparePanel,
    SessionDots,
)
from viewer.gui.session.comparison import ComparisonFeed, compare, compare_inferences
from viewer.recording.run_file import SCHEMA
from viewer.reports.compare_text import RELATIVE


@pytest.fixture
def arms(tmp_path):
    return write_arms(tmp_path)


@pytest.fixture
def panel(opened, arms, show_panel):
    session = opened(*arms[0], *arms[1])
    made = show_panel(ComparePanel, session, 372, 800)
    compare(session, arms_of(*arms))
    return made


def texts(panel):
    return [label.text() for label in panel.card.findChildren(QLabel)]


def press(panel, text):
    next(b for b in panel.card.findChildren(QPushButton) if b.text() == text).click()


def test_without_a_comparison_it_says_how_to_begin_one(opened, arms, show_panel):
    made = show_panel(ComparePanel, opened(*arms[0]), 372, 800)
    assert made.sentence == NOTHING
    made.empty.findChild(QPushButton).click()
    assert made.host.asked == [("choose_comparison",)]


def test_the_answer_comes_first(panel):
    shown = texts(panel)
    assert shown[0].startswith("1 of 3 operators changed; it takes") or shown[0].startswith(
        "1 of 3 calls changed; it takes"
    )
    assert any(text.startswith("add.out: ") for text in shown)
    assert "4 + 4" in shown


def test_parts_of_one_file_are_named_instead_of_sessions(panel):
    file = panel.session.traces[0].file
    runs = list(file.inferences())
    compare_inferences(panel.session, file, runs[2], [runs[8]])
    shown = texts(panel)
    assert shown[0].startswith("Inference 9 took ")
    assert ONE_FILE in shown
    assert f"A: inference 3 of {Path(file.path).name}" in shown
    assert f"B: inference 9 of {Path(file.path).name}" in shown
    assert not any("1 session" in text or "1 + 1" in text for text in shown)


def test_relative_times_are_announced(panel):
    compare(panel.session, replace(panel.session.state.compared, relative=True))
    assert RELATIVE in texts(panel)
    compare(panel.session, replace(panel.session.state.compared, relative=False))
    assert RELATIVE not in texts(panel)


def test_nothing_is_wider_than_a_card_of_340_px(panel):
    assert panel.card.minimumSizeHint().width() <= 372


def test_its_buttons_copy_swap_and_end(panel):
    session = panel.session
    press(panel, COPY)
    assert "| verdict |" in QApplication.clipboard().text()
    press(panel, SWAP)
    assert session.state.compared.a.paths[0].endswith("b0.etdp")
    press(panel, END)
    assert session.state.compared is None
    assert panel.is_empty


def test_arms_that_cannot_be_compared_say_why(opened, arms, show_panel, tmp_path):
    copy = copyfile(arms[0][0], tmp_path / "copy.etdp")
    session = opened(arms[0][0], copy, *arms[1])
    made = show_panel(ComparePanel, session, 372, 800)
    compare(session, arms_of([arms[0][0], str(copy)], arms[1]))
    assert made.sentence == "Arm A: a0.etdp and copy.etdp are the same recording."


def test_a_drift_larger_than_the_change_is_named(opened, show_panel, tmp_path):
    """Heat or a growing cache may be the cause: each session is slower in its second half."""
    times = {"add.out": [20_000] * 8 + [30_000] * 4, "mul.out": [30_000] * 12}
    a, b = ([str(write_session(tmp_path / f"{x}.etdp", times))] for x in "ab")
    session = opened(*a, *b)
    made = show_panel(ComparePanel, session, 372, 800)
    compare(session, arms_of(a, b))
    assert any("Drift within sessions +18.5 %." in text for text in texts(made))
    comparison = ComparisonFeed.of(session).answer.calls
    details = {row.op: row.detail for row in compared_contents(comparison, "Call").rows}
    assert "Drift within sessions +50.0 %." in details["add.out"]
    assert "Drift" not in details["mul.out"]


def test_heat_and_clocks_of_sessions_are_dots_and_a_note(opened, arms, show_panel):
    for number, paths in enumerate(arms):
        for i, path in enumerate(paths):
            facts = {
                "schema": SCHEMA,
                "recording": "r",
                "order": 2 * i + number + 1,
                "frequency_khz": 2_000_000,
                "before": {"temperature_c": 40 + 7 * number + i / 4, "temperature_of": "cpu"},
            }
            Path(path).with_suffix(".run.json").write_text(json.dumps(facts))
    session = opened(*arms[0], *arms[1])
    panel = show_panel(ComparePanel, session, 372, 800)
    compare(session, arms_of(*arms))
    dots = {one.accessibleName(): one for one in panel.card.findChildren(SessionDots)}
    heat = dots["Temperature by session"]
    assert heat.accessibleDescription() == (
        "A: 40.0 °C, 40.2 °C, 40.5 °C, 40.8 °C. B: 47.0 °C, 47.2 °C, 47.5 °C, 47.8 °C"
    )
    assert "2.00 GHz" in dots["Clock by session"].accessibleDescription()
    assert heat.lines(0) == ("A session of A", "Temperature 40.0 °C")
    shown = texts(panel)
    assert any(text.startswith("B ran 7.0 °C warmer than A") for text in shown)
    assert shown[0].startswith("No ")
