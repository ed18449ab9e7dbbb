"""The By box of Operators: operators, keys of groups, and events with or without times."""

import pytest
from PySide6.QtCore import Qt

from tests.gui.window.conftest import shared_window as shared_window
from tests.gui.window.shown import ATTENTION, pick
from viewer.analysis.statistics.group_keys import KEYS
from viewer.view.sessions.session_file import SavedPanels

pytestmark = pytest.mark.slow


@pytest.fixture
def window(shared_window):
    return shared_window.showing_sample("attention_xnnpack")


def by(window, data):
    """Choose an entry of the box as a user does."""
    box = window.panels["statistics"].by
    pick(box, box.findData(data))
    return window.docks.panels["operators"]


def shown_entry(window):
    return window.panels["statistics"].by.currentText()


def test_it_starts_with_the_costs_and_offers_keys_and_events(window):
    box = window.panels["statistics"].by
    assert window.panels["operators"].isVisible()
    assert window.panels["operators"].isAncestorOf(box)
    assert shown_entry(window) == "Operator"
    assert [box.itemData(i) for i in range(box.count())] == ["operators", *KEYS, "events"]
    # Two keys that the first entry is about too cover all slices, with the warm-up.
    texts = [box.itemText(i) for i in range(box.count())]
    assert len(set(texts)) == len(texts)
    assert {"Operator, all slices", "Name, all slices", "Module", "Event"} <= set(texts)


def test_a_key_shows_its_groups_and_the_box_moves_there(window):
    panel = by(window, "module")
    assert panel.mode == "statistics"
    assert window.panels["statistics"].isVisible()
    assert not window.panels["operators"].isVisible()
    assert window.panels["statistics"].isAncestorOf(window.panels["statistics"].by)
    assert window.panels["statistics"].key == "module"
    assert window.panels["statistics"].model.contents.headings[0].title == "Module"
    by(window, "line")
    assert window.panels["statistics"].key == "line"
    assert shown_entry(window) == "Line"
    by(window, "operators")
    assert window.panels["operators"].isVisible()
    assert shown_entry(window) == "Operator"


def test_events_are_filtered_by_whether_they_have_a_time(window):
    panel = by(window, "events")
    assert window.panels["events"].isVisible()
    assert panel.times.isVisible()
    panel.times.buttons["untimed"].click()
    assert window.docks.by_name["untimed"].isVisible()
    assert shown_entry(window) == "Event"
    by(window, "events")
    assert panel.mode == "untimed", "the filter stays"
    panel.times.buttons["events"].click()
    assert window.panels["events"].isVisible()
    by(window, "module")
    assert not panel.times.isVisible()


@pytest.mark.parametrize("name", ["operators", "statistics", "events", "untimed"])
def test_the_command_of_each_page_opens_it(window, name):
    window.commands.run(f"panel.{name}")
    assert window.docks.by_name[name].isVisible()
    assert window.docks.areas[window.docks._area_of("operators")].front == "operators"


def test_another_trace_offers_its_keys_and_the_choice_of_costs_stays(window):
    assert shown_entry(window) == "Operator"
    window.panels["statistics"].refresh()
    assert shown_entry(window) == "Operator"
    assert window.panels["operators"].isVisible()


def test_a_layout_that_names_the_old_panels_opens_this_one(window):
    docks = window.docks
    old = SavedPanels(("events", "links"), ("statistics", "untimed"), ("search", "events"))
    docks.restore(old)
    assert docks.choices.opened == ("checks", "operators")
    assert docks.choices.closed == (), "one page of several is no panel"
    assert docks.choices.recent == ("list", "operators")
    docks.restore(SavedPanels((), ("search", "selection", "marks"), ()))
    assert docks.choices.closed == ("list",)


def test_a_profile_without_operators_is_listed_by_name(shared_window):
    window = shared_window.showing(ATTENTION)
    assert shown_entry(window) == "Name"
    assert "Name, all slices" in [
        window.panels["statistics"].by.itemText(i)
        for i in range(window.panels["statistics"].by.count())
    ]


@pytest.mark.parametrize("data", ["operators", "module"])
def test_tab_leads_from_the_box_into_the_page(window, data):
    panel, box = by(window, data), window.panels["statistics"].by
    reached = box.nextInFocusChain()
    while not (reached.isVisible() and reached.focusPolicy() & Qt.FocusPolicy.TabFocus):
        reached = reached.nextInFocusChain()
    assert panel.pages[panel.mode].isAncestorOf(reached)
