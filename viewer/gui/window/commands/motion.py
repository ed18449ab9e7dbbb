"""The commands that move the timeline while their key is down, and what dragging does.

From a menu or the palette, they move by one step.
"""

from __future__ import annotations

from PySide6.QtCore import Qt

from viewer.gui.qt.commands.command_table import Command
from viewer.gui.timeline.held_keys import HeldAxis, HeldWay
from viewer.gui.window.commands.context import CommandContext
from viewer.gui.window.commands.preconditions import open_profile


def motion_commands(context: CommandContext) -> list[Command]:
    """The commands to zoom, pan and scroll, and the toggle for dragging."""
    timeline, view_settings = context.timeline, context.view_settings
    has_trace = open_profile(context.session)

    def moving(id: str, title: str, way: HeldWay, *keys: str) -> Command:
        def hold(key: Qt.Key) -> None:
            timeline.view.hold(key, way)

        return Command(
            id,
            title,
            "View",
            lambda: timeline.view.tap(way),
            keys,
            has_trace,
            hold=hold,
            group="Move",
        )

    return [
        moving("view.zoom_in", "Zoom &in", HeldWay(HeldAxis.ZOOM, -1), "W", "Ctrl+=", "Ctrl++"),
        moving("view.zoom_out", "Zoom &out", HeldWay(HeldAxis.ZOOM, 1), "S", "Ctrl+-"),
        moving("view.pan_left", "Pan &left", HeldWay(HeldAxis.PAN, -1), "A", "Left"),
        moving("view.pan_right", "Pan &right", HeldWay(HeldAxis.PAN, 1), "D", "Right"),
        moving("view.scroll_up", "Scroll tracks &up", HeldWay(HeldAxis.SCROLL, -1), "Up"),
        moving("view.scroll_down", "Scroll tracks &down", HeldWay(HeldAxis.SCROLL, 1), "Down"),
        Command(
            "view.drag_pans",
            "Dra&g to pan (Shift+drag selects)",
            "View",
            view_settings.toggle_drag_pans,
            checked=lambda: view_settings.drag_pans,
        ),
    ]
