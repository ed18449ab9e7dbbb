"""The inferences of a profile in order: their durations, their levels, and the menus of phases."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial

from PySide6.QtWidgets import QInputDialog, QMenu, QWidget

from viewer.analysis.sequence.wall_time import WallPart, rate_text
from viewer.analysis.summaries import MedianInference
from viewer.dataclasses import dataclass
from viewer.gui.qt.widgets.labels import literal
from viewer.gui.session.choices import choose_phases, phases_by_times
from viewer.gui.session.session import Session
from viewer.model.inference_views import Series, series_of
from viewer.model.times import counted, format_time, group_digits, tick_to_ns
from viewer.model.trace import Trace
from viewer.view.open_trace import OpenTrace
from viewer.workspace.user_choices import new_name, of_same_phase, phases_beside, split_before

_WALL_TOKENS = ("slab", "accent", "unit_compute", "unit_both", "unit_host", "unit_dma")
MOST_INFERENCES = 12  # more are not listed one by one


@dataclass(frozen=True, slots=True)
class CourseBar:
    """One inference: its position in `Trace.runs`, its ns, the number of its phase, and a text."""

    run: int
    ns: int
    phase: int
    text: str


def course_bars(open_trace: OpenTrace) -> tuple[CourseBar, ...]:
    """Return the finished inferences of a trace in order of time."""
    trace: Trace = open_trace.file
    rate = open_trace.axis.ns_per_tick
    at = [i for i, run in enumerate(trace.runs) if run.number and run.finished]
    at.sort(key=lambda i: trace.runs[i].start)
    series = list(dict.fromkeys(series_of(trace, trace.runs[i]) for i in at))
    place = {one: number for number, one in enumerate(series)}
    return tuple(
        CourseBar(
            i,
            (ns := tick_to_ns(run.end - run.start, rate)),
            place[series_of(trace, run)],
            ", ".join(filter(None, (f"{run.unit.title} {run.number}", run.phase, format_time(ns)))),
        )
        for i in at
        for run in (trace.runs[i],)
    )


def course_texts(open_trace: OpenTrace, of: Sequence[MedianInference]) -> Iterator[tuple[str, int]]:
    """Yield the levels and the rate of each phase, with the inference to go to, or -1."""
    rate, runs = open_trace.axis.ns_per_tick, open_trace.file.runs
    unit = open_trace.file.unit
    for median_inference in of:
        own = series_of(open_trace.file, runs[median_inference.run])
        for level in median_inference.levels:
            name = f"{median_inference.name} from" if median_inference.name else "From"
            time = format_time(tick_to_ns(level.ticks, rate))
            text = f"{name} {unit.noun} {group_digits(level.first)} on: {time}"
            text += f" ({level.factor:.2f} times)" if level.factor != 1 else ""
            at = (i for i, run in enumerate(runs) if run.number == level.first)
            yield text, next(i for i in at if series_of(open_trace.file, runs[i]) == own)
        if median_inference.rate is not None and (
            text := rate_text(
                median_inference.rate, rate, unit.in_phase(median_inference.name).noun
            )
        ):
            yield (f"{median_inference.name}: {text}" if median_inference.name else text), -1


def wall_parts(wall: Sequence[WallPart], rate: Fraction) -> list[tuple[str, str, int]]:
    """Return the name, color token and ns of each part of the wall time; idle ones are hatched."""
    busy = [part.name for part in wall if not part.is_idle]
    tokens = {name: _WALL_TOKENS[at % len(_WALL_TOKENS)] for at, name in enumerate(busy)}
    return [
        (wall_part.name, tokens.get(wall_part.name, ""), tick_to_ns(wall_part.ticks, rate))
        for wall_part in wall
    ]


LONGEST = 60  # characters of a name


class PhaseActions:
    """The actions of the phases of a trace. window: the parent of dialogs."""

    def __init__(self, session: Session, trace: Trace, window: QWidget) -> None:
        self._session, self._trace, self._window = session, trace, window

    def fill(self, menu: QMenu, run: int | None) -> None:
        """Add the actions of an inference, by its position in `Trace.runs`, or of all phases."""
        session, trace = self._session, self._trace
        every = _phases(trace)
        if run is None and len(every) == 1:
            self._add_phase(menu, every[0][1], asks=True)
        elif run is None:
            for name, first in every:
                count = counted(len(of_same_phase(trace, first)), "inference")
                self._add_phase(menu.addMenu(literal(f"{name} · {count}")), first, asks=True)
        else:
            self._add_phase(menu, run)
            self._add_inference(menu, run)
        menu.addSeparator()
        back = menu.addAction("Let the &times decide")
        back.setEnabled(trace.path in session.state.phases)
        back.triggered.connect(lambda: phases_by_times(session, trace.path))

    def _add_phase(self, menu: QMenu, run: int, *, asks: bool = False) -> None:
        """asks: for the inference that a new phase begins at, if it is not `run`."""
        trace = self._trace
        members, phase = of_same_phase(trace, run), trace.runs[run].phase
        what = literal(f"\u201c{phase}\u201d") if phase else f"these {self._trace.unit.plural}"
        if phase or len(_phases(trace)) > 1:  # the name of the only phase is nowhere
            self._offer(menu, f"&Name {what}…", phase, lambda name: dict.fromkeys(members, name))
        if beside := phases_beside(trace, run):
            merge = menu.addMenu(f"&Merge {what} with")
            for other in beside:
                put = partial(self._choose, dict.fromkeys(members, other))
                merge.addAction(literal(other)).triggered.connect(put)
        number = trace.runs[run].number
        if run != members[0]:
            self._offer(
                menu,
                f"&Split {what} before {self._trace.unit.noun} {group_digits(number)}…",
                new_name(trace, run),
                partial(split_before, trace, run),
            )
        elif asks:
            ask = menu.addAction(self._trace.unit.worded("&Split before inference…"))
            ask.setEnabled(len(members) > 1)
            ask.triggered.connect(lambda: self._ask_where(members))

    def _add_inference(self, into: QMenu, run: int) -> None:
        """Offer the phases that one inference can be of."""
        trace = self._trace
        number = group_digits(trace.runs[run].number)
        menu = into.addMenu(f"&Phase of {trace.unit.noun} {number}")
        for other in phases_beside(trace, run):
            action = menu.addAction(literal(other))
            action.triggered.connect(partial(self._choose, {run: other}))
        self._offer(menu, "&New…", new_name(trace, run), lambda name: {run: name})

    def _offer(
        self, menu: QMenu, label: str, name: str, phases_for: Callable[[str], dict[int, str]]
    ) -> None:
        """Add an action that asks for a name, and chooses the phases for it."""

        def ask() -> None:
            text, answered = QInputDialog.getText(
                self._window, "Phase", "Name of the phase:", text=name
            )
            if answered and (text := text.strip()[:LONGEST]):
                self._choose(phases_for(text))

        menu.addAction(label).triggered.connect(ask)

    def _ask_where(self, members: list[int]) -> None:
        numbers = [self._trace.runs[member].number for member in members]
        number, answered = QInputDialog.getInt(
            self._window,
            "Phase",
            self._trace.unit.worded("First inference of the new phase:"),
            numbers[len(members) // 2],
            numbers[1],
            numbers[-1],
        )
        if answered:
            run = members[bisect_left(numbers, number)]
            self._choose(split_before(self._trace, run, new_name(self._trace, run)))

    def _choose(self, phases: dict[int, str], *_: object) -> None:
        choose_phases(self._session, self._trace.path, phases)


def phase_entry(trace: Trace) -> str:
    """Return what the menu of all phases can do: without a second phase, nothing merges."""
    every = _phases(trace)
    if any(phases_beside(trace, first) for _, first in every):
        return "Name, merge or split phases…"
    return "Name or split phases…" if len(every) > 1 else "Split into phases…"


def _phases(trace: Trace) -> list[tuple[str, int]]:
    """Return the name of each phase and its first inference; a method without one is named."""
    first: dict[Series, int] = {}
    for i in sorted(range(len(trace.runs)), key=lambda i: trace.runs[i].start):
        if trace.runs[i].number:
            first.setdefault(series_of(trace, trace.runs[i]), i)
    return [(phase or trace.scopes[scope].name, i) for (_, scope, _, phase), i in first.items()]
