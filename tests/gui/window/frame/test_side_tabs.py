"""Summary is in front while nothing is selected, else Details, unless the user chose otherwise."""

import pytest

from tests.gui.events import settle
from viewer.view.state import SliceRef


@pytest.fixture
def front(attention, qtbot):
    """Settle, and return which of both is in front."""

    def now():
        settle(qtbot, attention)
        docks = attention.docks.by_name
        seen = [n for n in ("summary", "details") if not docks[n].visibleRegion().isEmpty()]
        return seen[0] if len(seen) == 1 else seen

    return now


def test_details_comes_with_a_selection_and_summary_with_none(attention, front):
    assert front() == "summary"
    attention.session.select_slice(SliceRef(0, 30))
    assert front() == "details"
    attention.session.select_operators(0, (9,))
    assert front() == "details"
    attention.commands.run("view.clear")
    attention.session.clear_selection()
    assert front() == "summary"


def test_a_tab_that_the_user_put_in_front_stays(attention, front):
    session, docks = attention.session, attention.docks
    assert front() == "summary"
    session.select_slice(SliceRef(0, 30))
    assert front() == "details"
    docks.show_panel("summary")
    assert front() == "summary"
    session.select_slice(SliceRef(0, 40))
    assert front() == "summary"
    session.clear_selection()
    session.select_slice(SliceRef(0, 30))
    assert front() == "details"


def test_another_tab_beside_them_is_not_covered(attention, front, qtbot):
    attention.window.resize(1300, 900)
    qtbot.waitUntil(lambda: not attention.docks.needs_relayout)
    assert front() == "summary"
    attention.docks.show_panel("links")
    assert front() == []
    attention.session.select_slice(SliceRef(0, 30))
    assert front() == []


def test_it_stays_decided_as_the_width_changes(attention, front, qtbot):
    attention.session.select_slice(SliceRef(0, 30))
    for width in (1300, 1600):
        attention.window.resize(width, 900)
        qtbot.waitUntil(lambda: not attention.docks.needs_relayout)
        assert front() == "details"
