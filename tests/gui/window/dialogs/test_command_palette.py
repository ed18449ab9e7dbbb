"""The command palette under real keys and mouse: what is found, what runs, who has the keyboard."""

import pytest
from PySide6.QtCore import Qt

from viewer.gui.qt.settings import RECENT_COMMANDS
from viewer.gui.window.dialogs.command_palette import found_rows

Key = Qt.Key
CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


def opened(controller, qtbot):
    """The palette, opened by its key."""
    qtbot.keyClick(controller.window.focusWidget() or controller, Key.Key_P, CTRL_SHIFT)
    assert controller.palette.isVisible()
    return controller.palette


def titles(palette):
    return [row.title for row in palette.model.rows]


def chosen(palette):
    return palette.model.rows[palette.list.currentIndex().row()].id


def test_it_lists_every_command_with_its_keys_and_group(attention, qtbot):
    palette = opened(attention, qtbot)
    table = attention.commands
    assert {row.id for row in palette.model.rows} == set(table.commands)
    row = next(row for row in palette.model.rows if row.id == "view.zoom_in")
    assert (row.title, row.group, row.keys) == ("Zoom in", "Move", ("W", "Ctrl+=", "Ctrl++"))
    assert not palette.grab().isNull()


def test_typing_finds_enter_runs_and_the_keyboard_goes_back(attention, qtbot):
    view = attention.timeline.view
    view.setFocus()
    palette = opened(attention, qtbot)
    assert palette.field.hasFocus()
    qtbot.keyClicks(palette.field, "fit all")
    assert chosen(palette) == "view.fit_all"
    before = attention.session.state.t0
    qtbot.keyClick(palette.field, Key.Key_Return)
    assert attention.session.state.t0 < before
    assert palette.isHidden()
    assert view.hasFocus()


def test_a_command_is_found_by_what_it_is_for_and_an_empty_list_says_so(attention, qtbot):
    palette = opened(attention, qtbot)
    assert palette.nothing.isHidden()
    qtbot.keyClicks(palette.field, "compare")
    assert "All inferences aligned" in titles(palette)[:7], titles(palette)
    palette.field.setText("zzqxj")
    assert titles(palette) == []
    assert palette.nothing.isVisible()
    assert palette.list.isHidden()
    assert palette.field.accessibleDescription() == "No matching commands"
    palette.field.clear()
    assert palette.list.isVisible()
    assert palette.nothing.isHidden()


def test_a_title_that_begins_like_this_is_first(attention):
    for typed in ("compare with", "Mean", "  zoom i"):
        first = found_rows(attention.commands, typed, [])[0]
        assert first.title.lower().startswith(typed.strip().lower())


def test_escape_closes_and_clears_nothing(attention, qtbot):
    attention.session.select_operators(0, (9,))
    before = attention.session.state
    palette = opened(attention, qtbot)
    qtbot.keyClicks(palette.field, "wasd")
    qtbot.keyClick(palette.field, Key.Key_Escape)
    assert palette.isHidden()
    assert attention.session.state == before


def test_its_key_pressed_again_puts_it_away(attention, qtbot):
    palette = opened(attention, qtbot)
    qtbot.keyClick(palette.field, Key.Key_P, CTRL_SHIFT)
    assert palette.isHidden()


def test_another_place_with_the_keyboard_puts_it_away(attention, qtbot):
    palette = opened(attention, qtbot)
    attention.panels["operators"].filter.setFocus()
    assert palette.isHidden()
    assert attention.panels["operators"].filter.hasFocus()


def test_arrows_go_through_the_list_and_around(attention, qtbot):
    palette = opened(attention, qtbot)
    ids = [row.id for row in palette.model.rows]
    assert chosen(palette) == ids[0]
    qtbot.keyClick(palette.field, Key.Key_Down)
    assert chosen(palette) == ids[1]
    qtbot.keyClick(palette.field, Key.Key_Up)
    qtbot.keyClick(palette.field, Key.Key_Up)
    assert chosen(palette) == ids[-1]


def test_what_was_run_last_stands_first_and_is_remembered(attention, qtbot):
    for typed in ("zoom in", "fit all"):
        palette = opened(attention, qtbot)
        qtbot.keyClicks(palette.field, typed)
        qtbot.keyClick(palette.field, Key.Key_Return)
    assert attention.settings.get(RECENT_COMMANDS) == ["view.fit_all", "view.zoom_in"]
    palette = opened(attention, qtbot)
    assert [row.id for row in palette.model.rows[:2]] == ["view.fit_all", "view.zoom_in"]


