"""The commands that open, compare, save, export and close files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from viewer.dataclasses import replace
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

_file = partial(Command, menu="File")
_comparison = partial(Command, menu="File", group="Comparison")


def file_commands(context: CommandContext) -> list[Command]:
    """The commands of the File menu, except the Perfetto UI."""
    files, shell = context.session_files, context.shell
    something = Precondition("an open file", lambda: not context.session.is_empty)
    table = Precondition("an open plain CSV", lambda: context.opener.can_choose_columns)
    last = Precondition("an earlier session", lambda: files.has_last)
    return [
        _file("file.new_window", "&New window", shell.new_window_requested.emit, ("Ctrl+N",)),
        _file("file.open", "&Open…", context.opener.open_dialog, ("Ctrl+O",)),
        _file("file.record", "Recor&d…", context.recordings.show),
        _file("file.save_session", "&Save session", files.save, ("Ctrl+S",), something),
        _file(
            "file.save_session_as", "Save session &as…", files.save_as, ("Ctrl+Shift+S",), something
        ),
        _file("file.reload", "Re&load files", files.reload, ("F5",), something),
        _file("file.columns", "Columns of a CSV…", context.opener.choose_columns, (), table),
        _file("file.last_session", "Reopen last session", files.open_last, (), last),
        *export_commands(context),
        _file(
            "file.close_all", "&Close all", context.close_guard.close_all, ("Ctrl+W",), something
        ),
        _file("file.close_window", "Close &window", shell.close, ("Ctrl+Shift+W",)),
        _file("file.quit", "&Quit", shell.quit_requested.emit, ("Ctrl+Q",)),
    ]


def perfetto_ui_commands(context: CommandContext) -> list[Command]:
    """The command that opens the current files in the Perfetto UI."""
    return [
        _file(
            "file.perfetto_ui",
            "Open in Perfetto &UI",
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
        _file(
            "file.export",
            "&Export to Perfetto…",
            exports.export_perfetto,
            ("Ctrl+E",),
            open_profile(session),
        ),
        _file(
            "file.export_table",
            "Export &table of slices…",
            lambda: exports.export_rows("slices"),
            ("Ctrl+Shift+E",),
            open_profile(session),
        ),
        _file(
            "file.export_operators",
            "Export ta&ble of operators…",
            lambda: exports.export_rows("operators"),
            (),
            operators,
        ),
        _file(
            "file.export_report",
            "Export &report…",
            exports.export_report,
            (),
            open_profile(session),
        ),
        _file("file.save_picture", "Export &image…", exports.save_view, (), open_profile(session)),
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
        if (arms := session.state.compared) is not None:
            compare(session, replace(arms, in_tables=not arms.in_tables))

    def wording(title: str) -> str:
        return listed_unit(session).worded(title)

    def toggle_relative() -> None:
        if (arms := session.state.compared) is not None:
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
        _file(
            "compare.with",
            "Co&mpare with…",
            context.comparing.choose,
            ("Ctrl+D",),
            enabled=open_profile(session),
            keywords="compare with diff baseline faster slower regression arm",
        ),
        _comparison(
            "compare.others",
            "Compare &inference with the others",
            compare_others,
            enabled=Precondition(
                "a picked inference, and others", lambda: bool(other_inferences(session))
            ),
            keywords="diff first slow cold warm-up",
            wording=wording,
        ),
        _comparison(
            "compare.swap",
            "Swap &A and B",
            lambda: swap_arms(session),
            enabled=compared,
            keywords="comparison arms",
        ),
        _comparison(
            "compare.in_tables",
            "Show changes in &tables",
            toggle_tables,
            enabled=compared,
            checked=lambda: session.state.compared is not None and session.state.compared.in_tables,
            keywords="comparison costs",
        ),
        _comparison(
            "compare.relative",
            "Times re&lative to the inference",
            toggle_relative,
            enabled=Precondition("a comparison of inferences", can_be_relative),
            checked=lambda: session.state.compared is not None and session.state.compared.relative,
            keywords="absolute common factor clock heat normalize",
            wording=wording,
        ),
        _comparison(
            "compare.stretch",
            "Stretch strips b&y pair",
            toggle_stretch,
            enabled=Precondition(
                "the joined strips of two arms", lambda: not stretch_obstacle(session, answer())
            ),
            checked=lambda: bool(session.state.gaps),
            keywords="align paired calls gaps timeline begin together",
        ),
        _comparison(
            "compare.pair",
            "&Pair selected slices",
            reporting(pair_selected),
            enabled=selected,
            keywords="match by hand join",
        ),
        _comparison(
            "compare.separate",
            "Separate pai&r",
            reporting(separate_selected),
            enabled=selected,
            keywords="unpair unmatch by hand",
        ),
        _comparison(
            "compare.end",
            "&End comparison",
            lambda: compare(session, None),
            enabled=compared,
            keywords="stop",
        ),
    ]
