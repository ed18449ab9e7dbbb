"""The phases that the user chooses for inferences; each change is one undo step.

The phase that figures are of, in the list of inferences, stays chosen if it gets another name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from viewer.analysis.links.labels import series_names
from viewer.analysis.links.link_table import LinkTable
from viewer.gui.session.session import Session
from viewer.model.inferences.logged_methods import series_of
from viewer.model.trace import Trace
from viewer.workspace.user_choices import UserChoices


def choose_phases(session: Session, trace_path: str, phases: Mapping[int, str]) -> None:
    """Put inferences of a trace, by their positions in `Trace.runs`, into phases."""
    from viewer.workspace.inference_phases import in_phases

    trace = session.workspace.open_trace(trace_path)
    choices = in_phases(UserChoices(phases=session.state.phases), trace, phases)
    table, of = session.workspace.links(trace), choices.phases.get(trace_path, {})
    runs = (replace(run, phase=of.get((run.scope, run.number), run.phase)) for run in trace.runs)
    after = replace(table, trace=replace(trace, runs=tuple(runs)))
    phase = _renamed(session.state.phase, table, after)
    session.change(replace(session.state, phases=choices.phases, phase=phase))


def phases_by_times(session: Session, trace_path: str) -> None:
    """Discard the phases that were chosen for a trace: the times decide."""
    choices = UserChoices(phases=session.state.phases).without_phases(trace_path)
    session.change(replace(session.state, phases=choices.phases))


def _renamed(phase: str, before: LinkTable, after: LinkTable) -> str:
    """Return what a phase is called after a change: the name of most of its inferences."""
    old, new = _phase_of_runs(before), _phase_of_runs(after)
    names = Counter(new[place] for place, name in old.items() if name == phase)
    return phase if phase in (*names, "") or not names else names.most_common(1)[0][0]


def _phase_of_runs(table: LinkTable) -> dict[int, str]:
    """Return the phase of each inference by its position, as the list of inferences names it."""
    trace: Trace = table.trace
    series = {
        place: series_of(trace, run) for place, run in enumerate(trace.runs) if run.number > 0
    }
    names = series_names(table, dict.fromkeys(series.values()))
    return {place: names[of] for place, of in series.items()}
