"""The actions of the main window, listed once, and the menus that they stand in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from viewer.gui.qt.commands.command_table import SEPARATOR, Command, CommandTable, Precondition
from viewer.gui.qt.commands.key_map import shown_key
from viewer.gui.session import navigation
from viewer.gui.session.preconditions import open_profile, selected_slice
from viewer.gui.window.commands.clock import clock_commands
from viewer.gui.window.commands.color import color_commands
from viewer.gui.window.commands.export import export_commands
from viewer.gui.window.commands.flow import flow_commands
from viewer.gui.window.commands.motion import motion_commands
from viewer.gui.window.commands.panel import panel_commands
from viewer.gui.window.commands.ruler import ruler_commands
from viewer.gui.window.commands.search import search_commands
from viewer.gui.window.commands.selection import SELECTION_MENU, SELECTION_MOUSE, selection_commands
from viewer.gui.window.commands.track import TRACK_MENU, track_commands
from viewer.gui.window.context_menus import menu_commands
from viewer.gui.window.files.perfetto_ui import perfetto_ui_commands
from viewer.gui.window.files.sessions import session_commands
from viewer.gui.window.help.help import guide_commands
from viewer.model.inference_views import Inferences, has_run_views
from viewer.model.trace import RunKind
from viewer.resources import SAMPLES

if TYPE_CHECKING:
    from viewer.gui.window.controller import WindowController

MENUS = (
    (
        "File",
        (
            "file.new_window", "file.open", "file.last_session", "file.reload", SEPARATOR,
            "file.save_session", "file.save_session_as", SEPARATOR,
            "file.export", "file.export_table", "file.export_operators", "file.save_picture",
            "file.perfetto_ui", SEPARATOR, "file.close_all", "file.close_window", SEPARATOR,
            "file.quit",
        ),
    ),
    (
        "View",
        (
            "view.fit", "view.fit_all", "view.fit_file", SEPARATOR, "view.only_hits", "view.clear",
            "view.panels", "view.menu", SEPARATOR, "view.drag_pans", "view.motion", "view.flows",
            SEPARATOR,
            "view.theme_system", "view.theme_light", "view.theme_dark",
        ),
    ),
    (
        "Go",
        (
            "go.undo", "go.redo", "go.back", "go.forward", SEPARATOR, "go.next_run",
            "go.previous_run", "go.runs_aligned", "go.runs_mean", SEPARATOR,
            "go.next_slice", "go.previous_slice", SEPARATOR, "go.next_flow", "go.previous_flow",
            "go.next_branch", "go.previous_branch", SEPARATOR,
            "search.find", "search.next", "search.previous", "search.list",
        ),
    ),
    ("Tracks", TRACK_MENU),
    SELECTION_MENU,
    (
        "Help",
        (
            "help.here", "help.tour", "help.recording", "help.glossary", SEPARATOR,
            "help.palette", "help.keys",
            SEPARATOR, *(f"sample.{s.key}" for s in SAMPLES),
            SEPARATOR, "help.about",
        ),
    ),
)  # fmt: skip
# What the start page tells the keys of.
START_KEYS = (
    ("Open files", "file.open"), ("Any command", "help.palette"), ("All keys", "help.keys"),
    ("Help", "help.here"),
)  # fmt: skip
# What a screen reader tells the keys of, on the timeline.
SPOKEN_KEYS = (
    "view.zoom_in", "view.zoom_out", "view.pan_left", "view.pan_right", "go.next_slice",
    "go.previous_slice", "search.find", "help.keys",
)  # fmt: skip
_SIGNS = {".": "full stop", ",": "comma", "/": "slash", "?": "question mark"}
MOUSE_HELP = (
    ("Wheel", "Scroll tracks"),
    ("Ctrl+wheel, pinch", "Zoom around the mouse"),
    ("Shift+wheel, horizontal swipe", "Move to earlier or later times"),
    ("Click", "Select the slice"),
    ("Double click", "Select and zoom to the slice"),
    ("Right click", "Open the menu of the slice, or of the row of a table"),
    ("Drag", "Select an area"),
    ("Ctrl+Shift+wheel, drag on the lower edge of a track's name", "Make rows higher or lower"),
    ("Drag on a track's name", "Move the track"),
    ("Right click on a track's name", "Pin, hide, fold, sort"),
    ("Shift+drag", "Move the timeline"),
    ("Middle button drag", "Move the timeline"),
    *SELECTION_MOUSE,
)
_SWAPPED = {"Drag": "Shift+drag", "Shift+drag": "Drag"}


def mouse_help(drag_pans: bool) -> list[tuple[str, str]]:
    """What the mouse does; drag_pans: with drag and Shift+drag exchanged."""
    return [(_SWAPPED.get(how, how) if drag_pans else how, what) for how, what in MOUSE_HELP]


def spoken_keys(table: CommandTable) -> str:
    """What the timeline is and which keys move through it now, to be read aloud."""
    told = [
        f"{_SIGNS.get(keys[0], shown_key(keys[0]))}: {table.commands[id].plain_title}."
        for id in SPOKEN_KEYS
        if (keys := table.keys(id))
    ]
    return " ".join(("Slices by process and thread.", *told))


def commands_of(desk: WindowController) -> list[Command]:
    """Every action of a desk."""
    session = desk.session

    has_trace, has_slice = open_profile(session), selected_slice(session)
    has_runs = Precondition(
        "a profile that tells its inferences",
        lambda: any(r.kind is RunKind.INFERENCE for t in session.traces for r in t.file.runs),
    )
    has_several_runs = Precondition(
        "a profile of several inferences",
        lambda: any(has_run_views(shown.file) for shown in session.traces),
    )
    something = Precondition("an open file", lambda: not session.is_empty)

    def toggle_inferences(view: Inferences) -> None:
        on = session.state.inferences is not view
        session.show_inferences(view if on else Inferences.AS_RUN)

    theme = desk.theme
    window = desk.window
    return [
        Command(
            "file.new_window", "&New window", "File", window.new_window_requested.emit, ("Ctrl+N",)
        ),
        Command("file.open", "&Open…", "File", desk.open_dialog, ("Ctrl+O",)),
        *session_commands(desk),
        *export_commands(desk),
        Command(
            "file.close_all", "&Close all", "File", desk.leaving.close_all, ("Ctrl+W",), something
        ),
        Command("file.close_window", "Close &window", "File", window.close, ("Ctrl+Shift+W",)),
        Command("file.quit", "&Quit", "File", window.quit_requested.emit, ("Ctrl+Q",)),
        Command(
            "go.undo",
            "&Undo",
            "Go",
            desk.undo,
            ("Ctrl+Z",),
            Precondition(
                "a change of the view",
                lambda: session.history.can_undo or desk.leaving.can_reopen,
            ),
        ),
        Command(
            "go.redo",
            "&Redo",
            "Go",
            session.redo,
            ("Ctrl+Shift+Z", "Ctrl+Y"),
            Precondition("a change that was undone", lambda: session.history.can_redo),
        ),
        Command(
            "go.back",
            "&Back",
            "Go",
            session.go_back,
            ("Alt+Left",),
            Precondition(
                "a place that was seen before", lambda: session.history.can_go_back(session.state)
            ),
        ),
        Command(
            "go.forward",
            "&Forward",
            "Go",
            session.go_forward,
            ("Alt+Right",),
            Precondition(
                "a place that was gone back from",
                lambda: session.history.can_go_forward(session.state),
            ),
        ),
        Command(
            "go.next_run",
            "&Next inference",
            "Go",
            lambda: navigation.step_run(session, 1),
            ("N",),
            has_runs,
        ),
        Command(
            "go.previous_run",
            "&Previous inference",
            "Go",
            lambda: navigation.step_run(session, -1),
            ("P",),
            has_runs,
        ),
        *(
            Command(
                f"go.runs_{name}",
                title,
                "Go",
                lambda view=view: toggle_inferences(view),  # type: ignore[misc]
                enabled=has_several_runs,
                checked=lambda view=view: session.state.inferences is view,  # type: ignore[misc]
                keywords="compare",
            )
            for name, title, view in (
                ("aligned", "All runs &aligned", Inferences.ALIGNED),
                ("mean", "&Mean of runs", Inferences.MEAN),
            )
        ),
        Command(
            "go.next_slice",
            "Next &slice on the row",
            "Go",
            lambda: navigation.step_slice(session, 1),
            (".",),
            has_slice,
        ),
        Command(
            "go.previous_slice",
            "Previous s&lice on the row",
            "Go",
            lambda: navigation.step_slice(session, -1),
            (",",),
            has_slice,
        ),
        Command(
            "view.fit",
            "&Fit selection, then all",
            "View",
            lambda: navigation.fit_selection(session),
            ("F",),
            has_trace,
            repeats=False,
        ),
        Command(
            "view.fit_all",
            "Fit &all",
            "View",
            lambda: navigation.fit_all(session),
            ("Home",),
            has_trace,
        ),
        Command(
            "view.fit_file",
            "Fit &next file",
            "View",
            lambda: navigation.fit_file(session),
            ("Shift+F",),
            Precondition("two open profiles", lambda: len(session.traces) > 1),
        ),
        Command(
            "view.clear",
            "&Clear search, area, selection",
            "View",
            desk.escape,
            ("Escape",),
            repeats=False,
        ),
        Command(
            "view.panels",
            "&Bottom panels",
            "View",
            desk.toggle_bottom,
            ("Q",),
            something,
            lambda: desk.shows_bottom,
        ),
        *(
            Command(
                f"view.theme_{choice}",
                title,
                "View",
                lambda choice=choice: desk.pick_theme(choice),  # type: ignore[misc]
                checked=lambda choice=choice: theme.choice == choice,  # type: ignore[misc]
                group="Theme",
            )
            for choice, title in (
                ("system", "Colours of the s&ystem"),
                ("light", "&Light"),
                ("dark", "&Dark"),
            )
        ),
        *(
            Command(
                f"sample.{s.key}",
                s.title,
                "Help",
                lambda s=s: desk.open(s.paths()),  # type: ignore[misc]
                group="Open a sample",
            )
            for s in SAMPLES
        ),
        Command("help.keys", "&Keys…", "Help", desk.show_keys, ("?",)),
        Command("help.about", "&About Opscope", "Help", desk.show_about),
        Command(
            "view.motion",
            "S&mooth motion",
            "View",
            desk.toggle_motion,
            checked=lambda: desk.moves_smoothly,
        ),
        Command(
            "help.palette",
            "&Command palette…",
            "Help",
            desk.show_palette,
            ("Ctrl+Shift+P",),
            repeats=False,
        ),
        *guide_commands(desk),
        *panel_commands(desk),
        *menu_commands(desk),
        *clock_commands(desk),
        *motion_commands(desk),
        *ruler_commands(desk),
        *flow_commands(desk),
        *perfetto_ui_commands(desk),
        *color_commands(desk),
        *track_commands(desk),
        *selection_commands(desk),
        *search_commands(desk),
    ]
