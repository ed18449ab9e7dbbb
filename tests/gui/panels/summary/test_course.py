"""The strip of durations in the summary: phases, levels and the wall time, each clickable."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from tests.paths import DATA
from viewer.analysis.summaries import wall_of
from viewer.gui.panels.base.slice_facts import scope_text
from viewer.gui.panels.summary.course_strip import CourseStrip
from viewer.gui.panels.summary.panel import SummaryPanel
from viewer.gui.panels.summary.phases import course_bars, wall_parts
from viewer.gui.panels.summary.sections import FigureLink, TextLink
from viewer.gui.session.navigation import pick_run
from viewer.model.figures import WHOLE
from viewer.model.times import format_time, plain_spaces


@pytest.fixture
def panel(opened, show_panel, qtbot):
    def show(name):
        session = opened(str(DATA / "phases" / name))
        pick_run(session, None)
        shown = show_panel(SummaryPanel, session, 372, 900)
        qtbot.waitUntil(lambda: shown.card is not None)
        return shown

    return show


def figures(panel):
    found = panel.card.findChildren(FigureLink)
    return {one.caption: plain_spaces(one.text()) for one in found}


def texts(panel):
    return [plain_spaces(one.text()) for one in panel.card.findChildren(TextLink)]


def strip(panel):
    return panel.card.findChild(CourseStrip)


def number(session):
    return session.traces[0].trace.runs[session.state.run[1]].number


def test_levels_are_in_the_headline_and_lead_to_their_first_inference(panel):
    shown = panel("sus_steps.etdp")
    assert figures(shown)["first → last level"] == "19.506 → 36.986 ms"
    text = "From inference 141 on: 36.986 ms (1.90 times)"
    assert text in texts(shown)
    links = {plain_spaces(name): one for name, one in shown.card.links().items()}
    links[text].click()
    assert number(shown.session) == 141


def test_phases_have_figures_of_their_own(panel):
    shown = panel("llm_200.etdp")
    found = figures(shown)
    assert found["decode, median"] == "5.378 ms"
    assert found["prefill"] == "78.478 ms"
    assert found["delegated in decode"] == "75.2 %"


def test_the_slowest_of_two_methods(panel):
    shown = panel("encdec.etdp")
    found = figures(shown)
    assert found["Execute 1, median"] == "6.800 ms"
    assert found["Execute 2, median"] == "350.100 µs"


def test_a_click_in_the_strip_picks_the_inference(panel):
    shown = panel("sus_steps.etdp")
    one = strip(shown)
    one.resize(400, 84)
    QTest.mouseClick(one.viewport(), Qt.MouseButton.LeftButton, pos=one.center_of(199))
    assert number(shown.session) == 200


def test_arrows_move_in_the_strip(panel):
    shown = panel("sus_steps.etdp")
    picked = []
    strip(shown).picked.connect(picked.append)
    QTest.keyClick(strip(shown), Qt.Key.Key_Right)
    assert len(picked) == 1
    assert number(shown.session) == 1


def test_arrows_go_on_from_the_inference_that_they_picked(panel, qtbot):
    shown = panel("sus_steps.etdp")
    strip(shown).setFocus()
    for count in (1, 2, 3):
        qtbot.waitUntil(lambda: strip(shown).hasFocus())
        QTest.keyClick(strip(shown), Qt.Key.Key_Right)
        assert number(shown.session) == count


def test_bars_are_in_order_of_time_with_their_phases(panel):
    shown = panel("encdec.etdp").session.traces[0]
    bars = course_bars(shown)
    assert [bar.phase for bar in bars] == ([0] + [1] * 20) * 3
    assert bars[0].text.startswith("Inference 1, ")


def wall(panel):
    shown = panel.session.traces[0]
    return {name: ns for name, _, ns in wall_parts(wall_of(shown.table), shown.axis.ns_per_tick)}


def test_the_wall_time_adds_up(panel):
    shown = panel("llm_200.etdp")
    parts = wall(shown)
    assert parts.pop("Load") == 350_000_000
    assert parts.pop("Before the first inference") == 10_000_000
    assert parts["Between inferences"] == 300_000_000
    runs = list(shown.session.traces[0].file.inferences())
    assert sum(parts.values()) == runs[-1].end - runs[0].start
    assert set(parts) == {"prefill", "decode", "Between inferences"}


def test_a_first_inference_that_warms_up_is_a_part_of_the_wall_time(panel):
    parts = wall(panel("sus_steps.etdp"))
    assert plain_spaces(format_time(parts["First inference"])) == "19.595 ms"


def test_methods_are_parts_of_the_wall_time(panel):
    assert {"Execute 1", "Execute 2"} < set(wall(panel("encdec.etdp")))


def test_a_log_of_a_runner_has_phases_tokens_and_the_wall_time(opened, show_panel, qtbot):
    session = opened(str(DATA / "logs/llama_log.txt"))
    pick_run(session, None)
    shown = show_panel(SummaryPanel, session, 372, 900)
    qtbot.waitUntil(lambda: shown.card is not None)
    assert (figures(shown)["prefill"], figures(shown)["decode"]) == ("9.600 s", "10.810 s")
    assert "prefill: 480 tokens, 50 per second (20.000 ms each)" in texts(shown)
    assert "decode: 40 tokens, 3.7 per second (270.250 ms each)" in texts(shown)
    assert wall(shown) == {
        "Load": 7_120_000_000,
        "Before the first inference": 10_000_000,
        "prefill": 9_600_000_000,
        "decode without sampling": 10_808_000_000,
        "Sampling": 2_000_000,
    }


@pytest.mark.parametrize(("name", "least"), [("sus_steps.etdp", 0.51), ("llm_200.etdp", 0.1)])
def test_heights_are_relative_to_the_longest(panel, name, least):
    """Durations that differ much are on a logarithmic scale."""
    shown = panel(name)
    heights = strip(shown).heights()
    assert (heights.max(), heights.min()) == (1, pytest.approx(least, abs=0.005))


def test_figures_of_several_phases_name_them(panel):
    shown = panel("llm_200.etdp").session.traces[0]
    assert scope_text(shown, WHOLE).endswith(" of prefill and decode")
    steady = panel("sus_steps.etdp").session.traces[0]
    assert " of " not in scope_text(steady, WHOLE)
