"""The menus that name, merge and split phases: what they offer, and what follows them."""

import pytest
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QInputDialog, QMenu

from tests.paths import DATA
from viewer.formats import open_file
from viewer.gui.panels.summary.course_strip import CourseStrip
from viewer.gui.panels.summary.panel import SummaryPanel
from viewer.gui.panels.summary.phases import PhaseActions, phase_entry
from viewer.gui.panels.summary.sections import FigureLink, TextLink
from viewer.gui.session import workspace_edits
from viewer.gui.session.choices import choose_phases
from viewer.gui.session.navigation import choose_phase, pick_run
from viewer.model.figures import STEADY, WHOLE
from viewer.model.inference_views import Inferences, times_of_methods
from viewer.model.times import plain_spaces
from viewer.view.selection import per_inference
from viewer.view.sessions.option_texts import OptionTexts
from viewer.view.sessions.session_file import kept_choices

LLM = str(DATA / "phases" / "llm_200.etdp")


@pytest.fixture
def panel(opened, show_panel, qtbot):
    session = opened(LLM)
    pick_run(session, None)
    shown = show_panel(SummaryPanel, session, 372, 900)
    qtbot.waitUntil(lambda: shown.card is not None)
    return shown


@pytest.fixture
def answer(monkeypatch):
    """Let dialogs answer with a name or a number; "" as if canceled."""

    def give(value):
        monkeypatch.setattr(QInputDialog, "getText", lambda *args, **more: (value, bool(value)))
        monkeypatch.setattr(QInputDialog, "getInt", lambda *args, **more: (value, bool(value)))

    return give


def texts(menu):
    return [one.text().replace("&", "") for one in menu.actions() if not one.isSeparator()]


def menu_for(panel, run):
    menu = QMenu(panel)
    PhaseActions(panel.session, panel.session.traces[0].file, panel).fill(menu, run)
    return menu


def choose(panel, run, *path):
    """Trigger an entry of the menu of an inference, or of all phases (run None)."""
    menu = menu_for(panel, run)
    action = None
    for text in path:
        inside = action.menu() if action else menu
        action = next(one for one in inside.actions() if text in one.text().replace("&", ""))
    action.trigger()


def phases(panel):
    found = {}
    for run in panel.session.traces[0].file.inferences():
        found[run.phase] = found.get(run.phase, 0) + 1
    return found


def figures(panel):
    found = panel.card.findChildren(FigureLink)
    return {one.caption: plain_spaces(one.text()) for one in found}


def test_the_menu_of_an_inference_names_it_and_its_phase(panel):
    menu = menu_for(panel, 41)
    assert texts(menu) == [
        "Name “decode”…",
        "Merge “decode” with",
        "Split “decode” before inference 41…",
        "Phase of inference 41",
        "Let the times decide",
    ]
    assert not menu.actions()[-1].isEnabled()


def test_a_phase_is_named_and_undo_takes_it_back(panel, answer, qtbot):
    answer(" step & more ")
    choose(panel, 41, "Name")
    assert phases(panel) == {"prefill": 1, "step & more": 200}
    qtbot.waitUntil(lambda: figures(panel).get("step & more, median") == "5.378 ms")
    panel.session.undo()
    assert phases(panel) == {"prefill": 1, "decode": 200}
    panel.session.redo()
    assert phases(panel) == {"prefill": 1, "step & more": 200}


def test_a_canceled_dialog_changes_nothing(panel, answer):
    answer("")
    choose(panel, 41, "Name")
    assert phases(panel) == {"prefill": 1, "decode": 200}
    assert not panel.session.state.phases


def test_phases_are_split_and_figures_follow(panel, answer):
    answer("late")
    choose(panel, 101, "Split")
    assert phases(panel) == {"prefill": 1, "decode": 99, "late": 101}
    session = panel.session
    medians = times_of_methods(session.traces[0].file)
    assert {phase: one.runs for (_, _, _, phase), one in medians.items()}["late"] == 98
    saved = kept_choices(session.workspace, [LLM])
    assert {(one.phase, len(one.numbers)) for one in saved.phases} == {
        ("prefill", 1),
        ("decode", 99),
        ("late", 101),
    }


def test_phases_are_merged_and_the_times_decide_again(panel):
    choose(panel, 1, "Merge", "decode")
    assert phases(panel) == {"decode": 201}
    choose(panel, 1, "Let the times decide")
    assert phases(panel) == {"prefill": 1, "decode": 200}


def test_the_summary_offers_all_phases(panel, answer):
    entry = phase_entry(panel.session.traces[0].file)
    assert entry == "Name, merge or split phases…"
    link = next(one for one in panel.card.findChildren(TextLink) if one.text() == entry)
    link.click()
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    assert texts(menu) == [
        "prefill · 1 inference",
        "decode · 200 inferences",
        "Let the times decide",
    ]
    menu.close()
    answer(61)
    choose(panel, None, "decode", "Split before inference")
    assert phases(panel) == {"prefill": 1, "decode": 59, "phase 2": 141}


def test_one_inference_is_put_into_a_phase(panel, answer):
    answer("odd")
    choose(panel, 7, "Phase of inference 7", "New")
    choose(panel, 9, "Phase of inference 9", "odd")
    assert phases(panel) == {"prefill": 1, "decode": 198, "odd": 2}