def test_what_cannot_be_done_is_last_and_says_what_it_needs(controller, qtbot):
    palette = opened(controller, qtbot)
    possible = [row.possible for row in palette.model.rows]
    assert possible == sorted(possible, reverse=True)
    qtbot.keyClicks(palette.field, "fit all")
    row = palette.model.rows[0]
    assert (row.id, row.possible, row.need) == ("view.fit_all", False, "an open profile")
    spoken = palette.model.index(0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == "Zoom to fit, View, Home, needs an open profile"
    qtbot.keyClick(palette.field, Key.Key_Return)
    assert palette.isVisible()
    assert controller.settings.get(RECENT_COMMANDS) == []


def test_what_every_command_needs_is_said(controller):
    impossible = [c for c in controller.commands.commands.values() if not c.is_possible]
    assert {"file.export", "go.undo", "tracks.pin", "mark.keep", "search.next"} <= {
        command.id for command in impossible
    }
    assert [command.id for command in impossible if not command.need] == []


def test_a_click_runs(attention, qtbot):
    palette = opened(attention, qtbot)
    qtbot.keyClicks(palette.field, "bottom panel")
    place = palette.list.visualRect(palette.model.index(0)).center()
    qtbot.mouseClick(palette.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert not attention.docks.shows_bottom
    assert palette.isHidden()


def test_a_held_command_goes_one_step(attention, qtbot):
    attention.session.set_range(600_000, 700_000)
    palette = opened(attention, qtbot)
    qtbot.keyClicks(palette.field, "zoom in")
    qtbot.keyClick(palette.field, Key.Key_Return)
    state = attention.session.state
    assert state.t1 - state.t0 == pytest.approx(100_000 / 1.1, rel=1e-3)
    assert not attention.timeline.view._held.is_moving


def test_nothing_that_fits_is_an_empty_list(attention, qtbot):
    palette = opened(attention, qtbot)
    qtbot.keyClicks(palette.field, "qqqq")
    assert titles(palette) == []
    for key in (Key.Key_Down, Key.Key_Return):
        qtbot.keyClick(palette.field, key)
    assert palette.isVisible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1920, 1080), (1280, 720), (500, 320)])
def test_it_lies_inside_the_window(attention, qtbot, theme, size):
    attention.theme.set_choice(theme)
    attention.window.resize(*size)
    palette = opened(attention, qtbot)
    assert attention.window.rect().contains(palette.geometry())
    assert not palette.grab().isNull()


def test_it_goes_with_a_window_whose_size_changes(attention, qtbot):
    palette = opened(attention, qtbot)
    for size in ((700, 600), (1900, 1000)):
        attention.window.resize(*size)
        room = attention.window.rect()
        assert room.contains(palette.geometry())
        assert abs(palette.geometry().center().x() - room.center().x()) <= 1


def test_hostile_memories_do_no_harm(attention):
    rows = found_rows(attention.commands, "", ["gone", "view.fit", "view.fit", ""])
    assert rows[0].id == "view.fit"
    assert len(rows) == len(attention.commands.commands)


def menu_entries(menu, path):
    """(command, path) of all entries of a menu and of its submenus."""
    for action in menu.actions():
        if action.menu() is not None:
            title = action.text().replace("&", "").rstrip("…")
            yield from menu_entries(action.menu(), (*path, title))
        elif action.objectName():
            yield action.objectName(), path


def test_each_entry_is_found_by_its_path_in_the_menus(attention):
    """Also as a path is written, and whatever case its words have."""
    table = attention.commands
    entries = [
        entry
        for action in attention.window.menuBar().actions()
        for entry in menu_entries(action.menu(), (action.text().replace("&", ""),))
        if entry[0] in table.commands
    ]
    assert len(entries) > 80
    assert max(len(path) for _, path in entries) == 2
    for name, path in entries:
        for typed in (" ".join(path), " > ".join(path).upper(), f"{path[-1]}: "):
            rows = [row.id for row in found_rows(table, typed, [])]
            assert name in rows, (typed, name)
        title = table.commands[name].plain_title
        best = [row.title for row in found_rows(table, f"{' > '.join(path)} > {title}", [])]
        if table.commands[name].is_possible:
            assert title in best[:3], (path, title, best[:5])


def test_paths_of_other_menus_are_found_too(attention):
    """Of the ruler, the toolbar and the preferences, as if they were in View."""
    table = attention.commands
    for typed, expected in {
        "view clocks": "clocks.share", "theme: dark": "view.theme_dark",
        "view panels graph": "panel.graph", "view > color by": "view.colour_type",
    }.items():  # fmt: skip
        rows = [row.id for row in found_rows(table, typed, [])]
        assert expected in rows[:12], (typed, rows)
    assert found_rows(table, "file export", [])[0].title.startswith("Export")
    assert found_rows(table, "theme: dark", [])[0].id == "view.theme_dark"
