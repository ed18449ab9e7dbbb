"""The actions of the main window, listed once, and the menus that they stand in."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from viewer.commands import SEPARATOR, Command
from viewer.model.run_views import has_run_views
from viewer.model.times import parse_rate
from viewer.model.trace import RunKind
from viewer.opening import Inferences
from viewer.resources import SAMPLES
from viewer.search_commands import search_commands
from viewer.workspace import DEBUG_INFO

if TYPE_CHECKING:
    from viewer.main_window import MainWindow

MENUS = (
    ("&File", ("file.open", "file.export", SEPARATOR, "file.close_all", SEPARATOR, "file.quit")),
    (
        "&View",
        (
            "view.fit", "view.fit_all", "view.fit_file", "view.zoom_in", "view.zoom_out", SEPARATOR,
            "view.only_hits", "view.clear", "view.panels", SEPARATOR, "view.theme_system",
            "view.theme_light", "view.theme_dark",
        ),
    ),
    (
        "&Go",
        (
            "go.undo", "go.redo", "go.back", "go.forward", SEPARATOR, "go.next_run",
            "go.previous_run", "go.runs_aligned", "go.runs_mean", SEPARATOR,
            "go.next_slice", "go.previous_slice", SEPARATOR,
            "search.find", "search.next", "search.previous", "search.list",
        ),
    ),
    (
        "&Help",
        ("help.keys", SEPARATOR, *(f"sample.{s.key}" for s in SAMPLES), SEPARATOR, "help.about"),
    ),
)  # fmt: skip
# What NPUs run at, offered for clocks whose rate no file states.
CYCLE_RATES = ("800 MHz", "100 MHz")
CLOCK_MENU = ("clock.file", *(f"clock.{text.partition(' ')[0]}" for text in CYCLE_RATES), SEPARATOR,
              "clock.other")  # fmt: skip
START_KEYS = (("Open files", "Ctrl+O"), ("Export", "Ctrl+E"), ("All keys", "?"))
MOUSE_HELP = (
    ("Wheel, Up, Down", "Scroll tracks"),
    ("Ctrl+wheel, W, S", "Zoom around the mouse"),
    ("Shift+wheel, Shift+drag, A, D, Left, Right", "Pan"),
    ("Click", "Select a slice"),
    ("Drag", "Select an area"),
    ("Double click", "Select and zoom to a slice"),
)


def commands_of(window: MainWindow) -> list[Command]:
    """Every action of a window."""
    session = window.session

    def has_trace() -> bool:
        return bool(session.traces)

    def has_runs() -> bool:
        return any(run.kind is RunKind.INFERENCE for t in session.traces for run in t.file.runs)

    def has_several_runs() -> bool:
        return any(has_run_views(shown.file) for shown in session.traces)

    def toggle_inferences(view: Inferences) -> None:
        on = session.state.inferences is not view
        session.show_inferences(view if on else Inferences.AS_RUN)

    def something() -> bool:
        return not session.is_empty

    def has_clock() -> bool:
        return session.clock_trace is not None or session.workspace.cycle_rate is not None

    def chosen_rate() -> Fraction | None:
        number = session.clock_trace
        of = DEBUG_INFO if number is None else session.traces[number].file.path
        return session.state.clocks.get(of)

    view = window.timeline.view
    theme = window.theme
    return [
        Command("file.open", "&Open…", "File", window.open_dialog, ("Ctrl+O",)),
        Command(
            "file.export", "&Export Perfetto…", "File", window.export_dialog, ("Ctrl+E",), something
        ),
        Command("file.close_all", "&Close all", "File", session.close_all, ("Ctrl+W",), something),
        Command("file.quit", "&Quit", "File", window.close, ("Ctrl+Q",)),
        Command(
            "go.undo", "&Undo", "Go", session.undo, ("Ctrl+Z",), lambda: session.history.can_undo
        ),
        Command(
            "go.redo", "&Redo", "Go", session.redo, ("Ctrl+Shift+Z", "Ctrl+Y"),
            lambda: session.history.can_redo,
        ),
        Command(
            "go.back", "&Back", "Go", session.go_back, ("Alt+Left",),
            lambda: session.history.can_go_back(session.state),
        ),
        Command(
            "go.forward", "&Forward", "Go", session.go_forward, ("Alt+Right",),
            lambda: session.history.can_go_forward(session.state),
        ),
        Command(
            "go.next_run", "&Next inference", "Go", lambda: session.step_run(1), ("N",), has_runs
        ),
        Command(
            "go.previous_run", "&Previous inference", "Go", lambda: session.step_run(-1),
            ("P",), has_runs,
        ),
        *(
            Command(
                f"go.runs_{name}", title, "Go",
                lambda view=view: toggle_inferences(view), enabled=has_several_runs,  # type: ignore[misc]
                checked=lambda view=view: session.state.inferences is view,  # type: ignore[misc]
            )
            for name, title, view in (
                ("aligned", "All runs &aligned", Inferences.ALIGNED),
                ("mean", "&Mean of runs", Inferences.MEAN),
            )
        ),
        Command(
            "go.next_slice", "Next &slice on the row", "Go", lambda: session.step_slice(1), (".",),
            has_trace,
        ),
        Command(
            "go.previous_slice", "Previous s&lice on the row", "Go",
            lambda: session.step_slice(-1), (",",), has_trace,
        ),
        Command(
            "view.fit", "&Fit selection, then all", "View", session.fit_selection, ("F",), has_trace
        ),
        Command("view.fit_all", "Fit &all", "View", session.fit_all, ("Home",), has_trace),
        Command(
            "view.fit_file", "Fit &next file", "View", session.fit_next_file, ("Shift+F",),
            lambda: len(session.traces) > 1,
        ),
        Command(
            "view.zoom_in", "Zoom &in", "View", lambda: view.zoom_step(-1),
            ("Ctrl+=", "Ctrl++"), has_trace,
        ),
        Command(
            "view.zoom_out", "Zoom &out", "View", lambda: view.zoom_step(1), ("Ctrl+-",), has_trace
        ),
        Command(
            "view.clear", "&Clear selection", "View", window.escape, ("Escape",)
        ),
        Command(
            "view.panels", "&Bottom panels", "View", window.toggle_bottom, ("Q",), something,
            lambda: window.shows_bottom,
        ),
        Command(
            "clock.file", "As &assumed or stated", "View", lambda: window.choose_clock(None),
            enabled=has_clock, checked=lambda: has_clock() and chosen_rate() is None,
        ),
        *(
            Command(
                f"clock.{text.partition(' ')[0]}", f"&{text}", "View",
                lambda text=text: window.choose_clock(parse_rate(text)),  # type: ignore[misc]
                enabled=has_clock,
                checked=lambda text=text: chosen_rate() == parse_rate(text),  # type: ignore[misc]
            )
            for text in CYCLE_RATES
        ),
        Command(
            "clock.other", "&Other clock rate…", "View", window.ask_clock, enabled=has_clock
        ),
        *(
            Command(
                f"view.theme_{choice}", title, "View",
                lambda choice=choice: window.pick_theme(choice),  # type: ignore[misc]
                checked=lambda choice=choice: theme.choice == choice,  # type: ignore[misc]
            )
            for choice, title in (
                ("system", "Colours of the s&ystem"), ("light", "&Light"), ("dark", "&Dark")
            )
        ),
        *(
            Command(f"sample.{s.key}", s.title, "Help", lambda s=s: window.open(s.paths()))  # type: ignore[misc]
            for s in SAMPLES
        ),
        Command("help.keys", "&Keys", "Help", window.show_keys, ("?", "F1")),
        Command("help.about", "&About Opscope", "Help", window.show_about),
        *search_commands(window),
    ]  # fmt: skip
