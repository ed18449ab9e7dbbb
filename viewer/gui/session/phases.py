"""The phases that the user chooses for inferences; each change is one undo step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from viewer.gui.session.session import Session
from viewer.workspace.inference_phases import in_phases
from viewer.workspace.user_choices import UserChoices


def choose_phases(session: Session, trace_path: str, phases: Mapping[int, str]) -> None:
    """Put inferences of a trace, by their positions in `Trace.runs`, into phases."""
    trace = session.workspace.open_trace(trace_path)
    choices = in_phases(UserChoices(phases=session.state.phases), trace, phases)
    session.change(replace(session.state, phases=choices.phases))


def phases_by_times(session: Session, trace_path: str) -> None:
    """Discard the phases that were chosen for a trace: the times decide."""
    choices = UserChoices(phases=session.state.phases).without_phases(trace_path)
    session.change(replace(session.state, phases=choices.phases))
