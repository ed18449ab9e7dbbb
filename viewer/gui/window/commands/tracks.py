"""The commands about tracks and several clocks.

Tracks can be hidden, moved and resized; clocks can be aligned, and their zooms tied.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from viewer.dataclasses import replace
from viewer.gui.qt.command_table import Command, Precondition
from viewer.gui.session import clocks as alignment
from viewer.gui.session import clocks as shared_clocks
from viewer.gui.session import navigation
from viewer.gui.session.choices import arrange_tracks, toggle_strip
from viewer.gui.session.navigation import fit_span
from viewer.gui.session.session import Session
from viewer.gui.timeline.scene.scene import row_height, with_row_height
from viewer.gui.timeline.track_headers import SORTED, moved_by
from viewer.gui.window.commands.menus import CommandContext, open_profile
from viewer.render.arrangement import TrackView
from viewer.render.layout import HeaderPart
from viewer.render.stacking import Density

_go = partial(Command, menu="Go")
_tracks = partial(Command, menu="Tracks")
_clocks = partial(Command, menu="View", group="Clocks")
_density = partial(Command, menu="View", group="Row density")

HEIGHT_STEP = 4  # px
NO_BLANK_TRACK = "Every track has slices in the visible range"


def track_commands(context: CommandContext) -> list[Command]:
    """The commands of the Tracks menu, and the one to go to the slices of a blank track."""
    session, timeline = context.session, context.timeline

    def part() -> HeaderPart | None:
        if (headed := timeline.headers.current) is not None:
            return headed
        ref = session.state.slice
        if ref is None:
            return None
        clock = session.groups.of(ref.trace).key
        if all(strip.scene.clock != clock for strip in timeline.strips):
            return None  # a comparison shows one profile of each arm
        return ref.trace, session.traces[ref.trace].trace.slices.track(ref.index)

    def track() -> tuple[int, int] | None:
        current = part()
        if current is None:
            return None
        track_list = timeline.scene_of(current[0]).track_list
        index = track_list.track_of(current)
        return track_list.part(index) if index >= 0 else None

    def view() -> TrackView:
        return session.state.tracks

    def change(make: Callable[[HeaderPart], TrackView]) -> Callable[[], None]:
        def run() -> None:
            if (current := part()) is not None:
                arrange_tracks(session, make(current))

        return run

    def pin() -> None:
        if (current := track()) is not None:
            arrange_tracks(session, view().pinned_or_not(current))

    def grow(by: int) -> Callable[[], None]:
        def make(about: HeaderPart) -> TrackView:
            scene = timeline.scene_of(about[0])
            process = scene.track_list.processes[scene.track_list.process_of(about)].part
            return with_row_height(scene, process, row_height(scene, process) + by)

        return change(make)

    def go_to_nearest() -> None:
        """Go to the slices nearest to the view in a blank track of the active clock."""
        blanks, current = timeline.view.frames.edge_chips.blanks, track()
        if current is not None and current[0] not in session.group.traces:
            current = None
        span = blanks.nearest_span(timeline.view.canvas, current)
        if span is not None:
            fit_span(session, *span)
        else:
            context.shell.status.show_text(NO_BLANK_TRACK)

    def filter_tracks() -> None:
        field = timeline.corner.filter
        field.setFocus()
        field.selectAll()

    has_part = Precondition(
        "a track or process under the mouse or with the selected slice", lambda: part() is not None
    )
    has_track = Precondition(
        "a track under the mouse or with the selected slice", lambda: track() is not None
    )
    has_tracks = open_profile(session)

    def can_fold() -> bool:
        current = part()
        return current is not None and timeline.scene_of(current[0]).header_bands.can_fold(current)

    def is_folded() -> bool:
        return part() in view().collapsed

    return [
        _go(
            "go.nearest_slices",
            "Go to nearest sl&ices",
            go_to_nearest,
            enabled=has_tracks,
            keywords="blank empty track chip",
        ),
        _tracks("tracks.filter", "&Filter tracks", filter_tracks, ("T",), has_tracks),
        _tracks(
            "tracks.pin",
            "&Pin this track on top",
            pin,
            ("Ctrl+P",),
            has_track,
            lambda: track() in view().pinned,
        ),
        _tracks(
            "tracks.hide",
            "&Hide this track",
            change(lambda about: view().without(about)),
            ("Shift+T",),
            has_part,
        ),
        _tracks(
            "tracks.only",
            "Hide all &others",
            change(
                lambda about: view().showing_only(timeline.scene_of(about[0]).track_list, about)
            ),
            (),
            has_part,
        ),
        _tracks(
            "tracks.show_all",
            "&Show all",
            lambda: arrange_tracks(session, view().with_all()),
            ("Ctrl+Shift+T",),
            Precondition("hidden or filtered tracks", lambda: bool(timeline.missing_text)),
        ),
        _tracks(
            "tracks.up",
            "Move &up",
            change(lambda about: moved_by(timeline.scene_of(about[0]), about, -1)),
            ("Alt+Up",),
            has_part,
        ),
        _tracks(
            "tracks.down",
            "Move &down",
            change(lambda about: moved_by(timeline.scene_of(about[0]), about, 1)),
            ("Alt+Down",),
            has_part,
        ),
        *(
            _tracks(
                f"tracks.sort_{order.name.lower()}",
                f"Sort: {name[0].lower()}{name[1:]}",
                lambda order=order: arrange_tracks(session, view().ordered(order)),  # type: ignore[misc]
                (),
                has_tracks,
                lambda order=order: view().order is order,  # type: ignore[misc]
            )
            for name, order in SORTED
        ),
        _tracks(
            "tracks.fold",
            "&Collapse",
            change(lambda about: view().toggled(about)),
            (),
            Precondition("a track or process that can be collapsed", can_fold),
            is_folded,
        ),
        _tracks(
            "tracks.collapse_all",
            "Collapse all p&rocesses",
            lambda: arrange_tracks(session, replace(view(), collapsed=timeline.all_processes())),
            ("Ctrl+Up",),
            has_tracks,
        ),
        _tracks(
            "tracks.expand_all",
            "&Expand all",
            lambda: arrange_tracks(session, replace(view(), collapsed=frozenset())),
            ("Ctrl+Down",),
            has_tracks,
        ),
        _tracks(
            "tracks.taller", "&Increase row height", grow(HEIGHT_STEP), ("Ctrl+Shift+Up",), has_part
        ),
        _tracks(
            "tracks.lower",
            "Decrease ro&w height",
            grow(-HEIGHT_STEP),
            ("Ctrl+Shift+Down",),
            has_part,
        ),
        _tracks(
            "tracks.reset_heights",
            "Reset row hei&ghts",
            lambda: arrange_tracks(session, replace(view(), heights=())),
            (),
            Precondition("rows with a changed height", lambda: bool(view().heights)),
        ),
        *(
            _density(
                f"view.density_{density.value}",
                title,
                lambda density=density: context.view_settings.set_density(density),  # type: ignore[misc]
                checked=lambda density=density: timeline.density is density,  # type: ignore[misc]
                keywords="row height compact",
            )
            for density, title in (
                (Density.COMFORTABLE, "&Comfortable"),
                (Density.COMPACT, "Com&pact"),
                (Density.AUTOMATIC, "&Automatic: compact above eight levels"),
            )
        ),
    ]


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
        return _clocks(
            id,
            title,
            lambda: status.show_text(action(session)),
            (),
            enabled,
            checked,
            keywords=keywords,
        )

    def step(id: str, title: str, by: int, key: str) -> Command:
        return _clocks(
            id,
            title,
            lambda: navigation.step_clock(session, by),
            (key,),
            two,
            keywords="strip file",
        )

    def toggle_lock(session: Session) -> str:
        locked = alignment.are_zooms_locked(session)
        return alignment.release_ties(session) if locked else alignment.lock_zooms(session)

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
            alignment.release_ties,
            unless("aligned clocks or locked zooms", alignment.release_obstacle),
            "release unlock",
        ),
        step("clocks.next", "&Next clock", 1, "Ctrl+PgDown"),
        step("clocks.previous", "&Previous clock", -1, "Ctrl+PgUp"),
        _clocks(
            "clocks.collapse",
            "&Collapse clock",
            lambda: toggle_strip(session, session.group.key),
            enabled=two,
            checked=lambda: session.group.key in session.state.strips.collapsed,
            keywords="strip expand fold",
        ),
    ]
