"""The commands of the View menu, except those about tracks, clocks and matches."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QInputDialog

from viewer.analysis.statistics.group_keys import ARGUMENT
from viewer.gui.qt.command_table import Command, Precondition
from viewer.gui.qt.settings import PANEL_LAYOUT
from viewer.gui.session import navigation
from viewer.gui.session import selection as selecting
from viewer.gui.session.choices import argument_schemes, scheme_problem, set_scheme, shown_scheme
from viewer.gui.session.clocks import CYCLE_RATES, clock_trace, cycle_trace, set_ruler
from viewer.gui.timeline.view import HeldAxis, HeldWay
from viewer.gui.window.commands.menus import CommandContext, open_profile
from viewer.gui.window.frame.panel_registry import (
    COMPARE,
    DEFAULT,
    ONLY_TIMELINE,
    SOURCE,
    layout_text,
)
from viewer.model.times import parse_rate
from viewer.render.color_schemes import SCHEMES
from viewer.view.sessions.session_file import SavedPanels
from viewer.view.state import RulerUnit
from viewer.workspace.clocks import DEBUG_INFO

_view = partial(Command, menu="View")
_layout = partial(Command, menu="View", group="Layout")
_move = partial(Command, menu="View", group="Move")
_color_by = partial(Command, menu="View", group="Color by")
_ruler = partial(Command, menu="View", group="Ruler")
_clock_rate = partial(Command, menu="View", group="Clock rate")
_theme = partial(Command, menu="View", group="Theme")

_RULER_TITLES = {
    RulerUnit.FROM_START: "From the &start of the trace",
    RulerUnit.ABSOLUTE: "&Clock of the file",
    RulerUnit.FROM_SELECTION: "From the se&lection",
    RulerUnit.CYCLES: "C&ycles",
}

_COLOR_TITLES = {
    "operator": "&Operator", "name": "&Name", "type": "Operator &type", "module": "&Module",
    "delegate": "&Delegate", "duration": "D&uration", "error": "&Error", "links": "&Link state",
}  # fmt: skip
_COLOR_NEEDS = {
    "operator": "slices linked to operators", "name": "an open profile",
    "type": "slices linked to operators", "module": "operators with modules",
    "delegate": "slices run by a delegate", "duration": "slices with a duration",
    "error": "logged values with a reference", "links": "linkable slices",
}  # fmt: skip


def range_commands(context: CommandContext) -> list[Command]:
    """The commands for the visible range, clearing, the bottom panels, and the theme."""
    session, shell, work = context.session, context.shell, context.work
    timeline, docks, view_settings = context.timeline, context.docks, context.view_settings
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
        elif stopped := next(
            filter(None, (page.stop() for page in docks.by_name.existing.values())), ""
        ):
            shell.status.show_text(stopped)
        elif shell.message.isVisible():
            shell.message.dismiss()
        else:
            selecting.clear(session)

    def toggle_bottom() -> None:
        docks.toggle_bottom()
        context.table.refresh()

    return [
        _view(
            "view.fit",
            "Zoom to &selection",
            lambda: navigation.fit_selection(session),
            ("F",),
            has_trace,
            repeats=False,
        ),
        _view(
            "view.fit_all",
            "&Zoom to fit",
            lambda: navigation.fit_all(session),
            ("Home",),
            has_trace,
            keywords="fit all",
        ),
        _view(
            "view.fit_file",
            "Zoom to &next file",
            lambda: navigation.fit_file(session),
            ("Shift+F",),
            Precondition("two open profiles", lambda: len(session.traces) > 1),
        ),
        _view(
            "view.fit_rest",
            "Zoom to the &rest",
            lambda: navigation.fit_rest(session),
            (),
            Precondition(
                "slices that are far from all others",
                lambda: navigation.far_place(session) is not None,
            ),
            keywords="far times outliers",
        ),
        _view("view.clear", "&Clear selection", escape, ("Escape",), repeats=False),
        _view(
            "view.panels",
            "Toggle &bottom panel",
            toggle_bottom,
            ("Q",),
            something,
            lambda: docks.shows_bottom,
        ),
        *(
            _theme(
                f"view.theme_{choice}",
                title,
                lambda choice=choice: view_settings.pick_theme(choice),  # type: ignore[misc]
                checked=lambda choice=choice: view_settings.theme == choice,  # type: ignore[misc]
            )
            for choice, title in (
                ("system", "S&ystem"),
                ("light", "&Light"),
                ("dark", "&Dark"),
            )
        ),
    ]


def layout_commands(context: CommandContext) -> list[Command]:
    """The layouts, the user's default, and floating panels."""
    docks, settings = context.docks, context.shell.settings
    something = Precondition("an open file", lambda: not context.session.is_empty)
    has_default = Precondition("a default of your own", lambda: docks.default != DEFAULT)
    can_float = Precondition(
        "a panel", lambda: something() and bool(docks.focused_panel) and docks.shows_any
    )
    has_floating = Precondition("a floating panel", lambda: bool(docks.floating))

    def keep() -> None:
        docks.default = docks.choices
        settings.set(PANEL_LAYOUT, layout_text(docks.default))
        context.shell.status.show_text("Files now open with this layout; Reset forgets it")

    def reset() -> None:
        docks.default = DEFAULT
        settings.reset(PANEL_LAYOUT)
        docks.restore(DEFAULT)

    def dock_all() -> None:
        for name in docks.floating:
            docks.dock_panel(name)

    def layout(id: str, title: str, panels: SavedPanels, words: str) -> Command:
        return _layout(
            f"layout.{id}",
            title,
            lambda: docks.restore(panels),
            enabled=something,
            keywords=f"panels tabs arrange {words}",
        )

    return [
        _layout(
            "layout.default",
            "&Default",
            lambda: docks.restore(docks.default),
            enabled=something,
            keywords="panels tabs arrange home",
        ),
        layout("timeline", "&Timeline only", ONLY_TIMELINE, "hide maximize"),
        layout("source", "&Source", SOURCE, "code lines"),
        layout("compare", "&Compare", COMPARE, "comparison arms"),
        _layout(
            "layout.keep",
            "&Use this layout for all files",
            keep,
            enabled=something,
            keywords="default save panels",
        ),
        _layout(
            "layout.reset",
            "&Reset layout",
            reset,
            enabled=Precondition("an open file", lambda: something() or has_default()),
            keywords="forget default panels",
        ),
        _layout(
            "layout.float",
            "&Float panel",
            lambda: docks.float_panel(docks.focused_panel),
            enabled=can_float,
            keywords="window second screen detach undock",
        ),
        _layout(
            "layout.dock",
            "Doc&k all panels",
            dock_all,
            enabled=has_floating,
            keywords="window attach",
        ),
    ]


