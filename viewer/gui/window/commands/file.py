"""The commands that open, compare, save, export and close files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from viewer.gui.qt.command_table import Command, Precondition
from viewer.gui.session.comparison import (
    ComparisonFeed,
    compare,
    compare_with_others,
    other_inferences,
    pair_selected,
    separate_selected,
    stretch,
    stretch_obstacle,
    swap_arms,
)
from viewer.gui.session.navigation import listed_unit
from viewer.gui.session.session import Session
from viewer.gui.window.commands.menus import CommandContext, open_profile

if TYPE_CHECKING:
    from viewer.view.open_comparison import OpenComparison


def file_commands(context: CommandContext) -> list[Command]:
    """The commands of the File menu, except the Perfetto UI."""
    files, shell = context.session_files, context.shell
    something = Precondition("an open file", lambda: not context.session.is_empty)
    table = Precondition("an open plain CSV", lambda: context.opener.can_choose_columns)
    last = Precondition("an earlier session", lambda: files.has_last)
    return [
        Command(
            "file.new_window", "&New window", "File", shell.new_window_requested.emit, ("Ctrl+N",)
        ),
        Command("file.open", "&Open…", "File", context.opener.open_dialog, ("Ctrl+O",)),
        Command("file.record", "Recor&d…", "File", context.recordings.show),
        Command("file.save_session", "&Save session", "File", files.save, ("Ctrl+S",), something),
        Command(
            "file.save_session_as",
            "Save session &as…",
            "File",
            files.save_as,
            ("Ctrl+Shift+S",),
            something,
        ),
        Command("file.reload", "Re&load files", "File", files.reload, ("F5",), something),
        Command(
            "file.columns", "Columns of a CSV…", "File", context.opener.choose_columns, (), table
        ),
        Command("file.last_session", "Reopen last session", "File", files.open_last, (), last),
        *export_commands(context),
        Command(
            "file.close_all",
            "&Close all",
            "File",
            context.close_guard.close_all,
            ("Ctrl+W",),
            something,
        ),
        Command("file.close_window", "Close &window", "File", shell.close, ("Ctrl+Shift+W",)),
        Command("file.quit", "&Quit", "File", shell.quit_requested.emit, ("Ctrl+Q",)),
    ]


def perfetto_ui_commands(context: CommandContext) -> list[Command]:
    """The command that opens the current files in the Perfetto UI."""
    return [
        Command(
            "file.perfetto_ui",
            "Open in Perfetto &UI",
            "File",
            context.perfetto_ui.open,
            enabled=open_profile(context.session),
        )
    ]


def export_commands(context: CommandContext) -> list[Command]:
    """The export commands."""
    session, exports = context.session, context.exports
    operators = Precondition(
        "an ETRecord or a source",
        lambda: _has_operators(session),
    )
    return [
        Command(
            "file.export",
            "&Export to Perfetto…",
            "File",
            exports.export_perfetto,
            ("Ctrl+E",),
            open_profile(session),
        ),
        Command(
            "file.export_table",
            "Export &table of slices…",
            "File",
            lambda: exports.export_rows("slices"),
            ("Ctrl+Shift+E",),
            open_profile(session),
        ),
        Command(
            "file.export_operators",
            "Export ta&ble of operators…",
            "File",
            lambda: exports.export_rows("operators"),
            (),
            operators,
        ),
        Command(
            "file.export_report",
            "Export &report…",
            "File",
            exports.export_report,
            (),
            open_profile(session),
        ),
        Command(
            "file.save_picture",
            "Export &image…",
            "File",
            exports.save_view,
            (),
            open_profile(session),
        ),
    ]


def _has_operators(session: Session) -> bool:
    """Whether the table of operators would have any row."""
    if session.traces:
        linked = (open_trace.table.program for open_trace in session.traces)
        return any(program is not None and program.operators for program in linked)
    return any(program.operators for program in session.workspace.programs)


def comparison_commands(context: CommandContext) -> list[Command]:
    """The commands for comparing files and inferences."""
    session = context.session
    compared = Precondition("a comparison", lambda: session.state.compared is not None)

    def toggle_tables() -> None:
        arms = session.state.compared
        if arms is not None:
            compare(session, replace(arms, in_tables=not arms.in_tables))

    def wording(title: str) -> str:
        return listed_unit(session).worded(title)

    def toggle_relative() -> None:
        arms = session.state.compared
        if arms is not None:
            compare(session, replace(arms, relative=not arms.relative))

    def answer() -> OpenComparison | None:
        return ComparisonFeed.of(session).answer

    def can_be_relative() -> bool:
        open_comparison = answer()
        return (
            open_comparison is not None
            and not open_comparison.problem
            and open_comparison.calls.can_be_relative
        )

    def toggle_stretch() -> None:
        if (open_comparison := answer()) is not None:
            stretch(session, open_comparison, is_on=not session.state.gaps)

    def reporting(action: Callable[[Session, OpenComparison], str]) -> Callable[[], None]:
        def act() -> None:
            if (open_comparison := answer()) is not None:
                context.shell.status.show_text(action(session, open_comparison))

        return act

    selected = Precondition(
        "a comparison and a selected slice",
        lambda: session.state.compared is not None and session.state.slice is not None,
    )

    def compare_others() -> None:
        compare_with_others(session)
        context.docks.show_panel("compare")

    return [
        Command(
            "compare.with",
            "Co&mpare with…",
            "File",
            context.comparing.choose,
            ("Ctrl+D",),
            enabled=open_profile(session),
            keywords="compare with diff baseline faster slower regression arm",
        ),
        Command(
            "compare.others",
            "Compare &inference with the others",
            "File",
            compare_others,
            enabled=Precondition(
                "a picked inference, and others", lambda: bool(other_inferences(session))
            ),
            group="Comparison",
            keywords="diff first slow cold warm-up",
            wording=wording,
        ),
        Command(
            "compare.swap",
            "Swap &A and B",
            "File",
            lambda: swap_arms(session),
            enabled=compared,
            group="Comparison",
            keywords="comparison arms",
        ),
        Command(
            "compare.in_tables",
            "Show changes in &tables",
            "File",
            toggle_tables,
            enabled=compared,
            checked=lambda: session.state.compared is not None and session.state.compared.in_tables,
            group="Comparison",
            keywords="comparison costs",
        ),
        Command(
            "compare.relative",
            "Times re&lative to the inference",
            "File",
            toggle_relative,
            enabled=Precondition("a comparison of inferences", can_be_relative),
            checked=lambda: session.state.compared is not None and session.state.compared.relative,
            group="Comparison",
            keywords="absolute common factor clock heat normalize",
            wording=wording,
        ),
        Command(
            "compare.stretch",
            "Stretch strips b&y pair",
            "File",
            toggle_stretch,
            enabled=Precondition(
                "the joined strips of two arms", lambda: not stretch_obstacle(session, answer())
            ),
            checked=lambda: bool(session.state.gaps),
            group="Comparison",
            keywords="align paired calls gaps timeline begin together",
        ),
        Command(
            "compare.pair",
            "&Pair selected slices",
            "File",
            reporting(pair_selected),
            enabled=selected,
            group="Comparison",
            keywords="match by hand join",
        ),
        Command(
            "compare.separate",
            "Separate pai&r",
            "File",
            reporting(separate_selected),
            enabled=selected,
            group="Comparison",
            keywords="unpair unmatch by hand",
        ),
        Command(
            "compare.end",
            "&End comparison",
            "File",
            lambda: compare(session, None),
            enabled=compared,
            group="Comparison",
            keywords="stop",
        ),
    ]
