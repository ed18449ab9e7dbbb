"""The table of commands: nothing twice, every command in a menu, every key good for one thing."""

import pytest
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from tests.gui.events import open_sample
from viewer.gui.qt.command_table import SEPARATOR, Command, CommandTable, Precondition
from viewer.gui.window.commands.menus import (
    CLOCK_MENU,
    CLOCKS_MENU,
    COLORS,
    COMPARE_MENU,
    COPY_MENU,
    DENSITIES,
    ELSEWHERE,
    LAYOUT_MENU,
    MENUS,
    MOVE_MENU,
    RULER_MENU,
    SAMPLE_MENU,
    THEMES,
)

SHOWN = next(iter(ELSEWHERE.values()))


def command(id, *keys, **more):
    return Command(id, f"&{id}", more.pop("run", lambda: None), keys, menu="File", **more)


@pytest.fixture
def owner(qtbot):
    widget = QWidget()
    qtbot.addWidget(widget)
    return widget


def test_an_id_or_a_key_twice_is_refused(owner):
    with pytest.raises(ValueError, match="command a exists twice"):
        CommandTable(owner, [command("a"), command("a")])
    with pytest.raises(ValueError, match="W is the key of a and of b"):
        CommandTable(owner, [command("a", "W"), command("b", "X", "W")])


def test_commands_that_are_added_later_have_the_keys_that_were_chosen(owner):
    table = CommandTable(owner, [command("a", "W")], {"b": ["Q"]})
    table.add([command("b", "X")])
    assert (table.keys("a"), table.keys("b")) == (("W",), ("Q",))
    assert table.actions["b"].shortcut() == QKeySequence("Q")
    with pytest.raises(ValueError, match="command a exists twice"):
        table.add([command("a")])
    with pytest.raises(ValueError, match="W is the key of a and of c"):
        table.add([command("c", "W")])


def test_a_command_runs_without_what_qt_tells(owner):
    ran = []
    table = CommandTable(owner, [command("a", run=lambda: ran.append("a"))])
    table.actions["a"].trigger()
    assert ran == ["a"]


def test_refreshing_enables_and_checks_what_applies(owner):
    can, on = [False], [True]
    table = CommandTable(
        owner,
        [
            command("a", enabled=Precondition("it", lambda: can[0]), checked=lambda: on[0]),
            command("b"),
        ],
    )
    action = table.actions["a"]
    for can[0], on[0] in ((False, True), (True, False)):
        table.refresh()
        assert (action.isEnabled(), action.isChecked()) == (can[0], on[0])
    assert action.isCheckable()
    assert not table.actions["b"].isCheckable()
    assert table.actions["b"].isEnabled()


def test_a_need_that_many_commands_share_is_asked_once(owner):
    asked = []
    shared = Precondition("it", lambda: len(asked.append("it") or asked) < 3)
    table = CommandTable(owner, [command(id, enabled=shared) for id in "abc"])
    for count, able in ((1, True), (2, True), (3, False), (4, False)):
        table.refresh()
        assert len(asked) == count
        assert {action.isEnabled() for action in table.actions.values()} == {able}


def test_menus_hold_their_commands_in_order(owner):
    table = CommandTable(owner, [command("a"), command("b")])
    menu = QMenu(owner)
    table.add_to(menu, ("b", SEPARATOR, "a"))
    first, line, last = menu.actions()
    assert (first, last) == (table.actions["b"], table.actions["a"])
    assert line.isSeparator()


def test_every_command_is_in_the_menu_that_it_names_or_elsewhere(controller):
    listed = {title: set(ids) - {SEPARATOR} for title, ids in MENUS}
    assert list(listed) == list(controller.window.menus)
    # Menus in them, and the menu of the ruler.
    listed["View"] |= {*LAYOUT_MENU, *CLOCK_MENU, *CLOCKS_MENU, *RULER_MENU, *MOVE_MENU} - {
        SEPARATOR
    }
    listed["Edit"] |= {*COPY_MENU} - {SEPARATOR}
    listed["File"] |= {*COMPARE_MENU} - {SEPARATOR}
    listed["Help"] |= {*SAMPLE_MENU}
    elsewhere = [id for ids in ELSEWHERE.values() for id in ids]
    placed = [id for ids in listed.values() for id in ids] + elsewhere
    assert sorted(placed) == sorted(controller.commands.commands)
    for id, one in controller.commands.commands.items():
        assert id in listed[one.menu] or id in elsewhere, id