def motion_setting_commands(context: CommandContext) -> list[Command]:
    """The toggle for animated jumps."""
    view_settings = context.view_settings
    return [
        _view(
            "view.motion",
            "S&mooth motion",
            view_settings.toggle_motion,
            checked=lambda: view_settings.moves_smoothly,
        )
    ]


def motion_commands(context: CommandContext) -> list[Command]:
    """The commands to zoom, pan and scroll, and the toggle for dragging."""
    timeline, view_settings = context.timeline, context.view_settings
    has_trace = open_profile(context.session)

    def moving(id: str, title: str, way: HeldWay, *keys: str) -> Command:
        def hold(key: Qt.Key) -> None:
            timeline.view.hold(key, way)

        return _move(id, title, lambda: timeline.view.tap(way), keys, has_trace, hold=hold)

    return [
        moving("view.zoom_in", "Zoom &in", HeldWay(HeldAxis.ZOOM, -1), "W", "Ctrl+=", "Ctrl++"),
        moving("view.zoom_out", "Zoom &out", HeldWay(HeldAxis.ZOOM, 1), "S", "Ctrl+-"),
        moving("view.pan_left", "Pan &left", HeldWay(HeldAxis.PAN, -1), "A", "Left"),
        moving("view.pan_right", "Pan &right", HeldWay(HeldAxis.PAN, 1), "D", "Right"),
        moving("view.scroll_up", "Scroll tracks &up", HeldWay(HeldAxis.SCROLL, -1), "Up"),
        moving("view.scroll_down", "Scroll tracks &down", HeldWay(HeldAxis.SCROLL, 1), "Down"),
        _view(
            "view.drag_pans",
            "Dra&g to pan (Shift+drag selects)",
            view_settings.toggle_drag_pans,
            checked=lambda: view_settings.drag_pans,
        ),
    ]


