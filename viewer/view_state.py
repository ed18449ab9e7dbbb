"""What the user can change about the view, as one immutable value: undo is a list of these.

No Qt. Times are ns of the common axis. Slices, tracks and runs are named by the position of their
trace among the open ones, so a state holds for what is open now alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

from viewer.opening import Inferences
from viewer.timeline.layout import Part
from viewer.workspace import Clocks


@dataclass(frozen=True, slots=True)
class SliceRef:
    """One slice of one open trace, by the trace's position among the open ones."""

    trace: int
    index: int


@dataclass(frozen=True, slots=True)
class Area:
    """A span of time, in ns of the axis, on some tracks, given as (trace, track)."""

    t0: int
    t1: int
    tracks: frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment (t0 == t1) or a span of time with a name and a note, both the user's own words."""

    t0: int
    t1: int
    name: str = ""
    note: str = ""


class TrackOrder(Enum):
    """In which order processes, and the tracks in each, are stacked."""

    FILE = "as in the file"
    NAME = "by name"
    TIME = "by first slice"
    BUSY = "busiest first"


class RulerUnit(Enum):
    """What the ruler counts."""

    FROM_START = "from trace start"
    ABSOLUTE = "clock of the file"
    FROM_SELECTION = "from the selection"
    CYCLES = "cycles"


@dataclass(frozen=True, slots=True)
class TrackView:
    """Which tracks are seen, and how they lie.

    A part is a process by (trace, name) or a track by (trace, number). collapsed: parts that are
    folded. pinned: tracks that stand on top, in this order. hidden: parts that are not shown.
    moved: parts that were dragged, with the part that each stands before (None: last of its
    fellows), in the order of dragging. heights: rows of these processes are so many px high.
    filter: only tracks, or processes, whose name holds this text are shown.
    """

    collapsed: frozenset[Part] = frozenset()
    pinned: tuple[tuple[int, int], ...] = ()
    hidden: frozenset[Part] = frozenset()
    moved: tuple[tuple[Part, Part | None], ...] = ()
    heights: tuple[tuple[Part, int], ...] = ()
    filter: str = ""
    order: TrackOrder = TrackOrder.FILE

    def toggled(self, part: Part) -> TrackView:
        """The same with a part folded, or opened again."""
        return replace(self, collapsed=self.collapsed ^ {part})


@dataclass(frozen=True, slots=True)
class ViewState:
    """All that the user can change about the view.

    slice: what is selected, `others` with it. operators: (trace, indexes into its program's
    operators) that are highlighted. run: (trace, position in `Trace.runs`) that costs are of, None
    for all inferences. inferences: how they lie; slices, tracks and runs are those of that view.
    clocks: the chosen rates, as `Workspace.clocks`. They are of the workspace, and here since range
    and area are ns that hold for these rates alone: undo takes both back together. measured: a
    span that is shown with its length until something else is measured. query: what is searched
    for; only_hits: everything else is dimmed.
    """

    t0: int = 0
    t1: int = 1_000_000
    slice: SliceRef | None = None
    others: tuple[SliceRef, ...] = ()
    operators: tuple[int, tuple[int, ...]] | None = None
    area: Area | None = None
    tracks: TrackView = TrackView()
    scheme: str = "operator"
    run: tuple[int, int] | None = None
    inferences: Inferences = Inferences.AS_RUN
    clocks: Clocks = field(default_factory=dict)
    measured: tuple[int, int] | None = None
    marks: tuple[Mark, ...] = ()
    query: str = ""
    only_hits: bool = False
    ruler: RulerUnit = RulerUnit.FROM_START

    @property
    def slices(self) -> tuple[SliceRef, ...]:
        """All selected slices, the one that was selected last first."""
        return () if self.slice is None else (self.slice, *self.others)

    @property
    def selection(self) -> tuple[object, ...]:
        """What is selected, as one value to compare."""
        return self.slice, self.others, self.operators, self.area

    def cleared(self) -> ViewState:
        """The same with one thing less: the search, else what is measured, else the area, else all
        that is selected."""
        if self.query:
            return replace(self, query="", only_hits=False)
        if self.measured is not None:
            return replace(self, measured=None)
        if self.area is not None:
            return replace(self, area=None)
        return replace(self, slice=None, others=(), operators=None)

    def is_at(self, other: ViewState) -> bool:
        """Whether another state shows the same place: range, selection, inferences, rates."""
        return (self.t0, self.t1, self.run, self.inferences, self.clocks, *self.selection) == (
            other.t0, other.t1, other.run, other.inferences, other.clocks, *other.selection
        )  # fmt: skip

    def at(self, place: ViewState) -> ViewState:
        """This state, moved to the place that another one shows."""
        return replace(
            self, t0=place.t0, t1=place.t1, slice=place.slice, others=place.others,
            operators=place.operators, area=place.area, run=place.run,
            inferences=place.inferences, clocks=place.clocks,
        )  # fmt: skip
