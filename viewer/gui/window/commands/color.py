"""The color commands: one per scheme, next and previous scheme, and the legend."""

from __future__ import annotations

from viewer.gui.qt.commands.command_table import Command, Precondition
from viewer.gui.session.coloring import scheme_problem, set_scheme, shown_scheme
from viewer.gui.window.commands.context import CommandContext
from viewer.gui.window.commands.preconditions import open_profile
from viewer.render.color_schemes import SCHEMES

_MNEMONICS = {
    "operator": "&Operator", "name": "&Name", "type": "Operator &type", "module": "&Module",
    "delegate": "&Delegate", "duration": "D&uration", "error": "&Error", "links": "&Link state",
}  # fmt: skip
_NEEDS = {
    "operator": "slices linked to operators", "name": "an open profile",
    "type": "slices linked to operators", "module": "operators with modules",
    "delegate": "slices run by a delegate", "duration": "slices with a duration",
    "error": "logged values with a reference", "links": "linkable slices",
}  # fmt: skip


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
        if available:
            set_scheme(
                session, available[(available.index(shown_scheme(session)) + by) % len(available)]
            )

    return [
        *(
            Command(
                f"view.colour_{scheme.id}",
                _MNEMONICS[scheme.id],
                "View",
                lambda id=scheme.id: choose(id),  # type: ignore[misc]
                enabled=Precondition(
                    _NEEDS[scheme.id],
                    lambda id=scheme.id: not scheme_problem(session, id),  # type: ignore[misc]
                ),
                checked=lambda id=scheme.id: shown_scheme(session) == id,  # type: ignore[misc]
                group="Color by",
            )
            for scheme in SCHEMES
        ),
        Command(
            "view.colour_next",
            "Ne&xt colors",
            "View",
            lambda: step(1),
            ("C",),
            has_trace,
            group="Color by",
        ),
        Command(
            "view.colour_previous",
            "&Previous colors",
            "View",
            lambda: step(-1),
            ("Shift+C",),
            has_trace,
            group="Color by",
        ),
        Command(
            "view.legend",
            "Le&gend of colors",
            "View",
            view_settings.toggle_legend,
            ("L",),
            checked=lambda: view_settings.shows_legend,
            group="Color by",
        ),
    ]
