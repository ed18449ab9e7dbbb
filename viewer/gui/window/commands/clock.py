"""The commands that set a clock rate, and the unit of the ruler."""

from __future__ import annotations

from fractions import Fraction

from viewer.gui.qt.commands.command_table import Command, Precondition
from viewer.gui.session.clocks import CYCLE_RATES, clock_trace, cycle_trace, set_ruler
from viewer.gui.window.commands.context import CommandContext
from viewer.gui.window.commands.preconditions import open_profile
from viewer.model.times import parse_rate
from viewer.view.state import RulerUnit
from viewer.workspace.clocks import DEBUG_INFO

_TITLES = {
    RulerUnit.FROM_START: "From the &start of the trace",
    RulerUnit.ABSOLUTE: "&Clock of the file",
    RulerUnit.FROM_SELECTION: "From the se&lection",
    RulerUnit.CYCLES: "C&ycles",
}


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
        Command(
            "clock.file",
            "As &assumed or stated",
            "View",
            lambda: clock.choose(None),
            enabled=has_clock,
            checked=lambda: has_clock() and chosen_rate() is None,
            group="Clock rate",
        ),
        *(
            Command(
                f"clock.{text.partition(' ')[0]}",
                f"&{text}",
                "View",
                lambda rate=rate: clock.choose(rate),  # type: ignore[misc]
                enabled=has_clock,
                checked=lambda rate=rate: chosen_rate() == rate,  # type: ignore[misc]
                group="Clock rate",
            )
            for text, rate in rates.items()
        ),
        Command(
            "clock.other",
            "&Other clock rate…",
            "View",
            clock.ask,
            enabled=has_clock,
            group="Clock rate",
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
