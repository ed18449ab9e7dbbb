"""The caption of a panel: a menu of the open files and their inferences."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from tests.builders.compare_sessions import varied, write_sessions
from viewer.gui.panels.base.file_caption import ALL_INFERENCES, MOST_INFERENCES, OTHERS, FileCaption
from viewer.gui.panels.operators import OperatorsPanel
from viewer.gui.panels.source.panel import SourcePanel
from viewer.gui.session.navigation import show_file
from viewer.gui.window.frame.panel_registry import made_by
from viewer.gui.window.frame.panel_table import TABLE
from viewer.resources import SAMPLES

# Pages about all files, about what is selected, or about program files.
WITHOUT_CAPTION = {
    "compare", "details", "links", "marks", "memory", "problems", "program", "query", "search",
    "selection", "sizes",
}  # fmt: skip


@pytest.fixture
def sessions(opened, tmp_path, data):
    """Three sessions of one program, and another profile."""
    paths = write_sessions(tmp_path, "s", *varied({"add.out": 20_000}, [0, 0.1, 0.2]))
    return opened(*paths, data / "chrome_json/kineto_cpu.json")


@pytest.fixture
def caption(sessions, show_panel):
    return show_panel(OperatorsPanel, sessions).subtitle


def entries(caption):
    return [action.text() for action in caption.menu().actions() if action.text()]


def test_files_of_one_program_are_listed_below_what_they_are(caption):
    texts = entries(caption)
    assert texts[:6] == [
        "3 sessions, 27 inferences", "s0.etdp", "s1.etdp", "s2.etdp", OTHERS, "kineto_cpu.json",
    ]  # fmt: skip
    assert texts[6] == ALL_INFERENCES
    assert [action.text() for action in caption.menu().actions() if action.isChecked()] == [
        "s0.etdp", ALL_INFERENCES,
    ]  # fmt: skip


def test_a_file_is_switched_to_and_an_inference_picked(sessions, caption):
    def trigger(text):
        next(one for one in caption.menu().actions() if one.text().startswith(text)).trigger()

    trigger("s2.etdp")
    assert sessions.current_trace == 2
    assert "s2.etdp" in caption.text()
    trigger("5 of 12")
    assert sessions.traces[2].file.runs[sessions.state.run[1]].number == 5
    trigger(ALL_INFERENCES)
    assert (sessions.state.run, sessions.current_trace) == (None, 2)


def test_many_inferences_lead_to_the_list_of_all(opened, tmp_path, show_panel, data):
    session = opened(data / "phases/llm_200.etdp")
    panel = show_panel(OperatorsPanel, session)
    every = sum(1 for _ in session.traces[0].file.inferences())
    last = panel.subtitle.menu().actions()[-1]
    assert last.text() == f"{every - MOST_INFERENCES} more inferences…"
    last.trigger()
    assert ("show_inferences",) in panel.host.asked


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Space, Qt.Key.Key_Down])
def test_the_keyboard_opens_the_menu(caption, key):
    caption.setFocus()
    QTest.keyClick(caption, key)
    popup = QApplication.activePopupWidget()
    assert popup is not None
    popup.close()


def test_a_click_opens_the_menu(caption):
    QTest.mouseClick(caption, Qt.MouseButton.LeftButton)
    popup = QApplication.activePopupWidget()
    assert popup is not None
    popup.close()


def test_one_file_without_inferences_is_plain_text(opened, show_panel, data):
    panel = show_panel(OperatorsPanel, opened(data / "chrome_json/kineto_cpu.json"))
    caption = panel.subtitle
    assert not caption.has_choice
    assert caption.focusPolicy() is Qt.FocusPolicy.NoFocus
    QTest.mouseClick(caption, Qt.MouseButton.LeftButton)
    assert QApplication.activePopupWidget() is None


def test_screen_readers_get_a_button_with_the_text(caption):
    interface = QAccessible.queryAccessibleInterface(caption)
    assert interface.role() is QAccessible.Role.ButtonMenu
    assert caption.text() in interface.text(QAccessible.Text.Value)


def test_source_names_the_file_only_among_several(sessions, show_panel, sample):
    panel = show_panel(SourcePanel, sessions)
    assert panel.caption.text() == "s0.etdp"
    show_file(sessions, 1)
    assert panel.caption.text() == "s1.etdp"
    alone = show_panel(SourcePanel, sample("attention_xnnpack"))
    assert not alone.caption.isVisible()


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(TABLE.pages.keys() - WITHOUT_CAPTION))
def test_each_page_about_a_file_has_the_caption(page, opened, show_panel):
    paths = [path for sample in SAMPLES for path in sample.paths()]
    session = opened(*dict.fromkeys(paths))
    panel = show_panel(made_by(TABLE.pages[page].factory), session)
    assert panel.findChildren(FileCaption)


def test_the_name_of_one_of_several_files_is_what_a_narrow_panel_shows(caption, sample, show_panel):
    caption.setFixedWidth(caption.fontMetrics().horizontalAdvance("s0.etdp") + 20)
    assert caption.shown_text == "s0.etdp"
    alone = show_panel(OperatorsPanel, sample("attention_xnnpack")).subtitle
    alone.setFixedWidth(60)
    assert alone.shown_text.endswith("…")
