"""The list of all panels; its order is that of tabs, menus and commands.

To add a panel, write its folder below `viewer/gui/panels`, a page of the same name in
`resources/help`, and its entry here. A panel of several pages has a switch, or shows them as
sections. This module does not use Qt, because the first window needs the list for its help.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from viewer.gui.panels.base.panel_spec import (
    CHOSEN,
    LINE,
    PageSpec,
    PanelArea,
    PanelCommand,
    PanelGroup,
    PanelSpec,
    PanelTable,
    panel_of_page,
)
from viewer.gui.window.frame import panel_presence as presence

if TYPE_CHECKING:
    from viewer.gui.session.session import Session

_PANELS = "viewer.gui.panels"
_LEFT, _RIGHT, _SIDE = PanelArea.LEFT, PanelArea.RIGHT, PanelArea.SIDE
_TIME, _MODEL = PanelGroup.TIME, PanelGroup.MODEL
_ROWS = ("view.fit", "selection.area", LINE)


def _can_link(session: Session) -> bool:
    from viewer.gui.session.linking import inference_to_link

    return inference_to_link(session) is not None


PANELS = (
    panel_of_page(PageSpec("summary", "Summary", f"{_PANELS}.summary.panel:SummaryPanel"),
                  _SIDE, _TIME),
    panel_of_page(
        PageSpec("compare", "Compare", f"{_PANELS}.compare.panel:ComparePanel",
                 presence.of_compare, in_view=True),
        _SIDE, _TIME,
    ),
    panel_of_page(
        PageSpec("details", "Details", f"{_PANELS}.details.panel:DetailsPanel",
                 is_called_up=presence.has_selected),
        _SIDE, PanelGroup.SELECTION,
    ),
    PanelSpec(
        "operators", "Operators", _LEFT, _TIME,
        (
            PageSpec("operators", "Operators", f"{_PANELS}.operators.panel:OperatorsPanel",
                     presence.open_with_costs,
                     (*CHOSEN, "panel.source", "panel.graph", "panel.model")),
            PageSpec("statistics", "Statistics", f"{_PANELS}.statistics.panel:StatisticsPanel",
                     presence.open_without_record, (*_ROWS, "panel.selection", "panel.details")),
            PageSpec("events", "Events", f"{_PANELS}.events.panel:EventsPanel",
                     presence.listed_with_slices, (*CHOSEN, "panel.source", "panel.graph")),
            PageSpec("untimed", "Untimed events", f"{_PANELS}.untimed.panel:UntimedPanel",
                     presence.of_untimed, ("panel.details",)),
        ),
        "Operators by", f"{_PANELS}.operators.by_panel:OperatorsByPanel",
    ),
    panel_of_page(
        PageSpec("calls", "Calls", f"{_PANELS}.calls.panel:CallsPanel", presence.open_with_slices,
                 (*_ROWS, "panel.selection", "panel.details", "panel.source")),
        _LEFT, _TIME,
    ),
    panel_of_page(
        PageSpec("query", "Query", f"{_PANELS}.query.panel:QueryPanel", presence.of_query,
                 of_all=True),
        _LEFT, _TIME,
    ),
    panel_of_page(
        PageSpec("model", "Model", f"{_PANELS}.model.panel:ModelPanel", presence.of_model,
                 (*CHOSEN, "panel.source", "panel.graph", "panel.operators")),
        _LEFT, _MODEL,
    ),
    panel_of_page(PageSpec("graph", "Graph", f"{_PANELS}.graph.panel:GraphPanel",
                           presence.open_with_operators), _LEFT, _MODEL),
    PanelSpec(
        "delegation", "Delegation", _LEFT, _MODEL,
        (
            PageSpec("delegation", "Delegation", f"{_PANELS}.delegation.panel:DelegationPanel",
                     presence.of_delegation, (*CHOSEN, "panel.source", "panel.links"),
                     choice="Report"),
            PageSpec("handle_map", "Handle map", f"{_PANELS}.handle_map.panel:HandleMapPanel",
                     presence.of_handle_map, (*CHOSEN, "panel.source")),
        ),
        "Delegation as",
    ),
    panel_of_page(
        PageSpec("estimates", "Estimates", f"{_PANELS}.estimates.panel:EstimatesPanel",
                 presence.of_estimates, CHOSEN, of_all=True),
        _LEFT, _TIME,
    ),
    panel_of_page(
        PageSpec("memory", "Memory", f"{_PANELS}.memory.panel:MemoryPanel",
                 presence.open_with_executables,
                 (*CHOSEN, "panel.source", "panel.graph", "panel.program")),
        _LEFT, _MODEL,
    ),
    panel_of_page(
        PageSpec("numbers", "Numbers", f"{_PANELS}.numbers.panel:NumbersPanel", presence.of_numbers,
                 (*CHOSEN, "panel.source", "panel.graph", "panel.untimed")),
        _LEFT, _MODEL,
    ),
    PanelSpec(
        "program", "Program", _LEFT, _MODEL,
        (
            PageSpec("sizes", "Sizes", f"{_PANELS}.sizes.panel:SizesPanel",
                     presence.open_with_executables,
                     (*CHOSEN, "panel.source", "panel.graph", "panel.program"), choice="Treemap"),
            PageSpec("program", "Program", f"{_PANELS}.program.panel:ProgramPanel",
                     presence.open_with_executables, choice="Tree", leads=True),
        ),
        "Program as",
    ),
    panel_of_page(
        PageSpec("source", "Source", f"{_PANELS}.source.panel:SourcePanel", presence.of_source,
                 ("edit.source",), commands=(
            PanelCommand("edit.source", "Open source line in &editor", "Edit", "edit_shown",
                         "a file in the Source panel", "can_edit", ("F4",), repeats=False,
                         keywords="code file external"),
        )),
        _RIGHT, _MODEL,
    ),
    PanelSpec(
        "checks", "Checks", _RIGHT, PanelGroup.FILES,
        (
            PageSpec("findings", "Findings", f"{_PANELS}.findings.panel:FindingsPanel",
                     presence.open_without_record,
                     (*CHOSEN, "panel.operators", "panel.source", LINE, "mark.keep")),
            PageSpec("problems", "Problems", f"{_PANELS}.problems.panel:ProblemsPanel",
                     presence.of_problems, ("panel.links", "file.reload"), of_all=True,
                     counts=True),
            PageSpec("links", "Links", f"{_PANELS}.links.panel:LinksPanel", presence.of_links,
                     of_all=True, commands=(
                PanelCommand("selection.method", "Choose met&hod of this inference…", "Selection",
                             "choose_method",
                             "a slice of an inference whose ETRecord has several methods",
                             _can_link, after="selection.copy_name"),
            )),
        ),
        "Checks", f"{_PANELS}.base.sections_panel:SectionsPanel", has_sections=True,
    ),
    PanelSpec(
        "list", "List", _RIGHT, PanelGroup.SELECTION,
        (
            PageSpec("search", "Search", f"{_PANELS}.search.panel:HitsPanel", presence.of_search,
                     (*CHOSEN, "panel.source", "panel.graph", LINE, "mark.keep", "view.only_hits"),
                     in_view=True, counts=True, commands=(
                PanelCommand("search.list", "List &of matches", "Go", "list_matches",
                             "an open profile", lambda session: bool(session.traces),
                             ("Ctrl+Shift+F",), "search.previous"),
            )),
            PageSpec("selection", "Selection", f"{_PANELS}.selection.panel:SelectionPanel",
                     presence.of_selection,
                     ("view.fit", "selection.area", "selection.export", LINE, "mark.keep"),
                     in_view=True, counts=True, is_called_up=presence.has_area, commands=(
                PanelCommand("selection.export", "&Export selection table…", "Selection", "export",
                             "statistics of a selection", "can_export", after="selection.method"),
            )),
            # The id is that of earlier versions, for their sessions and settings.
            PageSpec("marks", "Bookmarks", f"{_PANELS}.bookmarks.panel:BookmarksPanel",
                     presence.of_bookmarks, ("mark.fit", "mark.rename", "mark.remove"),
                     in_view=True, commands=(
                PanelCommand("mark.rename", "&Rename bookmark…", "Selection", "rename_current",
                             "a current bookmark",
                             lambda session: session.state.mark is not None, ("F2",),
                             "mark.keep"),
            )),
        ),
        "List of", follows=True,
    ),
)  # fmt: skip
TABLE = PanelTable(PANELS)
