"""The user-changeable view as one immutable value; the undo history is a list of these.

No Qt. Times are ns of the axis of a clock group, which is named by its key. Visible ranges are
places on screen: times with the gaps before them that a comparison has put there. Slices, tracks
and runs refer to the position of their trace among the open ones, so a state is only valid for
these. The arms of a comparison name profiles by path, so a choice stays valid when other files are
opened or closed. Strips name groups by their keys; keys of closed groups are ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import overload

import numpy as np

from viewer.analysis.comparison.hand_pairs import NO_PAIRS, HandPairs
from viewer.arrays import Codes, Ints
from viewer.dataclasses import dataclass, field, replace
from viewer.model.inference_views import Inferences
from viewer.render.arrangement import TrackView
from viewer.render.time_axis import NO_GAPS, Gaps
from viewer.view.clock_groups import Range, Ranges, Ties, moved_together
from viewer.view.derived_tracks import DerivedTrack, QueryChart
from viewer.workspace.clocks import ClockRates, DelegateRates, SameClock
from viewer.workspace.user_choices import ChosenPhases, UserChoices

LOWEST_STRIP = 60  # px, of the rows of a strip whose height the user chose
HIGHEST_STRIP = 4000


@dataclass(frozen=True, slots=True)
class StripView:
    """The user's arrangement of strips.

    order: keys of groups from top to bottom; groups that it lacks follow in order of opening.
    collapsed: groups of which only the header is shown. heights: the height of the rows of some
    groups in px, which the user chose. only: the groups that have
    strips, from top to bottom, while others have none; () for all.
    """

    order: tuple[str, ...] = ()
    collapsed: frozenset[str] = frozenset()
    heights: Mapping[str, int] = field(default_factory=dict)
    only: tuple[str, ...] = ()

    def ordered(self, keys: Sequence[str]) -> list[str]:
        """Return the keys of the open groups from top to bottom."""
        chosen = [key for key in self.order if key in keys]
        return [*chosen, *(key for key in keys if key not in chosen)]

    def shown(self, keys: Sequence[str]) -> list[str]:
        """Return the keys of the open groups that have strips, from top to bottom; at least one."""
        return [key for key in self.only if key in keys] or self.ordered(keys)

    def with_only(self, only: tuple[str, ...]) -> StripView:
        """Return a copy with strips of some groups; () for all."""
        return replace(self, only=only)

    def toggled(self, key: str) -> StripView:
        """Return a copy with a strip collapsed, or expanded if it was."""
        return replace(self, collapsed=self.collapsed ^ {key})

    def placed_before(self, key: str, before: str | None, keys: Sequence[str]) -> StripView:
        """Return a copy with a strip moved before another one, or to the end; keys: all groups."""
        if key == before:
            return self
        rest = [other for other in self.ordered(keys) if other != key]
        index = rest.index(before) if before in rest else len(rest)
        return replace(self, order=(*rest[:index], key, *rest[index:]))

    def renamed(self, names: Mapping[str, str], keys: Collection[str]) -> StripView:
        """Return a copy for groups with other keys, by the old ones; only those kept stay as set.

        The first of several that became one gives it its place. All groups have strips again.
        """
        return StripView(
            tuple(dict.fromkeys(names.get(key, key) for key in self.order)),
            self.collapsed & frozenset(keys),
            {key: px for key, px in self.heights.items() if key in keys},
        )

    def with_height(self, key: str, height: int | None) -> StripView:
        """Return a copy with another height of a strip's rows in px; None: as tall as its rows."""
        heights = {other: px for other, px in self.heights.items() if other != key}
        if height is not None:
            heights[key] = min(max(height, LOWEST_STRIP), HIGHEST_STRIP)
        return replace(self, heights=heights)


def strip_heights(
    wanted: Sequence[int], chosen: Sequence[int | None], room: int, least: int
) -> list[int]:
    """Return the height of the rows of each strip in px.

    wanted: the height at which all rows of a strip are visible; 0 for a collapsed one, which stays
    at 0. chosen: heights that the user chose, else None. room: the px that all of them share; if
    they want more, the tallest of the others give way, but none below `least`.
    """
    heights = [w if pick is None or not w else pick for w, pick in zip(wanted, chosen, strict=True)]
    flexible = [n for n, pick in enumerate(chosen) if pick is None and heights[n] > least]
    over = sum(heights) - room
    while over > 0 and flexible:
        tallest = max(heights[n] for n in flexible)
        top = [n for n in flexible if heights[n] == tallest]
        lower = [heights[n] for n in flexible if heights[n] < tallest]
        floor = max([least, *lower])
        cut = min(over, (tallest - floor) * len(top))
        each, rest = divmod(cut, len(top))
        for place, n in enumerate(top):
            heights[n] -= each + (place < rest)
        over -= cut
        flexible = [n for n in flexible if heights[n] > least]
    return heights


