"""The flow commands: `]` and `[` step along flows, and with Ctrl between branches."""

from __future__ import annotations

from viewer.gui.qt.commands.command_table import Command, Precondition
from viewer.gui.session.feeds.flows import FlowSteps
from viewer.gui.window.commands.context import CommandContext
from viewer.gui.window.commands.preconditions import selected_slice


def flow_commands(context: CommandContext) -> list[Command]:
    """The flow commands, including the toggle for arrows, which is stored."""
    session, view_settings = context.session, context.view_settings
    steps = FlowSteps(session)
    steps.stopped.connect(context.shell.status.show_text)
    has_slice = selected_slice(session)
    has_siblings = Precondition("a flow step with several branches", lambda: steps.has_siblings)

    return [
        Command(
            "view.flows",
            "Flows of the selected slice",
            "View",
            view_settings.toggle_flows,
            checked=lambda: view_settings.shows_flows,
        ),
        Command(
            "go.next_flow",
            "Go to consumer",
            "Go",
            lambda: steps.step(forward=True),
            ("]",),
            has_slice,
        ),
        Command(
            "go.previous_flow",
            "Go to producer",
            "Go",
            lambda: steps.step(forward=False),
            ("[",),
            has_slice,
        ),
        Command(
            "go.next_branch",
            "Next branch",
            "Go",
            lambda: steps.sibling(1),
            ("Ctrl+]",),
            has_siblings,
        ),
        Command(
            "go.previous_branch",
            "Previous branch",
            "Go",
            lambda: steps.sibling(-1),
            ("Ctrl+[",),
            has_siblings,
        ),
    ]
