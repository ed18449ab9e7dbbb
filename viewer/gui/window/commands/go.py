"""The commands of the Go menu, undo and redo, and those of the search."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QWidget

from viewer.gui.qt.command_table import Command, Precondition
from viewer.gui.session import navigation
from viewer.gui.session.feeds.search import Search
from viewer.gui.session.feeds.selection import FlowSteps
from viewer.gui.session.navigation import include_warm_up, listed_unit
from viewer.gui.window.commands.menus import CommandContext, open_profile, selected_slice
from viewer.model.inference_views import Inferences, has_run_views
from viewer.model.trace import RunKind

_edit = partial(Command, menu="Edit")
_go = partial(Command, menu="Go")
_view = partial(Command, menu="View")
_panels = partial(Command, menu="View", group="Panels")


def history_commands(context: CommandContext) -> list[Command]:
    """The commands for undo, redo, back and forward, and to step through inferences and slices."""
    session, close_guard = context.session, context.close_guard
    has_slice = selected_slice(session)
    has_runs = Precondition(
        "a profile with inferences or steps",
        lambda: any(r.kind is RunKind.INFERENCE for t in session.traces for r in t.file.runs),
    )
    has_several_runs = Precondition(
        "a profile with several inferences or steps",
        lambda: any(has_run_views(open_trace.file) for open_trace in session.traces),
    )

    def wording(title: str) -> str:
        return listed_unit(session).worded(title)

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
        _edit(
            "go.undo",
            "&Undo",
            undo,
            ("Ctrl+Z",),
            Precondition(
                "a change to undo",
                lambda: session.history.can_undo or close_guard.can_reopen,
            ),
        ),
        _edit(
            "go.redo",
            "&Redo",
            session.redo,
            ("Ctrl+Shift+Z", "Ctrl+Y"),
            Precondition("an undone change", lambda: session.history.can_redo),
        ),
        _go(
            "go.back",
            "&Back",
            session.go_back,
            ("Alt+Left",),
            Precondition("an earlier position", lambda: session.history.can_go_back(session.state)),
        ),
        _go(
            "go.forward",
            "&Forward",
            session.go_forward,
            ("Alt+Right",),
            Precondition(
                "a later position",
                lambda: session.history.can_go_forward(session.state),
            ),
        ),
        _go(
            "go.next_run",
            "&Next inference",
            lambda: navigation.step_run(session, 1),
            ("N",),
            has_runs,
            wording=wording,
        ),
        _go(
            "go.previous_run",
            "&Previous inference",
            lambda: navigation.step_run(session, -1),
            ("P",),
            has_runs,
            wording=wording,
        ),
        *(
            _go(
                f"go.runs_{name}",
                title,
                lambda view=view: toggle_inferences(view),  # type: ignore[misc]
                enabled=has_several_runs,
                checked=lambda view=view: session.state.inferences is view,  # type: ignore[misc]
                keywords="compare median",
                wording=wording,
            )
            for name, title, view in (
                ("aligned", "All inferences &aligned", Inferences.ALIGNED),
                ("median", "T&ypical inference", Inferences.TYPICAL),
                ("mean", "&Mean without warm-up", Inferences.MEAN),
            )
        ),
        _go(
            "go.include_warm_up",
            "Include &warm-up in figures",
            lambda: include_warm_up(session, included=not session.state.warm_up),
            enabled=has_runs,
            checked=lambda: session.state.warm_up,
            keywords="warmup first cold",
        ),
        _go(
            "go.next_slice",
            "Next &slice in row",
            lambda: navigation.step_slice(session, 1),
            (".",),
            has_slice,
        ),
        _go(
            "go.previous_slice",
            "Previous s&lice in row",
            lambda: navigation.step_slice(session, -1),
            (",",),
            has_slice,
        ),
    ]


def flow_commands(context: CommandContext) -> list[Command]:
    """The flow commands, including the toggle for arrows, which is stored."""
    session, view_settings = context.session, context.view_settings
    steps = FlowSteps(session)
    steps.stopped.connect(context.shell.status.show_text)
    has_slice = selected_slice(session)
    has_siblings = Precondition("a flow step with several branches", lambda: steps.has_siblings)

    return [
        _view(
            "view.flows",
            "Flows of the selected slice",
            view_settings.toggle_flows,
            checked=lambda: view_settings.shows_flows,
        ),
        _go("go.next_flow", "Go to consumer", lambda: steps.step(forward=True), ("]",), has_slice),
        _go(
            "go.previous_flow",
            "Go to producer",
            lambda: steps.step(forward=False),
            ("[",),
            has_slice,
        ),
        _go("go.next_branch", "Next branch", lambda: steps.sibling(1), ("Ctrl+]",), has_siblings),
        _go(
            "go.previous_branch",
            "Previous branch",
            lambda: steps.sibling(-1),
            ("Ctrl+[",),
            has_siblings,
        ),
    ]


def panel_commands(context: CommandContext) -> list[Command]:
    """The commands `panel.operators` etc., listed under "Panels"."""
    something = Precondition("an open file", lambda: not context.session.is_empty)
    docks, table = context.docks, context.docks.table

    def show(name: str) -> None:
        docks.show_panel(name, by_hand=True)
        _take_keys(docks.by_name[docks.page_of(docks.table.panel_of[name])])

    titles = {page.id: page.title for page in table.pages.values()}
    titles |= {spec.id: spec.title for spec in table.panels.values()}
    return [
        _panels(
            f"panel.{name}",
            f"Show {title}",
            lambda name=name: show(name),  # type: ignore[misc]
            enabled=something,
        )
        for name, title in titles.items()
    ]


def _take_keys(panel: QWidget) -> None:
    """Focus a panel's table, or else the first widget that Tab would reach in it."""
    inside = [w for w in panel.findChildren(QWidget) if w.isVisibleTo(panel) and w.isEnabled()]
    reached = [w for w in inside if w.focusPolicy() & Qt.FocusPolicy.TabFocus]
    tables = [w for w in reached if isinstance(w, QAbstractItemView)]
    for widget in (tables or reached)[:1]:
        widget.setFocus(Qt.FocusReason.ShortcutFocusReason)


def search_commands(context: CommandContext) -> list[Command]:
    """The commands to focus the search field, step through hits, and show only hits."""
    session, field = context.session, context.search

    def find() -> None:
        """Focus the search field, and select its text."""
        field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        field.selectAll()

    has_trace = open_profile(session)
    is_on = Precondition("a search", lambda: Search.of(session).is_on)

    return [
        _edit("search.find", "&Find", find, ("Ctrl+F", "/"), has_trace),
        _go("search.next", "Next ma&tch", lambda: Search.of(session).step(1), ("F3",), is_on),
        _go(
            "search.previous",
            "Previous match",
            lambda: Search.of(session).step(-1),
            ("Shift+F3",),
            is_on,
        ),
        _view(
            "view.only_hits",
            "S&how only matches",
            lambda: Search.of(session).show_only_hits(not session.state.only_hits),
            ("H",),
            is_on,
            lambda: session.state.only_hits,
        ),
    ]