@dataclass(frozen=True, slots=True)
class ChosenArm:
    """One arm: the paths of its profiles.

    numbers: only inferences with these numbers, also those that warm up; () for all that count.
    scope: the name of the scope in which they are numbered, "" if the profiles have only one.
    """

    paths: tuple[str, ...]
    numbers: tuple[int, ...] = ()
    scope: str = ""

    def among(self, paths: Collection[str]) -> ChosenArm:
        """Return the arm without profiles that are not open."""
        return replace(self, paths=tuple(path for path in self.paths if path in paths))


@dataclass(frozen=True, slots=True)
class ComparedArms:
    """The two arms of a comparison; both may be inferences of the same profiles.

    in_tables: whether the panels show changes, instead of the costs of one profile. relative:
    whether the times of rows are relative to the inference. by_hand: the pairs that the user made
    or separated. stretched: whether the strips of both arms have gaps so that paired calls begin
    together, instead of the inferences alone.
    """

    a: ChosenArm
    b: ChosenArm
    in_tables: bool = True
    by_hand: HandPairs = NO_PAIRS
    relative: bool = False
    stretched: bool = False

    @property
    def swapped(self) -> ComparedArms:
        """The same comparison the other way around."""
        return replace(self, a=self.b, b=self.a, by_hand=self.by_hand.swapped)

    @property
    def paths(self) -> tuple[str, ...]:
        """The profiles of both arms."""
        return tuple(dict.fromkeys((*self.a.paths, *self.b.paths)))

    def among(self, paths: Collection[str]) -> ComparedArms | None:
        """Return the arms without profiles that are not open; None if an arm has none left."""
        left = replace(self, a=self.a.among(paths), b=self.b.among(paths))
        return left if left.a.paths and left.b.paths else None


# Of a bookmark's name and note, in characters.
LONGEST_NAME, LONGEST_NOTE = 200, 4000


@dataclass(frozen=True, slots=True)
class SliceRef:
    """One slice of one open trace, by the trace's position among the open ones."""

    trace: int
    index: int


class SliceSet(Sequence[SliceRef]):
    """Slices of the open traces: ascending numbers (uint32) per trace, so a million are cheap.

    As a sequence they are ordered by trace and number. Immutable.
    """

    __slots__ = ("_larger", "of")

    def __init__(self, of: Mapping[int, Codes | Ints]) -> None:
        """of: per trace distinct ascending numbers; empty columns are dropped."""
        numbers_of = {
            trace: np.asarray(numbers, np.uint32)
            for trace, numbers in sorted(of.items())
            if len(numbers)
        }
        self.of: Mapping[int, Codes] = MappingProxyType(numbers_of)
        # The set that this one was derived from, and the slice removed from it.
        self._larger: tuple[SliceRef, SliceSet] | None = None

    @staticmethod
    def of_refs(refs: Iterable[SliceRef]) -> SliceSet:
        """Return the set of some single slices."""
        if isinstance(refs, SliceSet):
            return refs
        found: dict[int, set[int]] = {}
        for ref in refs:
            found.setdefault(ref.trace, set()).add(ref.index)
        return SliceSet({trace: np.array(sorted(own), np.uint32) for trace, own in found.items()})

    def with_one(self, ref: SliceRef) -> SliceSet:
        """Return the set with one more slice."""
        if self._larger is not None and self._larger[0] == ref:
            return self._larger[1]  # needed with every change of the selection
        if ref in self:
            return self
        numbers = self.of.get(ref.trace, np.empty(0, np.uint32))
        at = int(np.searchsorted(numbers, np.uint32(ref.index)))
        return SliceSet({**self.of, ref.trace: np.insert(numbers, at, ref.index)})

    def without(self, ref: SliceRef) -> SliceSet:
        """Return the set without one slice."""
        if ref not in self:
            return self
        numbers = self.of[ref.trace]
        at = int(np.searchsorted(numbers, np.uint32(ref.index)))
        smaller = SliceSet({**self.of, ref.trace: np.delete(numbers, at)})
        smaller._larger = ref, self
        return smaller

    def among(self, traces: Container[int]) -> SliceSet:
        """Return the slices of some traces."""
        return SliceSet({trace: own for trace, own in self.of.items() if trace in traces})

    def __len__(self) -> int:
        return sum(len(numbers) for numbers in self.of.values())

    def __iter__(self) -> Iterator[SliceRef]:
        for trace, numbers in self.of.items():
            for index in numbers.tolist():
                yield SliceRef(trace, index)

    def __contains__(self, ref: object) -> bool:
        if not isinstance(ref, SliceRef) or ref.trace not in self.of:
            return False
        numbers = self.of[ref.trace]
        at = int(np.searchsorted(numbers, np.uint32(ref.index)))
        return at < len(numbers) and int(numbers[at]) == ref.index

    @overload
    def __getitem__(self, at: int) -> SliceRef: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[SliceRef]: ...
    def __getitem__(self, at: int | slice) -> SliceRef | Sequence[SliceRef]:
        if isinstance(at, slice):
            return list(self)[at]
        place = at + len(self) if at < 0 else at
        for trace, numbers in self.of.items():
            if 0 <= place < len(numbers):
                return SliceRef(trace, int(numbers[place]))
            place -= len(numbers)
        raise IndexError(at)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, SliceSet) or self.of.keys() != other.of.keys():
            return False
        return all(np.array_equal(own, other.of[trace]) for trace, own in self.of.items())

    def __hash__(self) -> int:
        return hash(tuple((trace, len(own), int(own[0])) for trace, own in self.of.items()))


