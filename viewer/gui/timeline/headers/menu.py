"""The context menu of a track or process header."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu, QWidget

from viewer.gui.session import navigation
from viewer.gui.session.tracks import arrange_tracks
from viewer.gui.timeline.scene.row_heights import row_height, with_row_height
from viewer.gui.timeline.scene.scene import Scene
from viewer.render.arrangement import HIGHEST_ROW, LOWEST_ROW, TrackOrder, TrackView
from viewer.render.layout import ROW_HEIGHT, HeaderPart

# Named row heights in the menu; dragging allows any height between the first and the last.
HEIGHTS = (
    ("Lowest", LOWEST_ROW), ("Low", 18), ("Normal", ROW_HEIGHT), ("High", 44),
    ("Highest", HIGHEST_ROW),
)  # fmt: skip
SORTED = (
    ("As in the file", TrackOrder.FILE), ("By name", TrackOrder.NAME),
    ("By first slice", TrackOrder.TIME), ("Busiest first", TrackOrder.BUSY),
)  # fmt: skip

ZOOM = "Zoom to this file"


def header_menu(scene: Scene, part: HeaderPart | None, parent: QWidget) -> QMenu:
    """The context menu of a part; without a part, only the entries that apply to all headers."""
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    session = scene.session
    view = session.state.tracks

    def add(menu: QMenu, title: str, wanted: Callable[[TrackView], TrackView]) -> None:
        # Uses the view at the time of the choice, because things may change while the menu is open.
        menu.addAction(title, lambda: arrange_tracks(session, wanted(session.state.tracks)))

    if part is not None:
        track = scene.track_list.track_of(part)
        if track >= 0:
            pinnable = scene.track_list.part(track)
            title = "Unpin" if pinnable in view.pinned else "Pin on top"
            add(menu, title, lambda now: now.pinned_or_not(pinnable))
        add(menu, "Hide", lambda now: now.without(part))
        if scene.header_bands.can_fold(part):
            title = "Expand" if part in view.collapsed else "Collapse"
            add(menu, title, lambda now: now.toggled(part))
        add(menu, "Hide all others", lambda now: now.showing_only(scene.track_list, part))
        if len(session.traces) > 1:
            spec = scene.track_list.processes[scene.track_list.process_of(part)]
            menu.addAction(ZOOM, lambda: navigation.fit_file(session, spec.trace))
        menu.addSeparator()
    add(menu, "Show all", TrackView.with_all)
    menu.actions()[-1].setEnabled(bool(scene.missing_text))
    add(
        menu,
        "Collapse all",
        lambda now: replace(now, collapsed=now.collapsed | scene.header_bands.all_processes()),
    )
    add(menu, "Expand all", lambda now: replace(now, collapsed=frozenset()))
    menu.addSeparator()
    if part is not None:
        process = scene.track_list.processes[scene.track_list.process_of(part)].part
        heights = menu.addMenu("Row height")
        for name, height in HEIGHTS:
            add(
                heights,
                f"{name} ({height} px)",
                lambda _, height=height: with_row_height(scene, process, height),  # type: ignore[misc]
            )
            heights.actions()[-1].setCheckable(True)
            heights.actions()[-1].setChecked(row_height(scene, process) == height)
    orders = menu.addMenu("Sort")
    for name, order in SORTED:
        add(orders, name, lambda now, order=order: now.ordered(order))  # type: ignore[misc]
        orders.actions()[-1].setCheckable(True)
        orders.actions()[-1].setChecked(view.order is order)
    return menu