def color_commands(context: CommandContext) -> list[Command]:
    """The color commands."""
    session, view_settings = context.session, context.view_settings
    has_trace = open_profile(session)

    def choose(scheme: str) -> None:
        set_scheme(session, scheme)
        context.table.refresh()  # Qt unchecks an action that is chosen again

    def step(by: int) -> None:
        """Switch to the next or previous scheme that is available."""
        available = [scheme.id for scheme in SCHEMES if not scheme_problem(session, scheme.id)]
        scheme = shown_scheme(session)
        available += [scheme] if scheme not in available else []  # an argument
        if session.traces:
            set_scheme(session, available[(available.index(scheme) + by) % len(available)])

    def choose_argument() -> None:
        """Ask for one of the arguments of the open files."""
        schemes = argument_schemes(session)
        scheme, names = shown_scheme(session), [id.removeprefix(ARGUMENT) for id in schemes]
        current = schemes.index(scheme) if scheme in schemes else 0
        text, answered = QInputDialog.getItem(
            context.shell, "Color by argument", "Argument of slices", names, current, True
        )
        if answered and text.strip():
            set_scheme(session, f"{ARGUMENT}{text.strip()}")

    return [
        *(
            _color_by(
                f"view.colour_{scheme.id}",
                _COLOR_TITLES[scheme.id],
                lambda id=scheme.id: choose(id),  # type: ignore[misc]
                enabled=Precondition(
                    _COLOR_NEEDS[scheme.id],
                    lambda id=scheme.id: not scheme_problem(session, id),  # type: ignore[misc]
                ),
                checked=lambda id=scheme.id: shown_scheme(session) == id,  # type: ignore[misc]
            )
            for scheme in SCHEMES
        ),
        _color_by(
            "view.colour_argument",
            "Color by ar&gument…",
            choose_argument,
            enabled=Precondition("slices with arguments", lambda: bool(argument_schemes(session))),
            checked=lambda: shown_scheme(session).startswith(ARGUMENT),
        ),
        _color_by("view.colour_next", "Ne&xt colors", lambda: step(1), ("C",), has_trace),
        _color_by(
            "view.colour_previous", "&Previous colors", lambda: step(-1), ("Shift+C",), has_trace
        ),
        _color_by(
            "view.legend",
            "&Legend of colors",
            view_settings.toggle_legend,
            ("L",),
            checked=lambda: view_settings.shows_legend,
        ),
    ]


def ruler_commands(context: CommandContext) -> list[Command]:
    """One command per unit; cycles only if a file counts in cycles."""
    session = context.session
    has_trace = open_profile(session)
    has_cycles = Precondition(
        "a profile that counts cycles", lambda: cycle_trace(session) is not None
    )

    return [
        _ruler(
            f"ruler.{unit.name.lower()}",
            title,
            lambda unit=unit: set_ruler(session, unit),  # type: ignore[misc]
            enabled=has_cycles if unit is RulerUnit.CYCLES else has_trace,
            checked=lambda unit=unit: session.state.ruler is unit,  # type: ignore[misc]
        )
        for unit, title in _RULER_TITLES.items()
    ]


def clock_commands(context: CommandContext) -> list[Command]:
    """Commands for the rates to choose from, for the current trace or debug info."""
    session, clock = context.session, context.clock
    has_clock = Precondition(
        "a clock whose rate can be chosen",
        lambda: clock_trace(session) is not None or session.workspace.clocks.cycle_rate is not None,
    )

    # Parsed once, because `checked` is evaluated in every frame.
    rates = {text: parse_rate(text) for text in CYCLE_RATES}

    def chosen_rate() -> Fraction | None:
        number = clock_trace(session)
        of = DEBUG_INFO if number is None else session.traces[number].file.path
        return session.state.clocks.get(of)

    return [
        _clock_rate(
            "clock.file",
            "As &assumed or stated",
            lambda: clock.choose(None),
            enabled=has_clock,
            checked=lambda: has_clock() and chosen_rate() is None,
        ),
        *(
            _clock_rate(
                f"clock.{text.partition(' ')[0]}",
                f"&{text}",
                lambda rate=rate: clock.choose(rate),  # type: ignore[misc]
                enabled=has_clock,
                checked=lambda rate=rate: chosen_rate() == rate,  # type: ignore[misc]
            )
            for text, rate in rates.items()
        ),
        _clock_rate("clock.other", "&Other clock rate…", clock.ask, enabled=has_clock),
    ]


def context_menu_commands() -> list[Command]:
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

    return [_view("view.menu", "Context m&enu", open_menu, ("Shift+F10",))]