@pytest.mark.parametrize(
    ("reason", "number"),
    [(QContextMenuEvent.Reason.Mouse, 200), (QContextMenuEvent.Reason.Keyboard, 1)],
)
def test_one_menu_of_the_strip_has_phases_and_the_picture(panel, qtbot, reason, number):
    """It is of the inference under the mouse; without a current one, the menu key takes the first.

    It stays, since it picks none.
    """
    strip = panel.card.findChild(CourseStrip)
    strip.resize(402, 84)
    place = strip.center_of(200 - 1)
    event = QContextMenuEvent(reason, place, strip.mapToGlobal(place))
    QApplication.sendEvent(strip.viewport(), event)
    qtbot.wait(20)
    menu = QApplication.activePopupWidget()
    assert f"Phase of inference {number}" in texts(menu)
    assert texts(menu)[-2:] == ["Let the times decide", "Copy picture"]
    assert panel.session.state.run is None
    menu.close()


def test_a_selection_in_the_typical_inference_is_dropped(panel, answer):
    """Its slices are of another inference once phases differ."""
    session = panel.session
    session.show_inferences(Inferences.TYPICAL)
    count = len(session.traces[0].trace.slices)
    choose(panel, 1, "Merge", "decode")
    assert len(session.traces[0].trace.slices) < count
    while session.history.can_undo:
        session.undo()
        assert all(ref.index < len(session.traces[0].trace.slices) for ref in session.state.slices)


def test_few_inferences_have_phases_by_choice(opened, show_panel, answer, qtbot):
    session = opened(str(DATA / "logs/llama_log.txt"))
    shown = show_panel(SummaryPanel, session, 372, 900)
    qtbot.waitUntil(lambda: shown.card is not None)
    first = next(i for i, run in enumerate(session.traces[0].file.runs) if run.phase == "prefill")
    answer("prompt")
    choose(shown, first, "Name")
    assert phases(shown) == {"prompt": 1, "decode": 1}


def test_undo_keeps_the_phases_that_a_file_was_opened_with(opened):
    """They are no step of the history, which goes back to before the file was open."""
    session = opened(str(DATA / "phases" / "sus_steps.etdp"))
    session.set_range(0, 1000)
    choices = OptionTexts(phases=["Execute=", "Execute:1-100=early"]).choices([LLM])
    session.add([open_file(LLM)], choices)
    assert {run.phase for run in session.traces[1].file.inferences()} == {"early", ""}
    session.undo()
    assert {run.phase for run in session.traces[1].file.inferences()} == {"early", ""}


def test_choices_in_large_traces_follow_one_another(panel, qtbot, monkeypatch):
    """Each is worked out in a thread; the next one does not wait for it."""
    monkeypatch.setattr(workspace_edits, "AT_ONCE", -1)
    choose_phases(panel.session, LLM, {5: "first"})
    choose_phases(panel.session, LLM, {6: "second"})
    both = {"prefill": 1, "decode": 198, "first": 1, "second": 1}
    qtbot.waitUntil(lambda: phases(panel) == both)
    panel.session.undo()
    panel.session.undo()
    qtbot.waitUntil(lambda: phases(panel) == {"prefill": 1, "decode": 200})
    panel.session.redo()
    qtbot.waitUntil(lambda: phases(panel) == {"prefill": 1, "decode": 199, "first": 1})


def test_of_one_phase_only_what_has_an_effect_is_offered(opened, show_panel, answer):
    session = opened(str(DATA / "etdump" / "cnn_portable_x10.etdp"))
    panel = show_panel(SummaryPanel, session, 372, 900)
    assert phase_entry(session.traces[0].file) == "Split into phases…"
    assert texts(menu_for(panel, None)) == ["Split before inference…", "Let the times decide"]
    first = next(i for i, run in enumerate(session.traces[0].file.runs) if run.number == 4)
    assert "Name" not in " ".join(texts(menu_for(panel, first)))
    answer(5)
    choose(panel, None, "Split before inference")
    assert phases(panel) == {"phase 1": 4, "phase 2": 6}
    assert phase_entry(session.traces[0].file) == "Name, merge or split phases…"


@pytest.mark.parametrize(
    ("steps", "name"),
    [
        (("Name",), "late"),
        (("Merge", "prefill"), ""),  # the only one has no name
        (("Split",), "decode"),
        (("Phase of inference 101", "New"), "decode"),
    ],
)
def test_the_phase_that_figures_are_of_stays_chosen(panel, answer, steps, name):
    session = panel.session
    choose_phase(session, "decode")
    answer("late")
    choose(panel, 101, *steps)
    assert session.state.phase == name
    offered = session.traces[0].phases_of(STEADY)
    assert name in offered or not (name or offered)
    session.undo()
    assert session.state.phase == "decode"
    assert phases(panel) == {"prefill": 1, "decode": 200}


def test_of_the_shorter_phase_figures_stay_its_own_under_another_name(panel, answer):
    session = panel.session
    choose_phase(session, "prefill")
    first = next(i for i, run in enumerate(session.traces[0].file.runs) if run.phase == "prefill")
    answer("prompt")
    choose(panel, first, "Name")
    assert session.state.phase == "prompt"
    assert "prompt" in session.traces[0].phases_of(per_inference(WHOLE, session.state))
