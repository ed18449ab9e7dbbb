"""The commands that move the timeline as long as their key is down, and what dragging does.

A click in a menu or the palette goes one step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt

from viewer.gui.qt.commands.command_table import Command
from viewer.gui.session.preconditions import open_profile
from viewer.gui.timeline.held_keys import HeldAxis, HeldWay

if TYPE_CHECKING:
    from viewer.gui.window.controller import WindowController

# The menu in the View menu that they stand in.
MOVE_MENU = (
    "view.zoom_in", "view.zoom_out", "view.pan_left", "view.pan_right", "view.scroll_up",
    "view.scroll_down",
)  # fmt: skip


def motion_commands(desk: WindowController) -> list[Command]:
    """Zoom, pan and scroll by key."""
    view, session = desk.timeline.view, desk.session
    has_trace = open_profile(session)

    def moving(id: str, title: str, way: HeldWay, *keys: str) -> Command:
        def hold(key: Qt.Key) -> None:
            view.hold(key, way)

        return Command(
            id, title, "View", lambda: view.tap(way), keys, has_trace, hold=hold, group="Move"
        )

    return [
        moving("view.zoom_in", "Zoom &in", HeldWay(HeldAxis.ZOOM, -1), "W", "Ctrl+=", "Ctrl++"),
        moving("view.zoom_out", "Zoom &out", HeldWay(HeldAxis.ZOOM, 1), "S", "Ctrl+-"),
        moving("view.pan_left", "Move to &earlier", HeldWay(HeldAxis.PAN, -1), "A", "Left"),
        moving("view.pan_right", "Move to &later", HeldWay(HeldAxis.PAN, 1), "D", "Right"),
        moving("view.scroll_up", "Scroll tracks &up", HeldWay(HeldAxis.SCROLL, -1), "Up"),
        moving("view.scroll_down", "Scroll tracks &down", HeldWay(HeldAxis.SCROLL, 1), "Down"),
        Command(
            "view.drag_pans", "Dra&g to move, Shift+drag to select an area", "View",
            desk.toggle_drag_pans, checked=lambda: view.drag_pans,
        ),
    ]  # fmt: skip
