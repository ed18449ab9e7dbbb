"""All commands of a window; defines those for history, inferences, range, panels and theme."""

from __future__ import annotations

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication

from viewer.gui.panels.graph.panel import GraphPanel
from viewer.gui.qt.commands.command_table import Command, Precondition
from viewer.gui.session import navigation
from viewer.gui.session import selection as selecting
from viewer.gui.session.inferences import include_warm_up
from viewer.gui.window.commands.alignment import alignment_commands
from viewer.gui.window.commands.clock import clock_commands, ruler_commands
from viewer.gui.window.commands.color import color_commands
from viewer.gui.window.commands.comparison import comparison_commands
from viewer.gui.window.commands.context import CommandContext
from viewer.gui.window.commands.file import file_commands, perfetto_ui_commands
from viewer.gui.window.commands.flow import flow_commands
from viewer.gui.window.commands.help import (
    guide_commands,
    keys_and_about_commands,
    palette_commands,
    sample_commands,
)
from viewer.gui.window.commands.motion import motion_commands
from viewer.gui.window.commands.panel import panel_commands, source_commands
from viewer.gui.window.commands.preconditions import open_profile, selected_slice
from viewer.gui.window.commands.preferences import preferences_commands
from viewer.gui.window.commands.search import search_commands
from viewer.gui.window.commands.selection import copy_commands, selection_commands
from viewer.gui.window.commands.track import track_commands
from viewer.model.inferences.inference_views import Inferences, has_run_views
from viewer.model.trace import RunKind


def commands_of(context: CommandContext) -> list[Command]:
    """All commands of a window, in the order of the palette and the shortcuts dialog."""
    return [
        *file_commands(context),
        *comparison_commands(context),
        *_go_commands(context),
        *_view_commands(context),
        *sample_commands(context),
        *keys_and_about_commands(context),
        *_motion_switch(context),
        *preferences_commands(context),
        *palette_commands(context),
        *guide_commands(context),
        *panel_commands(context),
        *source_commands(context),
        *_menu_commands(),
        *clock_commands(context),
        *alignment_commands(context),
        *motion_commands(context),
        *ruler_commands(context),
        *flow_commands(context),
        *perfetto_ui_commands(context),
        *color_commands(context),
        *track_commands(context),
        *selection_commands(context),
        *copy_commands(context),
        *search_commands(context),
    ]


def _go_commands(context: CommandContext) -> list[Command]:
    """The commands for undo, redo, back and forward, and to step through inferences and slices."""
    session, close_guard = context.session, context.close_guard
    has_slice = selected_slice(session)
    has_runs = Precondition(
        "a profile with inferences",
        lambda: any(r.kind is RunKind.INFERENCE for t in session.traces for r in t.file.runs),
    )
    has_several_runs = Precondition(
        "a profile with several inferences",
        lambda: any(has_run_views(shown.file) for shown in session.traces),
    )

    def undo() -> None:
        """Undo the last change of the view, or Close all."""
        if close_guard.can_reopen:
            close_guard.reopen()
        else:
            session.undo()

    def toggle_inferences(view: Inferences) -> None:
        on = session.state.inferences is not view
        session.show_inferences(view if on else Inferences.AS_RUN)

    return [
        Command(
            "go.undo",
            "&Undo",
            "Edit",
            undo,
            ("Ctrl+Z",),
            Precondition(
                "a change to undo",
                lambda: session.history.can_undo or close_guard.can_reopen,
            ),
        ),
        Command(
            "go.redo",
            "&Redo",
            "Edit",
            session.redo,
            ("Ctrl+Shift+Z", "Ctrl+Y"),
            Precondition("an undone change", lambda: session.history.can_redo),
        ),
        Command(
            "go.back",
            "&Back",
            "Go",
            session.go_back,
            ("Alt+Left",),
            Precondition("an earlier position", lambda: session.history.can_go_back(session.state)),
        ),
        Command(
            "go.forward",
            "&Forward",
            "Go",
            session.go_forward,
            ("Alt+Right",),
            Precondition(
                "a later position",
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
                ("aligned", "All inferences &aligned", Inferences.ALIGNED),
                ("median", "Me&dian inference", Inferences.MEDIAN),
                ("mean", "&Mean without warm-up", Inferences.MEAN),
            )
        ),
        Command(
            "go.include_warm_up",
            "Include &warm-up in figures",
            "Go",
            lambda: include_warm_up(session, included=not session.state.warm_up),
            enabled=has_runs,
            checked=lambda: session.state.warm_up,
            keywords="warmup first cold",
        ),
        Command(
            "go.next_slice",
            "Next &slice in row",
            "Go",
            lambda: navigation.step_slice(session, 1),
            (".",),
            has_slice,
        ),
        Command(
            "go.previous_slice",
            "Previous s&lice in row",
            "Go",
            lambda: navigation.step_slice(session, -1),
            (",",),
            has_slice,
        ),
    ]


