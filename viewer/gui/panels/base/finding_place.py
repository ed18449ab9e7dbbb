"""Shows the place that a finding is about; the Findings and the Summary panel do the same."""

from __future__ import annotations

from viewer.analysis.findings.finding import FindingPlace, OperatorSets, PanelRef, RunRef, TimeSpan
from viewer.arrays import Ints
from viewer.gui.panels.base.slice_facts import longest_slice
from viewer.gui.session.inferences import pick_run
from viewer.gui.session.navigation import show_times
from viewer.gui.session.session import Session
from viewer.model.inferences.inference_views import Inferences
from viewer.render.axis.xmap import Axis
from viewer.view.open_trace import OpenTrace
from viewer.view.state import Area, SliceRef, SliceSet


def show_place(session: Session, shown: OpenTrace, place: FindingPlace, slices: Ints) -> None:
    """Select operators, slices or a range, or pick an inference, as one undo step.

    slices: those that the finding is about, ascending. Does nothing for a panel, or if the trace
    was closed.
    """
    if isinstance(place, PanelRef):
        return
    with session.one_step():
        session.show_inferences(Inferences.AS_RUN)
        number = session.number_of(shown)
        if number is not None:
            _go(session, shown, number, place, slices)


def _go(session: Session, shown: OpenTrace, number: int, place: FindingPlace, slices: Ints) -> None:
    if isinstance(place, RunRef):
        pick_run(session, (number, place.run))
    elif isinstance(place, TimeSpan):
        t0, t1 = _first_ns(shown.axis, place.start), _first_ns(shown.axis, place.end)
        session.activate(session.groups.of(number).key)
        show_times(session, t0 - (t1 - t0), t1 + (t1 - t0))  # with some context on both sides
        session.select_area(Area(t0, t1, frozenset((number, t) for t in place.tracks)))
    elif isinstance(place, OperatorSets) and len(place.sets) == 1:
        session.select_operators(number, place.sets[0])
    elif len(slices):
        first = SliceRef(number, longest_slice(shown, slices))
        session.select_slices(SliceSet({number: slices}), first, reveal=True)


def _first_ns(axis: Axis, tick: int) -> int:
    """Return the first whole ns at or after a tick, so that no time past the tick is included."""
    ns = axis.to_ns(tick)
    return ns if axis.to_ticks_floor(ns) >= tick else ns + 1
