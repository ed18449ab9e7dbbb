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
    two = Precondition("files with two clocks", lambda: not alignment.tie_obstacle(session))

    def toggle_lock(session: Session) -> str:
        locked = alignment.are_zooms_locked(session)
        return alignment.release(session) if locked else alignment.lock_zooms(session)

    def reporting(action: Callable[[Session], str]) -> Callable[[], None]:
        return lambda: status.show_text(action(session))

    return [
        Command(
            "clocks.align_run",
            "Align at run &start",
            "View",
            reporting(alignment.align_at_run),
            enabled=Precondition(
                "inferences on two clocks, as they ran", lambda: not alignment.run_obstacle(session)
            ),
            group="Clocks",
            keywords="inference compare same moment",
        ),
        Command(
            "clocks.align_operator",
            "Align at selected &operator",
            "View",
            reporting(alignment.align_at_operator),
            enabled=Precondition(
                "a selected slice, and files with two clocks",
                lambda: not alignment.operator_obstacle(session),
            ),
            group="Clocks",
            keywords="slice compare",
        ),
        Command(
            "clocks.align_marks",
            "Align at &bookmarks",
            "View",
            reporting(alignment.align_at_bookmarks),
            enabled=Precondition(
                "bookmarks on two clocks", lambda: not alignment.bookmark_obstacle(session)
            ),
            group="Clocks",
        ),
        Command(
            "clocks.share_stated",
            "Put on one axis by time of &day",
            "View",
            reporting(shared_clocks.share_stated),
            enabled=Precondition(
                "files on several clocks that state the time of day, as they ran",
                lambda: not shared_clocks.stated_obstacle(session),
            ),
            group="Clocks",
            keywords="same clock rank base time epoch",
        ),
        Command(
            "clocks.share",
            "Same cloc&k as the strip above",
            "View",
            reporting(shared_clocks.share),
            enabled=Precondition(
                "files with two clocks, as they ran",
                lambda: not shared_clocks.share_obstacle(session),
            ),
            group="Clocks",
            keywords="share one axis join",
        ),
        Command(
            "clocks.separate",
            "Separate clocks a&gain",
            "View",
            reporting(shared_clocks.separate),
            enabled=Precondition(
                "files that you put on one axis",
                lambda: not shared_clocks.separate_obstacle(session),
            ),
            group="Clocks",
            keywords="own axis split",
        ),
        Command(
            "clocks.same_scale",
            "Sa&me scale on all clocks",
            "View",
            reporting(alignment.use_same_scale),
            enabled=two,
            group="Clocks",
            keywords="zoom duration compare",
        ),
        Command(
            "clocks.lock_zooms",
            "&Lock zooms",
            "View",
            reporting(toggle_lock),
            enabled=two,
            checked=lambda: alignment.are_zooms_locked(session),
            group="Clocks",
            keywords="together tie",
        ),
        Command(
            "clocks.release",
            "&Remove alignment",
            "View",
            reporting(alignment.release),
            enabled=Precondition(
                "aligned clocks or locked zooms", lambda: not alignment.release_obstacle(session)
            ),
            group="Clocks",
            keywords="release unlock",
        ),
        Command(
            "clocks.next",
            "&Next clock",
            "View",
            lambda: navigation.step_clock(session, 1),
            ("Ctrl+PgDown",),
            two,
            group="Clocks",
            keywords="strip file",
        ),
        Command(
            "clocks.previous",
            "&Previous clock",
            "View",
            lambda: navigation.step_clock(session, -1),
            ("Ctrl+PgUp",),
            two,
            group="Clocks",
            keywords="strip file",
        ),
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