def _view_commands(context: CommandContext) -> list[Command]:
    """The commands for the visible range, clearing, the bottom panels, and the theme."""
    session, shell, work = context.session, context.shell, context.work
    timeline, docks, view_settings = context.timeline, context.docks, context.view_settings
    graph = context.panels.of(GraphPanel)
    has_trace = open_profile(session)
    something = Precondition("an open file", lambda: not session.is_empty)

    def escape() -> None:
        """Cancel or clear the first that applies: drag, tour, work, message, selection."""
        if any(strip.cancel_drag() for strip in timeline.strips):
            return
        if context.help.leave_tour():
            return
        if work.is_busy:
            work.cancel()
        elif graph.stop():
            shell.status.show_text("Graph not updated")
        elif shell.message.isVisible():
            shell.message.dismiss()
        else:
            selecting.clear(session)

    def toggle_bottom() -> None:
        docks.toggle_bottom()
        context.table.refresh()

    return [
        Command(
            "view.fit",
            "Zoom to &selection",
            "View",
            lambda: navigation.fit_selection(session),
            ("F",),
            has_trace,
            repeats=False,
        ),
        Command(
            "view.fit_all",
            "&Zoom to fit",
            "View",
            lambda: navigation.fit_all(session),
            ("Home",),
            has_trace,
            keywords="fit all",
        ),
        Command(
            "view.fit_file",
            "Zoom to &next file",
            "View",
            lambda: navigation.fit_file(session),
            ("Shift+F",),
            Precondition("two open profiles", lambda: len(session.traces) > 1),
        ),
        Command(
            "view.clear",
            "&Clear selection",
            "View",
            escape,
            ("Escape",),
            repeats=False,
        ),
        Command(
            "view.panels",
            "Toggle &bottom panel",
            "View",
            toggle_bottom,
            ("Q",),
            something,
            lambda: docks.shows_bottom,
        ),
        *(
            Command(
                f"view.theme_{choice}",
                title,
                "View",
                lambda choice=choice: view_settings.pick_theme(choice),  # type: ignore[misc]
                checked=lambda choice=choice: view_settings.theme == choice,  # type: ignore[misc]
                group="Theme",
            )
            for choice, title in (
                ("system", "S&ystem"),
                ("light", "&Light"),
                ("dark", "&Dark"),
            )
        ),
    ]


def _motion_switch(context: CommandContext) -> list[Command]:
    """The toggle for animated jumps."""
    view_settings = context.view_settings
    return [
        Command(
            "view.motion",
            "S&mooth motion",
            "View",
            view_settings.toggle_motion,
            checked=lambda: view_settings.moves_smoothly,
        )
    ]


def _menu_commands() -> list[Command]:
    """The command that opens the focused widget's context menu, as the Menu key does."""

    def open_menu() -> None:
        focus = QApplication.focusWidget()
        if focus is None:
            return
        row = focus.inputMethodQuery(Qt.InputMethodQuery.ImCursorRectangle)
        position = (
            row.center() if isinstance(row, QRect) and row.isValid() else focus.rect().center()
        )
        event = QContextMenuEvent(
            QContextMenuEvent.Reason.Keyboard, position, focus.mapToGlobal(position)
        )
        QApplication.sendEvent(focus, event)

    return [Command("view.menu", "Context m&enu", "View", open_menu, ("Shift+F10",))]