@pytest.mark.parametrize(
    ("title", "ids"),
    [
        ("Clock rate", CLOCK_MENU), ("Clocks", CLOCKS_MENU), ("Color by", COLORS),
        ("Ruler", RULER_MENU), ("Move", MOVE_MENU), ("Panels", SHOWN), ("Copy as", COPY_MENU),
        ("Comparison", COMPARE_MENU), ("Row density", DENSITIES), ("Theme", THEMES),
        ("Open a sample", SAMPLE_MENU), ("Layout", LAYOUT_MENU),
    ],
)  # fmt: skip
def test_what_stands_in_a_menu_of_a_menu_is_listed_under_its_title(controller, title, ids):
    places = {controller.commands.commands[id].place for id in ids if id != SEPARATOR}
    assert places == {title}


def test_the_samples_are_a_submenu_of_help(controller):
    entries = [action.text() for action in controller.window.menus["Help"].actions()]
    assert "Open a &sample" in entries
    (menu,) = (a.menu() for a in controller.window.menus["Help"].actions() if a.menu())
    actions = controller.commands.actions
    assert menu.actions() == [actions[id] for id in SAMPLE_MENU]


def test_every_key_is_one_that_qt_knows_and_means_one_thing(controller):
    taken = {}
    for id, one in controller.commands.commands.items():
        actual = controller.commands.actions[id].shortcuts()
        assert len(actual) == len(one.keys)
        for text, sequence in zip(one.keys, actual, strict=True):
            portable = sequence.toString(QKeySequence.SequenceFormat.PortableText)
            assert sequence.count() == 1, text
            assert "Unknown" not in portable
            assert QKeySequence(portable) == sequence
            assert sequence not in taken, (text, taken.get(sequence))
            taken[sequence] = id


def test_no_two_entries_of_a_menu_have_the_same_mnemonic(controller):
    for title, ids in (
        *MENUS,
        ("Clock rate", CLOCK_MENU),
        ("Clocks", CLOCKS_MENU),
        ("Ruler", RULER_MENU),
        ("Move", MOVE_MENU),
        ("Copy as", COPY_MENU),
        ("Comparison", COMPARE_MENU),
    ):
        letters = [
            command.title[command.title.index("&") + 1].lower()
            for command in (controller.commands.commands[id] for id in ids if id != SEPARATOR)
            if "&" in command.title
        ]
        assert len(letters) == len(set(letters)), title


def enabled(controller):
    """What can be done now; what is about tracks has tests of its own."""
    able = {id for id, action in controller.commands.actions.items() if action.isEnabled()}
    return {id for id in able if not id.startswith("tracks.")}


NEEDS_A_TRACE = {"view.fit", "view.fit_all", "view.zoom_in", "view.zoom_out",
                 "edit.copy_timeline",
                 "clock.file", "clock.800", "clock.100",
                 "clock.other", "ruler.from_start", "ruler.absolute",
                 "ruler.from_selection", "view.pan_left", "view.pan_right", "view.scroll_up",
                 "view.scroll_down", *COLORS}  # fmt: skip
NEEDS_A_TRACE |= {"search.find", "search.list", "file.export", "file.save_picture"}
NEEDS_A_TRACE |= {"file.perfetto_ui", "file.export_table"}
NEEDS_A_TRACE |= {"compare.with"}
NEEDS_A_FLOATING_PANEL = {"layout.dock"}
NEEDS_A_COMPARISON = {"compare.swap", "compare.in_tables", "compare.end", "compare.pair",
                      "compare.relative", "compare.stretch", "compare.separate"}  # fmt: skip
NEEDS_CYCLES = {"ruler.cycles"}
NEEDS_ERRORS = {"view.colour_error"}  # of logged values against a reference
NEEDS_A_TABLE = {"file.columns"}  # a plain CSV
NEEDS_A_QUERY = {"search.next", "search.previous", "view.only_hits"}
NEEDS_FAR_TIMES = {"view.fit_rest"}
NEEDS_TWO_FILES = {"view.fit_file", *CLOCKS_MENU} - {SEPARATOR}
NEEDS_RUNS = {
    "compare.others",
    "go.include_warm_up",
    "go.next_run",
    "go.previous_run",
    "go.runs_aligned",
    "go.runs_mean",
    "go.runs_median",
}
NEEDS_A_FILE = {
    "edit.copy_panel",
    "file.close_all", "view.panels", "file.save_session", "file.export_operators",
    "file.export_report", "file.save_session_as", "file.reload", *SHOWN,
    "edit.copy", "edit.copy_text", "edit.copy_markdown", "edit.copy_json", "edit.source",
    "layout.default", "layout.timeline", "layout.source", "layout.compare", "layout.keep",
    "layout.reset", "layout.float",
}  # fmt: skip
NEEDS_A_LAST_SESSION = {"file.last_session"}
NEEDS_A_SLICE = {"go.next_flow", "go.previous_flow", "go.next_slice", "go.previous_slice"}
NEEDS_A_SLICE |= {"selection.copy_name", "selection.method", "edit.copy_ns"}
NEEDS_BRANCHES = {"go.next_branch", "go.previous_branch"}
NEEDS_A_TRACE |= {"selection.same", "mark.measure", "mark.keep", "file.export"}
NEEDS_A_TRACE |= {"go.nearest_slices"}
NEEDS_A_SELECTION = {"selection.area", "selection.export", "mark.rename", "mark.fit"}
NEEDS_A_SELECTION |= {"mark.remove"}
NEEDS_A_PAST = {"go.undo", "go.redo", "go.back", "go.forward"}


