"""The data flow between the slices of one trace.

The edges are between operators (`viewer.program.dataflow`). The slices of each are chosen so:

* Only slices of the same inference are considered, or the whole trace if it has none. Slices of the
  same thread have priority, then those of the same process.
* Slices shared by the fewest operators have priority: a delegate event before the call around it. A
  slice inside another one of the same operators is replaced by the outer one.
* If several remain, such as tiles of one operator, an input comes from the last one that ends
  before the slice starts, and an output goes to the first one that starts after it ends. If all
  overlap the slice, it is the last that starts before it, or the first that ends after it. If there
  is none either, the flow has no end and is reported so.
* An operator without a slice in the inference, such as a view without cost, is passed through.
* No flow is drawn between operators of one slice, nor between a slice and those inside or around
  it. A slice shared by several operators is one end, however many edges lead to it.

Flows between a host and its NPU, and those that the file itself contains, need no program.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from viewer.analysis.cost.event_times import made_of_others
from viewer.analysis.flows.dataflow import dataflow_of
from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Codes, Ints, lists_by_key
from viewer.dataclasses import dataclass
from viewer.model.queries import run_of_slices
from viewer.model.recorded_names import NSS_START, NSS_WAIT, START_PROGRAM, WAIT_PROGRAM
from viewer.model.trace import Trace, Unit
from viewer.program.dataflow import Dataflow

NO_PROGRAM = "No ETRecord or source is linked, so its inputs are unknown"
NO_OPERATOR = "It is not linked to an operator, so its inputs are unknown"
# With more slices of one operator in an inference, only the nearest in time are compared.
MOST_COMPARED = 4096
# The maximum of the file's own flows that are shown at one slice.
MOST_STATED = 1000
# The maximum of operators without slices that a flow passes through.
MOST_PASSED = 10_000
_STARTS, _WAITS = (NSS_START, START_PROGRAM), (NSS_WAIT, WAIT_PROGRAM)


@dataclass(frozen=True, slots=True)
class FlowEnd:
    """The other end of a flow: a slice, and the operators that make it one.

    through: operators without slices in between, nearest to the end first. overlaps: whether the
    two slices ran at the same time, so that one did not wait for all of the other. is_job: an NSS
    job and the action that starts it or waits for it; without operators. is_stated: the flow is in
    the file; without operators too.
    """

    slice: int
    operators: tuple[int, ...]
    through: tuple[int, ...] = ()
    overlaps: bool = False
    is_job: bool = False
    is_stated: bool = False


@dataclass(frozen=True, slots=True)
class SliceFlows:
    """All flows of one slice.

    inputs: the one that ended last comes first. outputs: the one that starts first comes first.
    Flows in the file come before that of a job, and that before those of operators.

    only_later: producers whose slices all ran later. only_earlier: consumers whose slices all ran
    earlier. Neither leads to a slice. reason: why nothing is known; "" otherwise.
    """

    inputs: tuple[FlowEnd, ...] = ()
    outputs: tuple[FlowEnd, ...] = ()
    only_later: tuple[int, ...] = ()
    only_earlier: tuple[int, ...] = ()
    reason: str = ""

    def ends(self, *, forward: bool) -> tuple[FlowEnd, ...]:
        """Return the outputs if `forward`, else the inputs."""
        return self.outputs if forward else self.inputs


class FlowIndex:
    """The linked slices of one trace, indexed by operator, inference and time.

    Construction is linear in the slices and takes 4 bytes per linked slice. A query then costs a
    few searches per neighboring operator.
    """

    def __init__(self, table: LinkTable) -> None:
        self.table = table
        trace = table.trace
        self._slices = trace.slices
        set_of = table.set_of_key[trace.slices.key] if len(table.links) else np.empty(0, np.int64)
        chosen = np.flatnonzero((set_of >= 0) & ~made_of_others(trace))
        self._runs = len(trace.runs) + 1
        self._run_lookup = _Runs(trace)
        run = self._run_lookup.of_slices()[chosen]
        group = set_of[chosen] * self._runs + run + 1
        order = np.lexsort((trace.slices.start[chosen], group))
        self._order: Codes = chosen[order].astype(np.uint32)
        groups, first = np.unique(group[order], return_index=True)
        self._groups: Ints = groups
        self._group_ptr: Ints = np.append(first, len(order))
        # Our own exports contain job flows, but no longer which slices are actions and jobs.
        self._jobs = None if trace.provenance else JobFlows(trace)
        self._stated = StatedFlows(trace)
        # Operator -> the sets that contain it, smallest first.
        sets = table.sets
        self._sets_of = lists_by_key(
            (operator, number)
            for number in sorted(range(len(sets)), key=lambda n: (len(sets[n]), n))
            for operator in sets[number]
        )

    def flows(self, i: int, most: int | None = None) -> SliceFlows | None:
        """Return all flows of slice i; None if more than `most` operators had to be checked.

        An operator with very many slices counts as several.
        """
        before_jobs, after_jobs = (
            (*self._stated_ends(i, forward=forward), *self._job(i, forward=forward))
            for forward in (False, True)
        )
        program = self.table.program
        if program is None:
            return SliceFlows(before_jobs, after_jobs, reason=NO_PROGRAM)
        operators = self.table.links[int(self._slices.key[i])].operators
        if not operators:
            return SliceFlows(before_jobs, after_jobs, reason=NO_OPERATOR)
        flow = dataflow_of(program)
        effort = _Effort(most)
        reasons = [flow.unknown[operator] for operator in operators if operator in flow.unknown]
        try:
            before, lost_before = self._ends(flow, i, operators, effort, forward=False)
            after, lost_after = self._ends(flow, i, operators, effort, forward=True)
        except _TooMuch:
            return None
        return SliceFlows(
            (*before_jobs, *before),
            (*after_jobs, *after),
            tuple(lost_before),
            tuple(lost_after),
            reasons[0] if reasons and not before and not after else "",
        )

    def has_flow_inside(self, i: int, *, forward: bool) -> bool:
        """Return whether a flow of the file starts (forward) or ends at a slice nested in slice i.

        Concurrent slices in other lanes of the thread count too.
        """
        return self._stated.has_inside(i, forward=forward)

    def _stated_ends(self, i: int, *, forward: bool) -> tuple[FlowEnd, ...]:
        """Return the ends of the file's own flows: outputs by start, inputs by latest end."""
        start, stop = self._slices.start, self._slices.end
        neighbors = self._stated.next_to(i, forward=forward)
        neighbors.sort(key=lambda j: (start[j], j) if forward else (-stop[j], j))
        return tuple(FlowEnd(j, (), is_stated=True) for j in neighbors)

    def _job(self, i: int, *, forward: bool) -> tuple[FlowEnd, ...]:
        """Return the job that slice i starts or waits for, or the action at that end of job i."""
        neighbor = self._jobs.next_to(i, forward=forward) if self._jobs else None
        return () if neighbor is None else (FlowEnd(neighbor, (), is_job=True),)

    def _ends(
        self,
        flow: Dataflow,
        i: int,
        slice_operators: tuple[int, ...],
        effort: _Effort,
        *,
        forward: bool,
    ) -> tuple[tuple[FlowEnd, ...], list[int]]:
        """Return the ends on one side, and the operators there that lead to none."""
        place = _Place(self, i)
        by_slice: dict[int, FlowEnd] = {}
        lost: list[int] = []
        seen = set(slice_operators)
        todo: list[tuple[int, tuple[int, ...]]] = [(operator, ()) for operator in slice_operators]
        position = 0
        while position < len(todo) and position <= len(slice_operators) + MOST_PASSED:
            operator, passed = todo[position]
            position += 1
            for other in flow.next_to(operator, forward=forward).tolist():
                if other in seen:
                    continue
                seen.add(other)
                slices = self._slices_of(other, place.run)
                effort.spend(1 + min(len(slices), MOST_COMPARED) // 64)
                if not len(slices):
                    todo.append((other, (other, *passed)))
                    continue
                if place.is_inside(slices):
                    continue
                nearest = place.nearest(slices, forward=forward)
                if nearest is None:
                    lost.append(other)
                    continue
                end, overlaps = nearest
                flow_end = by_slice.get(end)
                operators = (*flow_end.operators, other) if flow_end else (other,)
                by_slice[end] = FlowEnd(
                    end, operators, flow_end.through if flow_end else passed, overlaps
                )
        start, stop = self._slices.start, self._slices.end
        ends = sorted(
            by_slice.values(),
            key=lambda e: (start[e.slice], e.slice) if forward else (-stop[e.slice], e.slice),
        )
        return tuple(ends), lost

    def _slices_of(self, operator: int, run: int) -> Codes:
        """Return an operator's slices in a run, from its smallest sets that have any, by start."""
        parts: list[Codes] = []
        size = 0
        for number in self._sets_of.get(operator, ()):
            if parts and len(self.table.sets[number]) > size:
                break
            group = number * self._runs + run + 1
            place = int(np.searchsorted(self._groups, group))
            if place < len(self._groups) and self._groups[place] == group:
                parts.append(self._order[self._group_ptr[place] : self._group_ptr[place + 1]])
                size = len(self.table.sets[number])
        if len(parts) < 2:
            return parts[0] if parts else self._order[:0]
        united = np.concatenate(parts)
        return united[np.argsort(self._slices.start[united], kind="stable")]

    def run_of(self, i: int) -> int:
        """Return the position of the inference or load that contains slice i, or -1."""
        return self._run_lookup.of(i)


class StatedFlows:
    """The flows that the file itself contains, sorted by either end."""

    def __init__(self, trace: Trace) -> None:
        self._slices = trace.slices
        self._ends = trace.flows.producer, trace.flows.consumer
        self._order = tuple(np.argsort(end, kind="stable") for end in self._ends)

    def next_to(self, i: int, *, forward: bool) -> list[int]:
        """Return the consumers (forward) or producers of slice i, up to `MOST_STATED`."""
        _, other = self._ends if forward else self._ends[::-1]
        first, last = self._between(i, i + 1, forward=forward)
        order = self._order[0 if forward else 1]
        others: list[int] = other[order[first : min(last, first + MOST_STATED)]].tolist()
        return list(dict.fromkeys(others))

    def has_inside(self, i: int, *, forward: bool) -> bool:
        """Return whether a flow starts (forward) or ends at a slice of i's thread, within i."""
        slices = self._slices
        start, end, ptr = slices.start[i], slices.end[i], slices.row_ptr
        for row in np.flatnonzero(slices.row_track == slices.track(i)).tolist():
            # Slices of a row follow one another, so those within i are a range.
            row_span = slice(int(ptr[row]), int(ptr[row + 1]))
            lo = row_span.start + int(np.searchsorted(slices.start[row_span], start, "left"))
            hi = row_span.start + int(np.searchsorted(slices.end[row_span], end, "right"))
            first, last = self._between(lo, hi, forward=forward)
            if first < last:
                return True
        return False

    def _between(self, lo: int, hi: int, *, forward: bool) -> tuple[int, int]:
        """Return where in the order the flows are that start (forward) or end at slices lo..hi."""
        side = 0 if forward else 1
        first, last = np.searchsorted(self._ends[side], (lo, hi), sorter=self._order[side])
        return int(first), int(last)


class _Runs:
    """Finds the inference or load that contains a slice.

    On a track without runs, such as the NSS track of a host, it is the run of the same process that
    is active when the slice starts; or the run that covers all tracks.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        processes = [track.process for track in trace.tracks]
        spans_of: dict[int | str, list[tuple[int, int, int]]] = {}  # by track, and by process
        for position, run in enumerate(trace.runs):
            span = run.start, trace.last_start(run), position
            for place in (run.track, processes[run.track]):
                spans_of.setdefault(place, []).append(span)
        runs_of = {
            place: np.array(sorted(spans), np.int64).reshape(-1, 3)
            for place, spans in spans_of.items()
        }
        none = np.empty((0, 3), np.int64)
        everywhere = next((run.track for run in trace.runs if run.all_tracks), None)
        self._of_track: list[Ints] = [
            runs_of.get(number, runs_of.get(process, none))
            if everywhere is None
            else runs_of[processes[everywhere]]
            for number, process in enumerate(processes)
        ]
        self._listed = bool(trace.runs) and all(run.first_row >= 0 for run in trace.runs)
        rows = np.array([run.first_row for run in trace.runs], np.int64)
        self._by_row = np.argsort(rows, kind="stable")
        self._rows = rows[self._by_row]

    def of_slices(self) -> Ints:
        """Return the run of every slice, -1 for none."""
        trace = self._trace
        if self._listed:
            return run_of_slices(trace)
        run_of_slice = np.full(len(trace.slices), -1)
        ptr = trace.slices.row_ptr
        for row, track in enumerate(trace.slices.row_track.tolist()):
            row_span = slice(int(ptr[row]), int(ptr[row + 1]))
            run_of_slice[row_span] = self._at(track, trace.slices.start[row_span])
        return run_of_slice

    def of(self, i: int) -> int:
        """Return the run of slice i, or -1."""
        slices = self._trace.slices
        if self._listed:
            position = int(np.searchsorted(self._rows, int(slices.source_row[i]), "right")) - 1
            return int(self._by_row[position]) if position >= 0 else -1
        return int(self._at(slices.track(i), slices.start[i : i + 1])[0])

    def _at(self, track: int, begins: Ints) -> Ints:
        start, end, number = self._of_track[track].T
        if not len(start):
            return np.full(len(begins), -1)
        index = np.searchsorted(start, begins, "right") - 1
        is_inside = (index >= 0) & (begins <= end[np.maximum(index, 0)])
        return np.where(is_inside, number[np.maximum(index, 0)], -1)


class _TooMuch(Exception):
    """Finding the flows of a slice takes more effort than the caller allows."""


class _Effort:
    """The remaining number of operators that may be checked; None: no limit."""

    def __init__(self, most: int | None) -> None:
        self._left = most

    def spend(self, much: int) -> None:
        """Use up some of it; raises `_TooMuch` if none is left."""
        if self._left is not None:
            self._left -= much
            if self._left < 0:
                raise _TooMuch


class _Place:
    """The position of one slice, to find the nearest among other slices."""

    def __init__(self, index: FlowIndex, i: int) -> None:
        trace = index.table.trace
        self._slices = trace.slices
        self._i = i
        self.run = index.run_of(i)
        self._start, self._end = int(self._slices.start[i]), int(self._slices.end[i])
        row = self._slices.row_of(i)
        self._track, self._lane, self._depth = (
            int(column[row])
            for column in (self._slices.row_track, self._slices.row_lane, self._slices.row_depth)
        )
        process = trace.tracks[self._track].process
        # Priority of each track: 2 the same track, 1 the same process, 0 any other.
        self._nearness: Ints = np.array([t.process == process for t in trace.tracks], np.int64)
        self._nearness[self._track] = 2

    def is_inside(self, slices: Codes) -> bool:
        """Return whether one of an operator's slices is this one, around it or inside it."""
        slices = self._window(slices)
        start, end, rows = self._columns(slices)
        mask, depth = self._slices.row_track[rows] == self._track, self._slices.row_depth[rows]
        mask &= self._slices.row_lane[rows] == self._lane
        inside = (depth > self._depth) & (start >= self._start) & (end <= self._end)
        around = (depth < self._depth) & (start <= self._start) & (end >= self._end)
        return bool(((slices == self._i) | mask & (inside | around)).any())

    def nearest(self, slices: Codes, *, forward: bool) -> tuple[int, bool] | None:
        """Return the operator's producing (or consuming) slice, and whether it overlaps."""
        slices = self._outermost(self._window(slices))
        start, end, rows = self._columns(slices)
        near = self._nearness[self._slices.row_track[rows]]
        if forward:
            clear, overlapping = start >= self._end, end > self._end
        else:
            clear, overlapping = end <= self._start, start < self._start
        for chosen, overlaps in ((clear, False), (overlapping, True)):
            index = np.flatnonzero(chosen)
            if len(index):
                index = index[near[index] == near[index].max()]
                if forward:
                    best = np.lexsort((slices[index], end[index] if overlaps else start[index]))[0]
                else:
                    best = np.lexsort((slices[index], start[index] if overlaps else end[index]))[-1]
                return int(slices[index[best]]), overlaps
        return None

    def _columns(self, slices: Codes) -> tuple[Ints, Ints, Ints]:
        rows = np.searchsorted(self._slices.row_ptr, slices, side="right") - 1
        return self._slices.start[slices], self._slices.end[slices], rows

    def _outermost(self, slices: Codes) -> Codes:
        start, end, rows = self._columns(slices)
        place = self._slices.row_track[rows].astype(np.int64) << 32 | self._slices.row_lane[rows]
        depth = self._slices.row_depth[rows]
        is_outermost = np.ones(len(slices), np.bool_)
        for each in np.unique(place):
            index = np.flatnonzero(place == each)
            index = index[np.lexsort((depth[index], -end[index], start[index]))]
            reach = np.maximum.accumulate(end[index])[:-1]
            is_outermost[index[1:]] = (end[index[1:]] > reach) | (start[index[1:]] >= reach)
        return slices[is_outermost]

    def _window(self, slices: Codes) -> Codes:
        """Return at most `MOST_COMPARED` slices that start nearest to this one, by start."""
        if len(slices) <= MOST_COMPARED:
            return slices
        starts = self._slices.start
        position = bisect_left(slices, self._start, key=lambda i: int(starts[i]))
        first = max(position - MOST_COMPARED // 2, 0)
        return slices[first : first + MOST_COMPARED]


class JobFlows:
    """The actions and jobs of one trace; each query searches the rows of one process.

    The file has no event for a job: the reader derives it, from the start of the start action to
    the end of the wait action. So the start is the only action of its process that starts with the
    job, and the wait the only one that ends with it, to the tick. If there are two candidates,
    none is used.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._rows: dict[tuple[str, Unit], list[int]] = {}
        for row, track in enumerate(trace.slices.row_track.tolist()):
            place = trace.tracks[track]
            if place.unit in (Unit.HOST, Unit.NSS):
                self._rows.setdefault((place.process, place.unit), []).append(row)

    def is_job(self, i: int) -> bool:
        """Return whether slice i is a job derived from its start and wait actions."""
        derived = self._trace.slices.derived
        track = self._trace.tracks[self._trace.slices.track(i)]
        return track.unit is Unit.NSS and derived is not None and bool(derived[i])

    def next_to(self, i: int, *, forward: bool) -> int | None:
        """Return the neighbor of slice i in the flow of a job, or None.

        Forward: the job that it starts, or the wait for the job that it is. Backward: the start of
        the job that it is, or the job that it waits for.
        """
        if not self._rows:
            return None
        trace = self._trace
        track = trace.tracks[trace.slices.track(i)]
        if self.is_job(i):
            words = _WAITS if forward else _STARTS
            return self._alone(track.process, Unit.HOST, i, at_end=forward, words=words)
        if track.unit is Unit.HOST and trace.name(i) in (_STARTS if forward else _WAITS):
            return self._alone(track.process, Unit.NSS, i, at_end=not forward, words=())
        return None

    def _alone(
        self, process: str, unit: Unit, i: int, *, at_end: bool, words: tuple[str, ...]
    ) -> int | None:
        """Return the only slice of a unit that starts (or ends) with slice i, else None.

        words: the names that it may have; empty for a job.
        """
        slices = self._trace.slices
        times = slices.end if at_end else slices.start
        neighbors: list[int] = []
        for row in self._rows.get((process, unit), ()):
            # Slices of one row do not overlap, so their ends are sorted too.
            lo, hi = int(slices.row_ptr[row]), int(slices.row_ptr[row + 1])
            first, last = (
                lo + int(np.searchsorted(times[lo:hi], times[i], side))
                for side in ("left", "right")
            )
            neighbors += [
                j
                for j in range(first, min(last, first + 8))
                if (self._trace.name(j) in words if words else self.is_job(j))
            ]
        return neighbors[0] if len(neighbors) == 1 else None
