"""The commands about several clocks: aligning them, tying their zooms, and their strips."""

from __future__ import annotations

from collections.abc import Callable

from viewer.gui.qt.commands.command_table import Command, Precondition
from viewer.gui.session import alignment, navigation, shared_clocks
from viewer.gui.session.session import Session
from viewer.gui.session.tracks import toggle_strip
from viewer.gui.window.commands.context import CommandContext


def alignment_commands(context: CommandContext) -> list[Command]:
    """The commands of the menu Clocks; their results are in the status bar."""
    session, status = context.session, context.shell.status

    def unless(need: str, obstacle: Callable[[Session], object]) -> Precondition:
        return Precondition(need, lambda: not obstacle(session))

    def act(
        id: str,
        title: str,
        action: Callable[[Session], str],
        enabled: Precondition,
        keywords: str = "",
        checked: Callable[[], bool] | None = None,
    ) -> Command:
        return Command(
            id, title, "View", lambda: status.show_text(action(session)), (), enabled, checked,
            group="Clocks", keywords=keywords,
        )  # fmt: skip

    def step(id: str, title: str, by: int, key: str) -> Command:
        return Command(
            id, title, "View", lambda: navigation.step_clock(session, by), (key,), two,
            group="Clocks", keywords="strip file",
        )  # fmt: skip

    def toggle_lock(session: Session) -> str:
        locked = alignment.are_zooms_locked(session)
        return alignment.release(session) if locked else alignment.lock_zooms(session)

    two = unless("files with two clocks", alignment.tie_obstacle)
    return [
        act(
            "clocks.align_run",
            "Align at run &start",
            alignment.align_at_run,
            unless("inferences on two clocks, as they ran", alignment.run_obstacle),
            "inference compare same moment",
        ),
        act(
            "clocks.align_operator",
            "Align at selected &operator",
            alignment.align_at_operator,
            unless("a selected slice, and files with two clocks", alignment.operator_obstacle),
            "slice compare",
        ),
        act(
            "clocks.align_marks",
            "Align at &bookmarks",
            alignment.align_at_bookmarks,
            unless("bookmarks on two clocks", alignment.bookmark_obstacle),
        ),
        act(
            "clocks.share_stated",
            "Put on one axis by time of &day",
            shared_clocks.share_stated,
            unless(
                "files on several clocks that state the time of day, as they ran",
                shared_clocks.stated_obstacle,
            ),
            "same clock rank base time epoch",
        ),
        act(
            "clocks.share",
            "Same cloc&k as the strip above",
            shared_clocks.share,
            unless("files with two clocks, as they ran", shared_clocks.share_obstacle),
            "share one axis join",
        ),
        act(
            "clocks.separate",
            "Separate clocks a&gain",
            shared_clocks.separate,
            unless("files that you put on one axis", shared_clocks.separate_obstacle),
            "own axis split",
        ),
        act(
            "clocks.same_scale",
            "Sa&me scale on all clocks",
            alignment.use_same_scale,
            two,
            "zoom duration compare",
        ),
        act(
            "clocks.lock_zooms",
            "&Lock zooms",
            toggle_lock,
            two,
            "together tie",
            lambda: alignment.are_zooms_locked(session),
        ),
        act(
            "clocks.release",
            "&Remove alignment",
            alignment.release,
            unless("aligned clocks or locked zooms", alignment.release_obstacle),
            "release unlock",
        ),
        step("clocks.next", "&Next clock", 1, "Ctrl+PgDown"),
        step("clocks.previous", "&Previous clock", -1, "Ctrl+PgUp"),
        Command(
            "clocks.collapse",
            "&Collapse clock",
            "View",
            lambda: toggle_strip(session, session.group.key),
            enabled=two,
            checked=lambda: session.group.key in session.state.strips.collapsed,
            group="Clocks",
            keywords="strip expand fold",
        ),
    ]
