"""The commands of the menu Clocks: what they require, what they do, and what they report."""

from types import SimpleNamespace

import pytest
from PySide6.QtWidgets import QWidget

from tests.builders.clocked_traces import profile
from tests.builders.inference_trace import inference_trace
from viewer.gui.qt.command_table import SEPARATOR, CommandTable
from viewer.gui.session.bookmarks import keep
from viewer.gui.session.session import Session
from viewer.gui.window.commands.menus import CLOCKS_MENU
from viewer.gui.window.commands.tracks import alignment_commands
from viewer.model.inference_views import Inferences
from viewer.view.state import SliceRef

CONV = [("conv", 50), ("add", 30), ("conv", 20)]
A = inference_trace("a.csv", [(1000 * n, CONV) for n in (1, 2, 3)], load=500)
B = inference_trace("b.csv", [(40, CONV), (940, CONV)])


class Clocks:
    """The commands on a session alone, and what they reported."""

    def __init__(self, qtbot, *traces):
        self.session, self.said, owner = Session(), [], QWidget()
        self.session.add(traces)
        status = SimpleNamespace(show_text=self.said.append)
        context = SimpleNamespace(session=self.session, shell=SimpleNamespace(status=status))
        qtbot.addWidget(owner)
        self.table = CommandTable(owner, alignment_commands(context))
        self.owner = owner  # which owns the table

    @property
    def enabled(self):
        """The commands that can be run now, without their prefix."""
        self.table.refresh()
        actions = self.table.actions.items()
        return {id.removeprefix("clocks.") for id, action in actions if action.isEnabled()}

    def trigger(self, name):
        self.table.refresh()
        self.table.actions[f"clocks.{name}"].trigger()
        self.table.refresh()

    def is_checked(self, name):
        self.table.refresh()
        return self.table.actions[f"clocks.{name}"].isChecked()


@pytest.fixture
def clocks(qtbot):
    return Clocks(qtbot, A, B)


def test_the_menu_has_all_commands(clocks):
    assert sorted(id for id in CLOCKS_MENU if id != SEPARATOR) == sorted(clocks.table.commands)


def test_with_one_clock_nothing_is_possible(qtbot):
    one = Clocks(qtbot, A)
    one.session.select_slice(SliceRef(0, 0))
    assert one.enabled == set()


def test_what_is_possible_depends_on_what_is_selected_marked_and_tied(clocks):
    always = {"align_run", "share", "same_scale", "lock_zooms", "next", "previous", "collapse"}
    assert clocks.enabled == always
    clocks.session.select_slice(SliceRef(0, 1))
    assert clocks.enabled == {*always, "align_operator"}
    clocks.session.clear_selection()
    for key in ("a.csv", "b.csv"):
        clocks.session.activate(key)
        keep(clocks.session, 50)
    assert clocks.enabled == {*always, "align_marks"}
    clocks.trigger("align_run")
    assert clocks.enabled == {*always, "align_marks", "release"}
    clocks.session.show_inferences(Inferences.MEAN)
    assert clocks.enabled == always - {"align_run", "share"}


def test_clocks_are_shared_and_separated_again(clocks):
    clocks.trigger("share")
    assert clocks.enabled == {"separate"}
    clocks.trigger("separate")
    assert clocks.said == [
        "On one axis: a.csv, b.csv · same clock, as you stated",
        "These files have clocks of their own again",
    ]


def test_each_alignment_is_reported(clocks):
    clocks.trigger("align_run")
    clocks.session.select_slice(SliceRef(0, 1))
    clocks.trigger("align_operator")
    clocks.trigger("release")
    assert clocks.said == [
        "Aligned at start of run 2: a.csv, b.csv",
        "Aligned at start of “conv”: a.csv, b.csv",
        "Every clock zooms and pans independently",
    ]
    assert clocks.session.state.ties == {}


def test_locking_zooms_is_checked_and_again_releases_them(clocks):
    assert not clocks.is_checked("lock_zooms")
    clocks.trigger("lock_zooms")
    assert clocks.is_checked("lock_zooms")
    clocks.trigger("lock_zooms")
    assert not clocks.is_checked("lock_zooms")
    clocks.trigger("same_scale")
    assert clocks.is_checked("lock_zooms"), "zooms of one scale are locked, too"


def test_the_next_clock_is_activated_and_collapsed(clocks):
    clocks.trigger("next")
    assert clocks.session.state.clock == "b.csv"
    clocks.trigger("collapse")
    assert clocks.session.state.strips.collapsed == {"b.csv"}
    assert clocks.is_checked("collapse")
    clocks.trigger("previous")
    assert clocks.session.state.clock == "a.csv"
    assert not clocks.is_checked("collapse")


def test_the_menu_is_there_with_two_clocks(controller):
    (menu,) = (
        action for action in controller.menu_bar.ruler.actions()
        if action.text().replace("&", "") == "Clocks"
    )  # fmt: skip
    assert not menu.isVisible()
    controller.session.add([A])
    assert not menu.isVisible()
    controller.session.add([B])
    assert menu.isVisible()
    controller.session.close_all()
    assert not menu.isVisible()


def test_the_menu_says_what_an_unavailable_entry_needs(controller):
    controller.session.add([A, profile("/c.csv", 1, 1000)])
    menu = controller.menu_bar.ruler
    (clocks,) = (a.menu() for a in menu.actions() if a.text().replace("&", "") == "Clocks")
    clocks.aboutToShow.emit()
    assert clocks.toolTipsVisible()
    tips = {
        id: controller.commands.actions[f"clocks.{id}"].toolTip() for id in ("align_run", "next")
    }
    assert tips == {
        "align_run": "Needs inferences on two clocks, as they ran",
        "next": "Next clock",  # its title, which needs no tooltip
    }
