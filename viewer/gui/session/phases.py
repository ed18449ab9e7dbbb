"""The phases that the user chooses for inferences; each change is one undo step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from viewer.gui.session.session import Session
from viewer.workspace.inference_phases import in_phases


def choose_phases(session: Session, trace_path: str, phases: Mapping[int, str]) -> None:
    """Put inferences of a trace, by their positions in `Trace.runs`, into phases."""
    space = session.workspace
    choices = in_phases(space.choices, space.open_trace(trace_path), phases)
    session.change(replace(session.state, phases=choices.phases))


def phases_by_times(session: Session, trace_path: str) -> None:
    """Discard the phases that were chosen for a trace: the times decide."""
    choices = session.workspace.choices.without_phases(trace_path)
    session.change(replace(session.state, phases=choices.phases))