def test_what_makes_no_sense_is_disabled(controller, qtbot):
    everything = {id for id in controller.commands.actions if not id.startswith("tracks.")}
    needy = NEEDS_A_TRACE | NEEDS_RUNS | NEEDS_A_FILE | NEEDS_A_PAST
    everything -= NEEDS_TWO_FILES | NEEDS_CYCLES | NEEDS_A_SLICE | NEEDS_BRANCHES
    everything -= NEEDS_A_COMPARISON | NEEDS_ERRORS | NEEDS_A_TABLE | NEEDS_FAR_TIMES
    everything -= NEEDS_A_SELECTION | NEEDS_A_QUERY | NEEDS_A_LAST_SESSION
    everything -= NEEDS_A_FLOATING_PANEL
    assert enabled(controller) == everything - needy
    open_sample(qtbot, controller, "attention_xnnpack")
    assert enabled(controller) == everything - NEEDS_A_PAST
    controller.commands.actions["view.fit_all"].trigger()
    assert enabled(controller) == everything - {"go.redo", "go.forward"}
    controller.commands.actions["go.undo"].trigger()
    assert enabled(controller) == everything - {"go.undo", "go.back", "go.forward"}
    controller.commands.actions["go.redo"].trigger()
    controller.commands.actions["go.back"].trigger()
    assert enabled(controller) == everything - {"go.redo", "go.back"}
    controller.commands.actions["file.close_all"].trigger()
    # That can be taken back, and what was open is kept.
    assert enabled(controller) == everything - needy | {"go.undo", "file.last_session"}


PROMISED = [
     ("F", "view.fit"), ("N", "go.next_run"), ("P", "go.previous_run"), (".", "go.next_slice"),
     (",", "go.previous_slice"), ("Ctrl+Z", "go.undo"), ("Alt+Left", "go.back"),
     ("Ctrl+Shift+Z", "go.redo"), ("Home", "view.fit_all"), ("Escape", "view.clear"),
     ("Q", "view.panels"), ("Ctrl+O", "file.open"), ("Ctrl+E", "file.export"),
     ("Ctrl+W", "file.close_all"), ("W", "view.zoom_in"), ("S", "view.zoom_out"),
     ("A", "view.pan_left"), ("Left", "view.pan_left"), ("D", "view.pan_right"),
     ("Right", "view.pan_right"), ("Up", "view.scroll_up"), ("Down", "view.scroll_down"),
     ("Ctrl+Shift+P", "help.palette"), ("?", "help.keys"), ("Alt+Right", "go.forward"),
]  # fmt: skip


def test_the_promised_keys_are_there(controller):
    for keys, id in PROMISED:
        assert QKeySequence(keys) in controller.commands.actions[id].shortcuts(), keys


def entries_of(menu):
    """The visible entries of a menu and of the menus in it, which are entries too."""
    for action in menu.actions():
        if action.isVisible() and not action.isSeparator():
            yield action
            if action.menu():
                yield from entries_of(action.menu())


@pytest.mark.slow
def test_the_menus_of_a_profile_and_its_record_are_not_long(controller, qtbot):
    open_sample(qtbot, controller, "attention_xnnpack")
    counts = {title: len(list(entries_of(menu))) for title, menu in controller.window.menus.items()}
    assert sum(counts.values()) <= 120, counts


def test_the_menu_of_the_ruler_has_units_moves_and_clock_rates(controller, qtbot):
    open_sample(qtbot, controller, "attention_xnnpack")
    ruler = controller.menu_bar.ruler
    texts = [a.text().replace("&", "") for a in ruler.actions() if a.isVisible() and a.text()]
    assert texts[4:] == ["Move", "Clock rate"]
    listed = set(entries_of(ruler))
    actions = controller.commands.actions
    assert {actions[id] for id in (*RULER_MENU, *MOVE_MENU)} <= listed
