"""The actions that are about colors: a command per scheme, the next and the previous one, and the
legend; and their menu, which says why a scheme cannot be had.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from viewer.gui.qt.commands.command_table import SEPARATOR, Command, Precondition
from viewer.gui.qt.settings import LEGEND
from viewer.gui.session.coloring import scheme_problem, set_scheme, shown_scheme
from viewer.gui.session.preconditions import open_profile
from viewer.render.color_schemes import SCHEMES

if TYPE_CHECKING:
    from viewer.gui.session.session import Session
    from viewer.gui.window.controller import WindowController

_MNEMONICS = {
    "operator": "&Operator", "name": "&Name", "type": "Operator &type", "module": "&Module",
    "delegate": "&Delegate", "duration": "D&uration", "links": "&Link state",
}  # fmt: skip
_NEEDS = {
    "operator": "slices that are linked to operators", "name": "an open profile",
    "type": "slices that are linked to operators", "module": "operators that are of modules",
    "delegate": "slices that a delegate ran", "duration": "slices with a length",
    "links": "slices that could be linked",
}  # fmt: skip
COLOR_MENU = (
    *(f"view.colour_{scheme.id}" for scheme in SCHEMES), SEPARATOR,
    "view.colour_next", "view.colour_previous", SEPARATOR, "view.legend",
)  # fmt: skip


def color_commands(desk: WindowController) -> list[Command]:
    """The commands of colors, of a desk."""
    session = desk.session
    has_trace = open_profile(session)

    def choose(scheme: str) -> None:
        set_scheme(session, scheme)
        desk.commands.refresh()  # Qt takes the check from an action that is chosen again

    def toggle_legend() -> None:
        shown = desk.timeline.legend.isHidden()
        desk.timeline.legend.setVisible(shown)
        desk.settings.set(LEGEND, shown)
        desk.commands.refresh()

    return [
        *(
            Command(
                f"view.colour_{scheme.id}", _MNEMONICS[scheme.id], "View",
                lambda id=scheme.id: choose(id),  # type: ignore[misc]
                enabled=Precondition(
                    _NEEDS[scheme.id],
                    lambda id=scheme.id: not scheme_problem(session, id),  # type: ignore[misc]
                ),
                checked=lambda id=scheme.id: shown_scheme(session) == id,  # type: ignore[misc]
                group="Colour by",
            )
            for scheme in SCHEMES
        ),
        Command(
            "view.colour_next", "Ne&xt colours", "View", lambda: step_scheme(session, 1), ("C",),
            has_trace, group="Colour by",
        ),
        Command(
            "view.colour_previous", "&Previous colours", "View",
            lambda: step_scheme(session, -1), ("Shift+C",), has_trace,
            group="Colour by",
        ),
        Command(
            "view.legend", "Le&gend of colours", "View", toggle_legend, ("L",),
            checked=lambda: not desk.timeline.legend.isHidden(), group="Colour by",
        ),
    ]  # fmt: skip


def step_scheme(session: Session, by: int) -> None:
    """Color by the next or previous scheme that what is open can have."""
    able = [scheme.id for scheme in SCHEMES if not scheme_problem(session, scheme.id)]
    if able:
        set_scheme(session, able[(able.index(shown_scheme(session)) + by) % len(able)])


def add_color_menu(desk: WindowController) -> None:
    """Add "Color by" to the View menu; what cannot be had says why, as tooltip and status tip."""
    table, session = desk.commands, desk.session
    menu = desk.window.menus["View"].addMenu("Colour b&y")
    menu.setToolTipsVisible(True)
    table.add_to(menu, COLOR_MENU)

    def tell() -> None:
        for scheme in SCHEMES:
            text = scheme_problem(session, scheme.id) or scheme.tells
            action = table.actions[f"view.colour_{scheme.id}"]
            action.setStatusTip(text)
            action.setToolTip(f"<p>{escape(text)}</p>")

    session.workspace_changed.connect(tell)
    tell()
