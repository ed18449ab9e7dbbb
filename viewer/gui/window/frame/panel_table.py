"""The list of all panels; its order is that of tabs, menus and commands.

To add a panel, write its folder below `viewer/gui/panels` with its `PANEL`, a page of the same name
in `resources/help`, and one line here. A folder with a `PAGE` alone is a page of a panel with
several, which is stated here. This module does not use Qt, because the first window needs the list
for its help.
"""

from __future__ import annotations

from viewer.gui.panels import (
    bookmarks,
    calls,
    compare,
    delegation,
    details,
    estimates,
    events,
    findings,
    graph,
    handle_map,
    links,
    memory,
    model,
    numbers,
    operators,
    problems,
    program,
    query,
    search,
    selection,
    sizes,
    source,
    statistics,
    summary,
    untimed,
)
from viewer.gui.panels.base.panel_spec import PanelArea, PanelGroup, PanelSpec, PanelTable

_BASE, _OPERATORS = "viewer.gui.panels.base", "viewer.gui.panels.operators"

PANELS = (
    summary.PANEL,
    compare.PANEL,
    details.PANEL,
    PanelSpec(
        "operators", "Operators", PanelArea.LEFT, PanelGroup.TIME,
        (operators.PAGE, statistics.PAGE, events.PAGE, untimed.PAGE),
        "Operators by", f"{_OPERATORS}.by_panel:OperatorsByPanel",
    ),
    calls.PANEL,
    query.PANEL,
    model.PANEL,
    graph.PANEL,
    PanelSpec(
        "delegation", "Delegation", PanelArea.LEFT, PanelGroup.MODEL,
        (delegation.PAGE, handle_map.PAGE), "Delegation as",
    ),
    estimates.PANEL,
    memory.PANEL,
    numbers.PANEL,
    PanelSpec(
        "program", "Program", PanelArea.LEFT, PanelGroup.MODEL,
        (sizes.PAGE, program.PAGE), "Program as",
    ),
    source.PANEL,
    PanelSpec(
        "checks", "Checks", PanelArea.RIGHT, PanelGroup.FILES,
        (findings.PAGE, problems.PAGE, links.PAGE),
        "Checks", f"{_BASE}.sections_panel:SectionsPanel",
    ),
    PanelSpec(
        "list", "List", PanelArea.RIGHT, PanelGroup.SELECTION,
        (search.PAGE, selection.PAGE, bookmarks.PAGE), "List of", follows=True,
    ),
)  # fmt: skip
TABLE = PanelTable(PANELS)
