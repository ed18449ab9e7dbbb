"""The commands that set the ruler's unit."""

from __future__ import annotations

from viewer.gui.qt.commands.command_table import Command, Precondition
from viewer.gui.session.clocks import cycle_trace, set_ruler
from viewer.gui.window.commands.context import CommandContext
from viewer.gui.window.commands.preconditions import open_profile
from viewer.view.state import RulerUnit

_TITLES = {
    RulerUnit.FROM_START: "From the &start of the trace",
    RulerUnit.ABSOLUTE: "&Clock of the file",
    RulerUnit.FROM_SELECTION: "From the se&lection",
    RulerUnit.CYCLES: "C&ycles",
}


def ruler_commands(context: CommandContext) -> list[Command]:
    """One command per unit; cycles only if a file counts in cycles."""
    session = context.session
    has_trace = open_profile(session)
    has_cycles = Precondition(
        "a profile that counts cycles", lambda: cycle_trace(session) is not None
    )

    return [
        Command(
            f"ruler.{unit.name.lower()}",
            title,
            "View",
            lambda unit=unit: set_ruler(session, unit),  # type: ignore[misc]
            enabled=has_cycles if unit is RulerUnit.CYCLES else has_trace,
            checked=lambda unit=unit: session.state.ruler is unit,  # type: ignore[misc]
            group="Ruler",
        )
        for unit, title in _TITLES.items()
    ]
