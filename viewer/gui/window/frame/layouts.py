"""What a file opens with: which panels are where and in front, by what it holds. No Qt.

This table alone decides, not what was opened before. What users arrange is a `SavedPanels`: it is
stored with their session, and for all files only if they make it their default. The layouts of the
View menu have the same form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from viewer.gui.panels.base.panel_spec import PanelArea
from viewer.view.sessions.session_file import SavedPanels

_LEFT, _RIGHT = PanelArea.LEFT, PanelArea.RIGHT


@dataclass(frozen=True, slots=True)
class Home:
    """Where files of a kind start.

    front: the panels in front of their areas; narrow: those where the side panels are tabs of the
    left half. moved: the areas of panels that are elsewhere than in other files.
    """

    front: tuple[str, ...]
    narrow: tuple[str, ...]
    moved: Mapping[str, PanelArea] = field(default_factory=dict)


# Of a narrow window the answer is in view, and what it is about beside it.
WITH_SOURCE = Home(("operators", "source", "summary"), ("summary", "source"))
# The right half has no source lines, so it has the flame graph.
WITHOUT_SOURCE = Home(("operators", "calls", "summary"), ("summary", "calls"), {"calls": _RIGHT})
WITHOUT_TIMES = Home(("operators", "source", "summary"), ("operators", "source"))

DEFAULT = SavedPanels()
ONLY_TIMELINE = SavedPanels(hidden=tuple(area.name.lower() for area in PanelArea))
SOURCE = SavedPanels(
    recent=("operators", "source"), hidden=(PanelArea.SIDE.name.lower(),), sizes=(372, 380, 620)
)
COMPARE = SavedPanels(opened=("compare",), recent=("operators", "compare"), sizes=(520, 530, 450))


def layout_text(panels: SavedPanels) -> str:
    """Return a layout as the settings store it."""
    return msgspec.json.encode(panels).decode()


def stored_layout(text: str) -> SavedPanels:
    """Return the layout that a text of the settings states, `DEFAULT` if it states none."""
    try:
        return msgspec.json.decode(text.encode("utf-8", "replace"), type=SavedPanels)
    except msgspec.MsgspecError:
        return DEFAULT
