"""Which panels have something to show for what is open, and which of them open by themselves.

Few tabs are enough for most files: Operators, Calls, Model, Graph, Delegation, Source, and Summary
with Details. What needs an ETRecord or a source has no tab until there is one. Findings and
Statistics then are in the menu at the end of the tabs; without a record they open in the place of
Source.
"""

from __future__ import annotations

import enum

from viewer.analysis.torq.compiled import is_compiled
from viewer.gui.session.numbers.references import has_values
from viewer.gui.session.session import Session
from viewer.gui.window.frame.panel_table import PAGES
from viewer.model.trace import KeyKind
from viewer.program.program import Program


class Presence(enum.Enum):
    """What a panel has to show."""

    NOTHING = enum.auto()  # it would be empty
    AVAILABLE = enum.auto()  # it has something, and is listed in the menu of its area
    OPEN = enum.auto()  # it has something, and opens by itself


def presence_in_files(session: Session, problems: int) -> dict[str, Presence]:
    """The presence of every panel for the open files; problems: how many there are."""
    if session.is_empty:
        return dict.fromkeys(PAGES, Presence.NOTHING)
    space = session.workspace
    traces = [shown.trace for shown in session.traces]
    programs = [program for program in space.programs if program.methods]
    recorded = [p for shown in session.traces if (p := shown.table.program) and p.is_recorded]
    has_slices = any(len(trace.slices) for trace in traces)
    in_profile = _if_available(has_slices)
    is_linked = any(
        shown.table.program is not None and not shown.table.program.is_recorded
        for shown in session.traces
    )
    without_record = in_profile if is_linked else _open_if(has_slices)
    has_estimates = any(map(is_compiled, traces)) or any(p.dispatches for p in space.programs)
    has_places = any(any(trace.keys.location) for trace in traces)
    has_identifiers = any((trace.keys.kind == KeyKind.DELEGATE_EVENT).any() for trace in traces)
    links = _if_available(bool(traces and space.programs))
    return dict.fromkeys(PAGES, Presence.OPEN) | {
        "operators": _open_if(bool(programs) or has_slices),
        "calls": _open_if(has_slices),
        "model": _open_if(
            any(not program.text_lines for program in programs)
            or any(program.module_paths for program in recorded)
        ),
        "graph": _open_if(bool(programs)),
        "delegation": _open_if(any(not p.text_lines for p in programs), in_profile),
        "estimates": _open_if(has_estimates and any(not is_compiled(t) for t in traces)),
        "handle_map": _open_if(any(map(_has_maps, programs)), _if_available(has_identifiers)),
        "memory": _open_if(bool(space.executables)),
        "sizes": _open_if(bool(space.executables)),
        "numbers": _open_if(any(map(has_values, traces))),
        "program": _open_if(bool(space.executables)),
        "events": in_profile,
        "untimed": _open_if(any(len(trace.untimed) for trace in traces)),
        "source": _open_if(
            bool(programs) or any(program.source_lines for program in recorded),
            _if_available(has_places),
        ),
        "findings": without_record,
        "statistics": without_record,
        "links": _open_if(any(space.warnings(shown.file) for shown in session.traces), links),
        "problems": _open_if(problems > 0),
    }


def presence_in_view(session: Session) -> dict[str, Presence]:
    """The presence of the panels that show what is searched, selected and bookmarked."""
    state = session.state
    return {
        "search": _open_if(bool(state.query.strip())),
        "selection": _open_if(state.area is not None or len(state.others) > 0),
        "marks": _open_if(bool(state.marks)),
        "compare": _open_if(state.compared is not None, _if_available(bool(session.traces))),
    }


def _open_if(has: bool, other: Presence = Presence.NOTHING) -> Presence:
    return Presence.OPEN if has else other


def _if_available(has: bool) -> Presence:
    return Presence.AVAILABLE if has else Presence.NOTHING


def _has_maps(program: Program) -> bool:
    """Whether a delegate of the program has a debug handle map with entries."""
    return any(own.is_filled for method in program.methods for own in method.delegates.values())
