"""The list of all panels, and what each has to show; its order is that of tabs, menus and commands.

To add a panel, write its module in `viewer/gui/panels`, a page of the same name in
`resources/help`, and its entry here. A panel of several pages has a switch, or shows them as
sections. A panel is made later, when it is shown. This module does not use Qt, nor anything that
only a panel needs, because the first window needs the list for its help.
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
    Presence,
    panel_of_page,
)

if TYPE_CHECKING:
    from viewer.gui.session.session import Session


def has_slices(session: Session) -> bool:
    """Whether a profile with slices is open."""
    return any(len(open_trace.trace.slices) for open_trace in session.traces)


def has_operators(session: Session) -> bool:
    """Whether a program with operators is open."""
    return any(program.methods for program in session.workspace.programs)


def _has_modules(session: Session) -> bool:
    programs = session.workspace.programs
    return any(program.methods and not program.text_lines for program in programs)


def open_with_slices(session: Session) -> Presence:
    """The presence of what shows slices."""
    return Presence.open_if(has_slices(session))


def listed_with_slices(session: Session) -> Presence:
    """The presence of what shows slices and opens on request only."""
    return Presence.available_if(has_slices(session))


def open_with_operators(session: Session) -> Presence:
    """The presence of what shows operators."""
    return Presence.open_if(has_operators(session))


def open_with_costs(session: Session) -> Presence:
    """The presence of what shows operators, or slices as such."""
    return Presence.open_if(has_operators(session) or has_slices(session))


def open_with_executables(session: Session) -> Presence:
    """The presence of what shows program files."""
    return Presence.open_if(bool(session.workspace.executables))


def open_without_record(session: Session) -> Presence:
    """The presence of what takes the place of Source while no profile is linked to a record."""
    programs = [open_trace.table.program for open_trace in session.traces]
    is_linked = any(program is not None and not program.is_recorded for program in programs)
    return listed_with_slices(session) if is_linked else open_with_slices(session)


def of_compare(session: Session) -> Presence:
    """The presence of the Compare panel."""
    has_traces = Presence.available_if(bool(session.traces))
    return Presence.open_if(session.state.compared is not None, has_traces)


def of_delegation(session: Session) -> Presence:
    """The presence of the Delegation panel."""
    return Presence.open_if(_has_modules(session), listed_with_slices(session))


def of_estimates(session: Session) -> Presence:
    """The presence of the Estimates panel."""
    from viewer.analysis.torq.measured_actions import is_compiled

    compiled = [is_compiled(open_trace.trace) for open_trace in session.traces]
    has_estimates = any(compiled) or any(p.dispatches for p in session.workspace.programs)
    return Presence.open_if(has_estimates and not all(compiled))


def of_handle_map(session: Session) -> Presence:
    """The presence of the Handle map."""
    from viewer.model.trace import KeyKind

    programs = (program for program in session.workspace.programs if program.methods)
    kinds = (open_trace.trace.keys.kind for open_trace in session.traces)
    has_identifiers = any((kind == KeyKind.DELEGATE_EVENT).any() for kind in kinds)
    return Presence.open_if(
        any(
            method_maps.is_filled
            for program in programs
            for method in program.methods
            for method_maps in method.delegates.values()
        ),
        Presence.available_if(has_identifiers),
    )


def of_links(session: Session) -> Presence:
    """The presence of the Links panel."""
    space = session.workspace
    return Presence.open_if(
        any(space.warnings(open_trace.file) for open_trace in session.traces),
        Presence.available_if(bool(session.traces and space.programs)),
    )


def of_model(session: Session) -> Presence:
    """The presence of the Model panel."""
    recorded = (open_trace.table.program for open_trace in session.traces)
    return Presence.open_if(
        _has_modules(session)
        or any(p is not None and p.is_recorded and p.module_paths for p in recorded)
    )


def of_numbers(session: Session) -> Presence:
    """The presence of the Numbers panel."""
    from viewer.gui.session.feeds.references import has_values

    return Presence.open_if(any(has_values(open_trace.trace) for open_trace in session.traces))


def of_problems(session: Session) -> Presence:
    """The presence of the Problems panel."""
    from viewer.gui.session.feeds.feed import ProblemsFeed

    return Presence.open_if(bool(ProblemsFeed.of(session).entries))


def of_query(session: Session) -> Presence:
    """The presence of the Query panel."""
    return Presence.available_if(has_slices(session) or bool(session.workspace.programs))


def of_source(session: Session) -> Presence:
    """The presence of the Source panel."""
    recorded = (open_trace.table.program for open_trace in session.traces)
    has_places = any(any(open_trace.trace.keys.location) for open_trace in session.traces)
    return Presence.open_if(
        has_operators(session)
        or any(p is not None and p.is_recorded and p.source_lines for p in recorded),
        Presence.available_if(has_places),
    )


def of_untimed(session: Session) -> Presence:
    """The presence of events without a time."""
    return Presence.open_if(any(len(open_trace.trace.untimed) for open_trace in session.traces))


def of_bookmarks(session: Session) -> Presence:
    """The presence of the list of bookmarks."""
    return Presence.open_if(bool(session.state.bookmarks))


def of_search(session: Session) -> Presence:
    """The presence of the list of matches."""
    return Presence.open_if(bool(session.state.query.strip()))


def of_selection(session: Session) -> Presence:
    """The presence of the statistics of what is selected."""
    return Presence.open_if(has_area(session) or len(session.state.others) > 0)


def has_area(session: Session) -> bool:
    """Whether an area is selected."""
    return session.state.area is not None


def has_selected(session: Session) -> bool:
    """Whether a slice or an operator is selected."""
    return session.state.slice is not None or session.state.operators is not None


_PANELS = "viewer.gui.panels"
_LEFT, _RIGHT, _SIDE = PanelArea.LEFT, PanelArea.RIGHT, PanelArea.SIDE
_TIME, _MODEL = PanelGroup.TIME, PanelGroup.MODEL
_ROWS = ("view.fit", "selection.area", LINE)


def _can_link(session: Session) -> bool:
    from viewer.gui.session.choices import inference_to_link

    return inference_to_link(session) is not None


PANELS = (
    panel_of_page(PageSpec("summary", "Summary", f"{_PANELS}.summary.panel:SummaryPanel"),
                  _SIDE, _TIME),
    panel_of_page(
        PageSpec("compare", "Compare", f"{_PANELS}.compare.panel:ComparePanel",
                 of_compare, in_view=True),
        _SIDE, _TIME,
    ),
    panel_of_page(
        PageSpec("details", "Details", f"{_PANELS}.details.panel:DetailsPanel",
                 is_called_up=has_selected),
        _SIDE, PanelGroup.SELECTION,
    ),
    PanelSpec(
        "operators", "Operators", _LEFT, _TIME,
        (
            PageSpec("operators", "Operators", f"{_PANELS}.operators:OperatorsPanel",
                     open_with_costs,
                     (*CHOSEN, "panel.source", "panel.graph", "panel.model")),
            PageSpec("statistics", "Statistics", f"{_PANELS}.statistics.panel:StatisticsPanel",
                     open_without_record, (*_ROWS, "panel.selection", "panel.details")),
            PageSpec("events", "Events", f"{_PANELS}.events:EventsPanel",
                     listed_with_slices, (*CHOSEN, "panel.source", "panel.graph")),
            PageSpec("untimed", "Untimed events", f"{_PANELS}.untimed:UntimedPanel",
                     of_untimed, ("panel.details",)),
        ),
        "Operators by", f"{_PANELS}.operators:OperatorsByPanel",
    ),
    panel_of_page(
        PageSpec("calls", "Calls", f"{_PANELS}.calls.panel:CallsPanel", open_with_slices,
                 (*_ROWS, "panel.selection", "panel.details", "panel.source")),
        _LEFT, _TIME,
    ),
    panel_of_page(
        PageSpec("query", "Query", f"{_PANELS}.query.panel:QueryPanel", of_query,
                 of_all=True),
        _LEFT, _TIME,
    ),
    panel_of_page(
        PageSpec("model", "Model", f"{_PANELS}.model.panel:ModelPanel", of_model,
                 (*CHOSEN, "panel.source", "panel.graph", "panel.operators")),
        _LEFT, _MODEL,
    ),
    panel_of_page(PageSpec("graph", "Graph", f"{_PANELS}.graph.panel:GraphPanel",
                           open_with_operators), _LEFT, _MODEL),
    PanelSpec(
        "delegation", "Delegation", _LEFT, _MODEL,
        (
            PageSpec("delegation", "Delegation", f"{_PANELS}.delegation.panel:DelegationPanel",
                     of_delegation, (*CHOSEN, "panel.source", "panel.links"),
                     choice="Report"),
            PageSpec("handle_map", "Handle map", f"{_PANELS}.handle_map:HandleMapPanel",
                     of_handle_map, (*CHOSEN, "panel.source")),
        ),
        "Delegation as",
    ),
    panel_of_page(
        PageSpec("estimates", "Estimates", f"{_PANELS}.estimates:EstimatesPanel",
                 of_estimates, CHOSEN, of_all=True),
        _LEFT, _TIME,
    ),
    panel_of_page(
        PageSpec("memory", "Memory", f"{_PANELS}.memory.panel:MemoryPanel",
                 open_with_executables,
                 (*CHOSEN, "panel.source", "panel.graph", "panel.program")),
        _LEFT, _MODEL,
    ),
    panel_of_page(
        PageSpec("numbers", "Numbers", f"{_PANELS}.numbers.panel:NumbersPanel", of_numbers,
                 (*CHOSEN, "panel.source", "panel.graph", "panel.untimed")),
        _LEFT, _MODEL,
    ),
    PanelSpec(
        "program", "Program", _LEFT, _MODEL,
        (
            PageSpec("sizes", "Sizes", f"{_PANELS}.sizes.panel:SizesPanel",
                     open_with_executables,
                     (*CHOSEN, "panel.source", "panel.graph", "panel.program"), choice="Treemap"),
            PageSpec("program", "Program", f"{_PANELS}.program:ProgramPanel",
                     open_with_executables, choice="Tree", leads=True),
        ),
        "Program as",
    ),
    panel_of_page(
        PageSpec("source", "Source", f"{_PANELS}.source.panel:SourcePanel", of_source,
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
                     open_without_record,
                     (*CHOSEN, "panel.operators", "panel.source", LINE, "mark.keep")),
            PageSpec("problems", "Problems", f"{_PANELS}.problems:ProblemsPanel",
                     of_problems, ("panel.links", "file.reload"), of_all=True,
                     counts=True),
            PageSpec("links", "Links", f"{_PANELS}.links:LinksPanel", of_links,
                     of_all=True, commands=(
                PanelCommand("selection.method", "Choose met&hod of this inference…", "Selection",
                             "choose_method",
                             "a slice of an inference whose ETRecord has several methods",
                             _can_link, after="selection.copy_name"),
            )),
        ),
        "Checks", f"{_PANELS}.base.multi_page_panel:SectionsPanel", has_sections=True,
    ),
    PanelSpec(
        "list", "List", _RIGHT, PanelGroup.SELECTION,
        (
            PageSpec("search", "Search", f"{_PANELS}.search:HitsPanel", of_search,
                     (*CHOSEN, "panel.source", "panel.graph", LINE, "mark.keep", "view.only_hits"),
                     in_view=True, counts=True, commands=(
                PanelCommand("search.list", "List &of matches", "Go", "list_matches",
                             "an open profile", lambda session: bool(session.traces),
                             ("Ctrl+Shift+F",), "search.previous"),
            )),
            PageSpec("selection", "Selection", f"{_PANELS}.selection:SelectionPanel",
                     of_selection,
                     ("view.fit", "selection.area", "selection.export", LINE, "mark.keep"),
                     in_view=True, counts=True, is_called_up=has_area, commands=(
                PanelCommand("selection.export", "&Export selection table…", "Selection", "export",
                             "statistics of a selection", "can_export", after="selection.method"),
            )),
            # The id is that of earlier versions, for their sessions and settings.
            PageSpec("marks", "Bookmarks", f"{_PANELS}.bookmarks:BookmarksPanel",
                     of_bookmarks, ("mark.fit", "mark.rename", "mark.remove"),
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