@dataclass(frozen=True, slots=True)
class Area:
    """A time range on some tracks, given as (trace, track), all of one clock group."""

    t0: int
    t1: int
    tracks: frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A moment (t0 == t1) or a time range of a clock group, with the user's name and note."""

    t0: int
    t1: int
    name: str = ""
    note: str = ""
    clock: str = ""


class RulerUnit(Enum):
    """What the ruler counts."""

    FROM_START = "from trace start"
    ABSOLUTE = "clock of the file"
    FROM_SELECTION = "from the selection"
    CYCLES = "cycles"


@dataclass(frozen=True, slots=True)
class ViewState:
    """Everything about the view that the user can change.

    clock: the active clock group, which keys act on; t0, t1: its visible range. ranges: the visible
    ranges of the other groups. ties: how their zooms and positions are tied together. gaps: those
    in the axes of some groups, in ns. strips: how their strips are arranged.

    slice: the selected slice; others: further ones, a `SliceSet`, or () for none. operators:
    (trace, indexes into its program's operators) that are highlighted. run: the (trace, position in
    `Trace.runs`) that costs refer to, None for all inferences. file: the trace that panels show
    while neither selection nor run says another, None for the first of the active group. warm_up:
    whether figures over all inferences include those that warm up, and phase: what they are of, as
    in `TimeScope`.
    inferences: their display mode; slices, tracks and runs refer to it.

    clocks, delegate_clocks, same_clocks: the chosen rates, and which files share a clock, as in
    `UserChoices`. They belong to the workspace, but are here because range and area are ns at these
    rates, on the axes of these clock groups: undo reverts all together. phases: those that the user
    chose, as in `UserChoices`, so that undo reverts them, too. measured:
    a range of the clock group `measured_on`, shown with its length until another is measured; empty
    while its end is being chosen.
    mark: the index of the current one in `bookmarks`. query: the search; only_hits:
    everything else is dimmed. scheme: the color scheme; lit: its only class that is not dimmed, by
    title and palette index. compared: the arms that are compared, None for no comparison. derived:
    the queries whose rows are drawn as tracks.
    """

    t0: int = 0
    t1: int = 1_000_000
    clock: str = ""
    ranges: Ranges = field(default_factory=dict)
    ties: Ties = field(default_factory=dict)
    gaps: Mapping[str, Gaps] = field(default_factory=dict)
    strips: StripView = field(default_factory=StripView)
    slice: SliceRef | None = None
    others: Sequence[SliceRef] = ()
    operators: tuple[int, tuple[int, ...]] | None = None
    area: Area | None = None
    tracks: TrackView = field(default_factory=TrackView)
    scheme: str = "operator"
    lit: tuple[str, int] | None = None
    run: tuple[int, int] | None = None
    file: int | None = None
    warm_up: bool = False
    phase: str = ""
    inferences: Inferences = Inferences.AS_RUN
    clocks: ClockRates = field(default_factory=dict)
    delegate_clocks: DelegateRates = field(default_factory=dict)
    same_clocks: tuple[SameClock, ...] = ()
    phases: ChosenPhases = field(default_factory=dict)
    measured: tuple[int, int] | None = None
    measured_on: str = ""
    bookmarks: tuple[Bookmark, ...] = ()
    mark: int | None = None
    query: str = ""
    only_hits: bool = False
    ruler: RulerUnit = RulerUnit.FROM_START
    compared: ComparedArms | None = None
    derived: tuple[DerivedTrack, ...] = ()
    charts: tuple[QueryChart, ...] = ()

    def range_of(self, clock: str) -> Range:
        """Return the visible range of a clock group; of an unknown one that of the active one."""
        own = self.t0, self.t1
        return own if clock == self.clock else self.ranges.get(clock, own)

    def gaps_of(self, clock: str) -> Gaps:
        """Return the gaps in the axis of a clock group."""
        return self.gaps.get(clock, NO_GAPS)

    def times_of(self, clock: str) -> Range:
        """Return the times of a clock group that are visible: 1 ns at least."""
        first, last = self.gaps_of(clock).times(*self.range_of(clock))
        return first, max(last, first + 1)

    @property
    def times(self) -> Range:
        """The times of the active clock group that are visible."""
        return self.times_of(self.clock)

    def on_screen(self, first: int, last: int) -> Range:
        """Return where on screen a span of times of the active clock group begins and ends."""
        return self.gaps_of(self.clock).span(first, last)

    def with_gaps(self, gaps: Mapping[str, Gaps]) -> ViewState:
        """Return this state with other gaps, and the same times of the active group in view.

        Groups that are tied to it follow its range. Where nothing but a gap is in view, the length
        of the range stays.
        """
        if gaps == self.gaps:
            return self
        ranges = {}
        for key, (start, end) in self.all_ranges.items():
            first, last = self.gaps_of(key).times(start, end)
            if first == last:
                place = gaps.get(key, NO_GAPS).place(first)
                ranges[key] = place, place + end - start
            else:
                ranges[key] = gaps.get(key, NO_GAPS).span(first, last)
        lead = self.clock if self.clock in self.ties else next(iter(self.ties), "")
        if lead in ranges:
            ranges = moved_together(self.ties, ranges, lead, self.range_of(lead))
        t0, t1 = ranges.pop(self.clock)
        return replace(self, t0=t0, t1=t1, ranges=ranges, gaps=gaps)

    @property
    def unstretched(self) -> ViewState:
        """This state without gaps: the alignment that they were for ends."""
        arms = self.compared
        state = self.with_gaps({})
        if arms is None or not arms.stretched:
            return state
        return replace(state, compared=replace(arms, stretched=False))

    @property
    def all_ranges(self) -> dict[str, Range]:
        """The visible range of every clock group."""
        return {**self.ranges, self.clock: (self.t0, self.t1)}

    def on(self, clock: str) -> ViewState:
        """Return this state with another clock group active; nothing moves."""
        if clock == self.clock:
            return self
        ranges = self.all_ranges
        t0, t1 = self.range_of(clock)
        ranges.pop(clock, None)
        return replace(self, clock=clock, t0=t0, t1=t1, ranges=ranges)

    @property
    def slices(self) -> SliceSet:
        """All selected slices.

        A million take some ms: keep the result, do not call it per frame.
        """
        others = SliceSet.of_refs(self.others)
        return others if self.slice is None else others.with_one(self.slice)

    @property
    def selection(self) -> tuple[object, ...]:
        """The selection, as one comparable value."""
        return self.slice, self.others, self.operators, self.area

    @property
    def strip_choices(self) -> tuple[object, ...]:
        """The arrangement of strips and how their axes are tied, as one comparable value."""
        return self.strips, self.ties, self.gaps

    @property
    def marking(self) -> tuple[object, ...]:
        """The bookmarks and the measured range, as one comparable value."""
        return self.bookmarks, self.mark, self.measured, self.measured_on

    @property
    def clock_choices(self) -> tuple[ClockRates, DelegateRates, tuple[SameClock, ...]]:
        """All chosen clock rates, and which files share a clock, as one comparable value."""
        return self.clocks, self.delegate_clocks, self.same_clocks

    def at_choices(self, choices: UserChoices) -> ViewState:
        """Return this state with the clocks and the phases of a workspace's choices."""
        return replace(
            self,
            clocks=choices.clocks,
            delegate_clocks=choices.delegate_clocks,
            same_clocks=choices.same_clocks,
            phases=choices.phases,
        )

    def is_at(self, other: ViewState) -> bool:
        """Return whether another state shows the same place, or one that this one cannot show.

        A place is the ranges of all clock groups, selection, run, inferences and rates. A place on
        the axes of other clock groups cannot be shown: only undo returns to it.
        """
        return self.same_clocks != other.same_clocks or self._place == other._place

    @property
    def _place(self) -> tuple[object, ...]:
        return (
            self.all_ranges,
            self.ties,
            self.gaps,
            self.run,
            self.file,
            self.inferences,
            self.clocks,
            self.delegate_clocks,
            *self.selection,
        )

    def at(self, place: ViewState) -> ViewState:
        """Return this state moved to the place of another one, if it can show it."""
        if place.same_clocks != self.same_clocks:
            return self
        has_others = place.inferences is not self.inferences
        place = place.with_gaps(self.gaps)
        return replace(
            self,
            t0=place.t0,
            t1=place.t1,
            clock=place.clock,
            ranges=place.ranges,
            ties=place.ties,
            slice=place.slice,
            others=place.others,
            operators=place.operators,
            area=place.area,
            run=place.run,
            file=place.file,
            inferences=place.inferences,
            clocks=place.clocks,
            delegate_clocks=place.delegate_clocks,
            tracks=self.tracks.of_processes() if has_others else self.tracks,
        )
