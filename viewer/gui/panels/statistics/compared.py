"""The changes of groups between two arms, for the Statistics panel."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.analysis.comparison.rollups import LINE, MODULE, NAME, NODE, SET, TYPE
from viewer.gui.panels.base.operator_tables.compared import compared_contents
from viewer.gui.panels.base.operator_tables.contents import OperatorContents
from viewer.view.compared.open_comparison import OpenComparison

# The levels of a comparison by the keys of the panel; other keys show their own figures.
_LEVELS = {
    "operator": SET, "node": NODE, "type": TYPE, "module": MODULE, "line": LINE, "name": NAME,
}  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class GroupChanges:
    """The groups of a key in two arms as a table."""

    compared: OpenComparison
    level: str
    contents: OperatorContents

    @property
    def subtitle(self) -> str:
        """What the figures are."""
        return self.compared.subtitle


def level_of(found: OpenComparison | None, key: str) -> str:
    """Return the level that shows the changes by a key, "" if its own figures are shown."""
    level = _LEVELS.get(key, "")
    if found is None or not level:
        return ""
    is_linked = all(found.program(side) is not None for side in (0, 1))
    return level if is_linked or level == NAME else ""


def list_groups(found: OpenComparison, level: str, title: str) -> GroupChanges:
    """Return the changes of all groups of a level, the largest first."""
    return GroupChanges(found, level, compared_contents(found.at(level), title))
