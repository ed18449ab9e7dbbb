"""What each panel has to show for the open files; a panel itself is made later, when it is shown.

This module does not use Qt, and nothing that only a panel needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from viewer.gui.panels.base.panel_spec import Presence

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
    from viewer.analysis.torq.compiled import is_compiled

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
    from viewer.gui.session.numbers.references import has_values

    return Presence.open_if(any(has_values(open_trace.trace) for open_trace in session.traces))


def of_problems(session: Session) -> Presence:
    """The presence of the Problems panel."""
    from viewer.gui.session.feeds.problems import ProblemsFeed

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
