"""The changes of groups between two arms, for the Statistics panel."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.analysis.comparison.arms import DELEGATE, LEVELS_OF_CALLS
from viewer.analysis.comparison.rollups import LINE, MODULE, NAME, NODE, SET, TYPE, UNIT
from viewer.analysis.torq.identities import LOCATION
from viewer.gui.panels.base.operator_tables.compared import compared_contents
from viewer.gui.panels.base.operator_tables.contents import OperatorContents
from viewer.view.compared.open_comparison import OpenComparison

# The levels of a comparison by the keys of the panel. Threads and inferences of two files do not
# belong together.
_LEVELS = {
    "operator": SET, "node": NODE, "type": TYPE, "module": MODULE, "line": LINE, "name": NAME,
    "unit": UNIT, "location": LOCATION, "delegate": DELEGATE,
}  # fmt: skip
# Levels that need no program.
_WITHOUT_PROGRAM = (NAME, UNIT, LOCATION)
# Above the table, after what its figures are.
_OVERLAPPING = "units overlap"


@dataclass(frozen=True, eq=False, slots=True)
class GroupChanges:
    """The groups of a key in two arms as a table."""

    compared: OpenComparison
    level: str
    contents: OperatorContents

    @property
    def subtitle(self) -> str:
        """What the figures are."""
        text = self.compared.subtitle
        return f"{text} · {_OVERLAPPING}" if self.level == UNIT else text


def level_of(found: OpenComparison | None, key: str) -> str:
    """Return the level that shows the changes by a key, "" if one profile's figures are shown."""
    level = _LEVELS.get(key, "")
    if found is None or not level:
        return ""
    if level == DELEGATE:
        return level if found.calls.a.level in LEVELS_OF_CALLS else ""
    is_linked = all(found.program(side) is not None for side in (0, 1))
    return level if is_linked or level in _WITHOUT_PROGRAM else ""


def not_compared(found: OpenComparison, path: str) -> str:
    """Return that figures are those of one profile: "A only", "not compared" if it is in no arm."""
    side = found.side_of(path)
    return "not compared" if side is None else f"{'AB'[side]} only"


def list_groups(found: OpenComparison, level: str, title: str) -> GroupChanges:
    """Return the changes of all groups of a level, the largest first."""
    return GroupChanges(found, level, compared_contents(found.at(level), title))
