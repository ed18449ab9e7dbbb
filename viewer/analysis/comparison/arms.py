"""An arm of a comparison: sessions of one program, with the time of any group of its parts.

Each session counts once, by the median of its inferences: sessions differ by more than their
inferences do. Rates are of wall time, as what the host does between inferences is in none of them.

The noise of a device is how much session medians of one unchanged program vary. A comparison of one
or two sessions says nothing about its own noise. What was measured before, on the same device,
gives its changes an interval, though no verdict. In 400 random choices of sessions of
tests/data/compare, the noise of seven covered 95 % of the changes between two others.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import log1p

import numpy as np

from viewer.analysis.comparison.levels import CALLS, LEVELS_OF_CALLS, NAME, SET
from viewer.analysis.comparison.rollups import AND, OUTERMOST, rolled_times
from viewer.analysis.comparison.session_test import (
    LEAST_SESSIONS,
    THRESHOLD,
    Changes,
    two_sided_quantile,
)
from viewer.analysis.comparison.sessions import MethodTimes, Part, PartId, Session
from viewer.analysis.links.labels import set_label
from viewer.analysis.sequence.wall_time import rate_of
from viewer.analysis.torq.measured_actions import states
from viewer.arrays import Bools, Floats, Ints, lists_by_key
from viewer.dataclasses import dataclass, replace
from viewer.model.inference_views import series_of
from viewer.model.quantiles import median, medians
from viewer.model.recorded_names import ACTION, JOB, LOCATION
from viewer.model.times import NARROW_SPACE, counted, format_time
from viewer.model.trace import Run
from viewer.model.trace_attributes import WorkUnit, common_unit
from viewer.program.program import Program

# A time within so many steps of its clock says nothing about a change of a few percent.
GRAINS = 2
# Inferences of a session whose first half is compared with the second.
_LEAST_HALVED = 4


@dataclass(frozen=True, eq=False)
class Arm:
    """Sessions of one program. Parts are numbered as in `parts`.

    choice: which of their inferences it has, in words; "" for all. method: the only method that
    they are of, "" if they were not chosen by it. level: what the parts are: calls for
    `LEVELS_OF_CALLS`, or the groups of a level of `rollups`.
    """

    sessions: tuple[Session, ...]
    choice: str = ""
    method: str = ""
    level: str = CALLS

    @property
    def unit(self) -> WorkUnit:
        """What its files call their inferences."""
        return common_unit(session.table.trace.unit for session in self.sessions)

    def by(self, level: str) -> Arm:
        """The same sessions with the parts of another level."""
        return replace(self, level=level)

    @cached_property
    def _times(self) -> tuple[tuple[MethodTimes, ...], ...]:
        if self.level in LEVELS_OF_CALLS:
            return tuple(session.methods for session in self.sessions)
        return tuple(rolled_times(session, self.level) for session in self.sessions)

    @property
    def program(self) -> Program | None:
        """The program that the sessions are linked to: that of the first that has one."""
        return next(
            (session.program for session in self.sessions if session.program is not None), None
        )

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of all sessions, in the order in which they first ran."""
        return self._numbering[0]

    @property
    def number(self) -> dict[PartId, int]:
        return self._numbering[1]

    @cached_property
    def _numbering(self) -> tuple[tuple[Part, ...], dict[PartId, int], dict[int, Ints]]:
        """The parts, their numbers, and the numbers of each tuple of parts by its `id`.

        In one pass: of 5,000 parts in 14 sessions, to hash an identity takes 50 ms each time.
        """
        parts: list[Part] = []
        number: dict[PartId, int] = {}
        of_parts: dict[int, Ints] = {}
        for methods in self._times:
            for times in methods:
                numbers = []
                for part in times.parts:
                    index = number.setdefault(part.id, len(parts))
                    if index == len(parts):
                        parts.append(part)
                    numbers.append(index)
                of_parts[id(times.parts)] = np.array(numbers, np.int64)
        return tuple(parts), number, of_parts

    @cached_property
    def grain_ns(self) -> Floats:
        """Per part, the ns by which its times differ at least, in any session."""
        largest = np.zeros(len(self.parts))
        for session, methods in zip(self.sessions, self._times, strict=True):
            for times in methods:
                grain_ns = times.grain * times.calls * session.ns_per_tick
                np.maximum.at(largest, self._numbers(times), grain_ns)
        return largest

    @cached_property
    def is_measured(self) -> Bools:
        """Per part, whether all of its times are measured."""
        is_measured = np.ones(len(self.parts), np.bool_)
        for methods in self._times:
            for times in methods:
                is_measured[self._numbers(times)[~times.measured]] = False
        return is_measured

    @property
    def units(self) -> frozenset[str]:
        """The units of the clocks of its sessions."""
        return frozenset(session.unit for session in self.sessions)

    def medians(self, groups: Sequence[Iterable[int]]) -> Floats:
        """The median time of groups of parts, of shape (sessions, groups), in ns.

        Of each session, it is the median over its inferences of the sum of the parts that ran; NaN
        if none did; of several methods, the sum of their medians. A part is in at most one group.
        """
        return self._medians(self._group_of(groups), len(groups), self._times)

    def half_medians(self, groups: Sequence[Iterable[int]]) -> tuple[Floats, Floats]:
        """The same of the first and of the second half of the inferences of each session.

        NaN for sessions with less than `_LEAST_HALVED` inferences of a method.
        """
        group_of = self._group_of(groups)
        first, second = (
            self._medians(group_of, len(groups), tuple(times[half] for times in self._half_times))
            for half in (0, 1)
        )
        return first, second

    @cached_property
    def _half_times(self) -> tuple[tuple[tuple[MethodTimes, ...], tuple[MethodTimes, ...]], ...]:
        """The times of the parts in both halves of every session."""
        if self.level in LEVELS_OF_CALLS:
            return tuple(map(_half_methods, self._times))
        return tuple(
            (rolled_times(first, self.level), rolled_times(second, self.level))
            for first, second in map(half_sessions, self.sessions)
        )

    def _group_of(self, groups: Sequence[Iterable[int]]) -> Ints:
        group_of = np.full(len(self.parts), -1)
        for i, group in enumerate(groups):
            group_of[list(group)] = i
        return group_of

    def _medians(
        self, group_of: Ints, count: int, every: Sequence[Sequence[MethodTimes]]
    ) -> Floats:
        session_medians = np.full((len(self.sessions), count), np.nan)
        for row, (session, methods) in enumerate(zip(self.sessions, every, strict=True)):
            for times in methods:
                if not times.runs:
                    continue
                used, ticks = _summed(times, group_of[self._numbers(times)])
                # A delegate may be called by several methods: as an inference, it adds them up.
                both = np.stack([session_medians[row, used], ticks * session.ns_per_tick])
                sums = np.nansum(both, axis=0)
                session_medians[row, used] = np.where(np.isnan(both).all(axis=0), np.nan, sums)
        return session_medians

    @cached_property
    def inference(self) -> Floats:
        """The median time of an inference per session, in ns; of several methods, their sum."""
        return self.inference_of(None)

    def inference_of(self, methods: Collection[str] | None) -> Floats:
        """The same for some methods; NaN for a session that lacks one of them. None: for all."""
        medians = [_median_inference(session, methods) for session in self.sessions]
        return np.array(medians, np.float64)

    def half_inferences_of(self, methods: Collection[str] | None) -> tuple[Floats, Floats]:
        """The same of the first and of the second half of the inferences of each session."""
        halves = [half_sessions(session) for session in self.sessions]
        first, second = (
            np.array([_median_inference(pair[half], methods) for pair in halves], np.float64)
            for half in (0, 1)
        )
        return first, second

    @cached_property
    def methods(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The methods that all sessions ran, and those that only some of them did."""
        ran = [_methods_of(session) for session in self.sessions]
        every = tuple(dict.fromkeys(name for names in ran for name in names))
        common = tuple(name for name in every if all(name in names for names in ran))
        return common, tuple(name for name in every if name not in common)

    def _numbers(self, times: MethodTimes) -> Ints:
        numbers = self._numbering[2].get(id(times.parts))
        if numbers is not None:
            return numbers
        return np.array([self.number[part.id] for part in times.parts], np.int64)


def level_without_calls(a: Arm, b: Arm) -> str:
    """Return the finest level at which arms without calls of instructions have something in common.

    It is that of operators, or else of what Torq profiles state, or else of names.
    """
    if a.program is not None and b.program is not None:
        return SET
    traces = [session.table.trace for session in (*a.sessions, *b.sessions)]
    for level in (LOCATION, ACTION, JOB):
        if all(states(trace, level) for trace in traces):
            of_a, of_b = a.by(level).number.keys(), b.by(level).number.keys()
            if of_a & of_b:
                return level
    return NAME


def is_one_file(a: Arm, b: Arm) -> bool:
    """Whether both arms are chosen inferences of one file."""
    both = [session.table.trace.path for arm in (a, b) for session in arm.sessions]
    return bool(a.choice and b.choice) and len(both) == 2 and both[0] == both[1]


def figures_text(a: Arm, b: Arm, *, relative: bool) -> str:
    """Return what the figures of a comparison are: "medians of 4 + 4 sessions".

    Of parts of one file: "inference 3 → median of inferences 4 to 12".
    """
    if is_one_file(a, b):
        text = f"{_median_of(a)} → {_median_of(b)}"
    else:
        text = f"medians of {len(a.sessions)} + {len(b.sessions)} sessions"
    return f"{text}, relative to the {a.unit.noun}" if relative else text


def _median_of(arm: Arm) -> str:
    is_one = sum(len(session.runs) for session in arm.sessions) == 1
    return arm.choice if is_one else f"median of {arm.choice}"


def median_of_sessions(times: Floats) -> Floats:
    """The median over the sessions that have a row; NaN if none has."""
    return medians(times, axis=0)


def drifts_of(halves: Sequence[tuple[Floats, Floats]], grain: Floats) -> tuple[float | None, ...]:
    """Return how much rows change within sessions, as in `Comparison.drifts`.

    halves: per arm, the times in the first and in the second half, of shape (sessions, rows).
    """
    largest = np.zeros(len(grain))
    is_known = np.zeros(len(grain), np.bool_)
    for first, second in halves:
        is_timed = (first > 0) & (second > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = median_of_sessions(np.where(is_timed, np.log(second / first), np.nan))
            steps = np.abs(median_of_sessions(np.where(is_timed, second - first, np.nan)))
        is_above = np.isfinite(logs) & (steps > GRAINS * grain)
        is_known |= np.isfinite(logs)
        is_larger = is_above & (np.abs(logs) > np.abs(largest))
        largest[is_larger] = logs[is_larger]
    return tuple(
        float(np.expm1(drift)) if has_drift else None
        for drift, has_drift in zip(largest.tolist(), is_known.tolist(), strict=True)
    )


def drift_exceeds(drift: float | None, change: float | None) -> bool:
    """Whether a row changes more within sessions than from A to B, and by more than `THRESHOLD`."""
    if drift is None or change is None:
        return False
    within = abs(log1p(drift))
    return within > max(abs(log1p(change)), log1p(THRESHOLD))


def _halves(runs: Sequence[Run]) -> tuple[list[int], list[int]]:
    """The places of the first and of the last runs, in order of time, without one in the middle.

    Both are empty for less than `_LEAST_HALVED` runs.
    """
    order = sorted(range(len(runs)), key=lambda i: runs[i].start)
    half = len(order) // 2 if len(order) >= _LEAST_HALVED else 0
    return order[:half], order[len(order) - half :]


def _half_methods(
    methods: Sequence[MethodTimes],
) -> tuple[tuple[MethodTimes, ...], tuple[MethodTimes, ...]]:
    """The times of methods in the first half of their inferences, and in the second."""
    halves = [_halves(times.runs) for times in methods]
    first, second = (
        tuple(
            replace(times, runs=tuple(times.runs[i] for i in half[k]), ticks=times.ticks[half[k]])
            for times, half in zip(methods, halves, strict=True)
        )
        for k in (0, 1)
    )
    return first, second


def half_sessions(session: Session) -> tuple[Session, Session]:
    """Return a session with the first half of its inferences of each method, and with the second.

    Both are without inferences if there are less than `_LEAST_HALVED` of a method.
    """
    of_scopes = lists_by_key((run.scope, run) for run in session.runs)
    halves = [(runs, _halves(runs)) for runs in of_scopes.values()]
    first, second = (
        replace(session, runs=tuple(runs[i] for runs, half in halves for i in half[k]))
        for k in (0, 1)
    )
    return first, second


def _methods_of(session: Session) -> tuple[str, ...]:
    """The methods of the inferences of a session; () for a file without inferences."""
    if session.is_whole:
        return ()
    return tuple(dict.fromkeys(session.method_of(run.scope)[0] for run in session.runs))


def _median_inference(session: Session, methods: Collection[str] | None) -> float:
    of_methods: dict[str, list[int]] = {}
    for run in session.runs:
        name = "" if session.is_whole else session.method_of(run.scope)[0]
        if methods is None or name in methods:
            of_methods.setdefault(name, []).append(run.end - run.start)
    if not of_methods or (methods is not None and len(of_methods) < len(methods)):
        return np.nan
    return sum(median(value) for value in of_methods.values()) * session.ns_per_tick


def _summed(times: MethodTimes, group_of: Ints) -> tuple[Ints, Floats]:
    """The groups that have parts of a method, and the median over its runs of their sums."""
    is_used = group_of >= 0
    used, place = np.unique(group_of[is_used], return_inverse=True)
    ticks = times.ticks[:, is_used]
    ran = np.isfinite(ticks)
    total = np.zeros((len(used), len(times.runs)))
    np.add.at(total, place, np.where(ran, ticks, 0).T)
    count = np.zeros(total.shape)
    np.add.at(count, place, ran.T)
    if (count > 0).all():
        return used, medians(total) if total.size else np.zeros(len(used))
    total[count == 0] = np.nan  # NaN for a group that never ran
    return used, medians(total)


def shared_inferences(a: Arm, b: Arm) -> int:
    """Return how many inferences are in both arms."""
    of_a, of_b = (
        {
            (session.table.trace.path, run.start, run.end)
            for session in arm.sessions
            if not session.is_whole
            for run in session.runs
        }
        for arm in (a, b)
    )
    return len(of_a & of_b)


def typical_run(arm: Arm, method: str = "") -> tuple[Session, Run] | None:
    """Return the session and the run; None for an arm without runs.

    Its parts, and the time between its calls, differ least from the medians of the arm, in sum. The
    run of median duration is no good choice: where processes are interrupted, most runs have one
    call that takes much too long, and so has that one. method: only runs of it, if it has any; else
    of the method that takes longest. An arm of files without methods has that one after all.
    """
    usual = median_of_sessions(arm.medians([[i] for i in range(len(arm.parts))]))
    gap = _usual_gap(arm)
    of_methods: dict[str, float] = {}
    for session in arm.sessions:
        for times in session.methods:
            usual_ns = float(np.nansum(usual[[arm.number[part.id] for part in times.parts]]))
            of_methods[times.method] = max(of_methods.get(times.method, 0.0), usual_ns)
    if not of_methods:
        return _of_median_duration(arm)
    chosen = method if method in of_methods else max(of_methods, key=lambda name: of_methods[name])
    best: tuple[float, Session, Run] | None = None
    for session in arm.sessions:
        for times in session.methods:
            if times.method != chosen or not times.runs:
                continue
            wanted = usual[[arm.number[part.id] for part in times.parts]]
            ran = np.nan_to_num(times.ticks * session.ns_per_tick)
            distance = np.abs(ran - np.nan_to_num(wanted)).sum(axis=1)
            distance += np.abs(_gaps(session, times) - gap[chosen])
            nearest = int(np.argmin(distance))
            if best is None or distance[nearest] < best[0]:
                best = float(distance[nearest]), session, times.runs[nearest]
    return None if best is None else best[1:]


def _usual_gap(arm: Arm) -> dict[str, float]:
    """Method -> the median time of a run, in ns, in which no call runs."""
    gaps = lists_by_key(
        (times.method, _gaps(session, times))
        for session in arm.sessions
        for times in session.methods
    )
    return {method: median(np.concatenate(method_gaps)) for method, method_gaps in gaps.items()}


def _gaps(session: Session, times: MethodTimes) -> Floats:
    """The time of each run in which no call runs, in ns."""
    is_call = np.array([part.id.event is None for part in times.parts], np.bool_)
    in_calls = np.nan_to_num(times.ticks[:, is_call]).sum(axis=1)
    durations = np.array([run.end - run.start for run in times.runs], np.float64)
    gaps: Floats = (durations - in_calls) * session.ns_per_tick
    return gaps


def _of_median_duration(arm: Arm) -> tuple[Session, Run] | None:
    every = [
        ((run.end - run.start) * session.ns_per_tick, session, run)
        for session in arm.sessions
        for run in session.runs
    ]
    if not every:
        return None
    middle = median([took for took, _, _ in every])
    return min(every, key=lambda candidate: (abs(candidate[0] - middle), candidate[0]))[1:]


_NUMBERED = re.compile(r"\s*#[0-9]+$")


@dataclass(frozen=True, slots=True)
class Noise:
    """The standard deviations of log session medians: of the inference, and by operator type.

    sessions: how many were measured. typical: of a type that was not measured.
    """

    sessions: int
    inference: float
    types: Mapping[str, float]

    @property
    def typical(self) -> float:
        """The median over the types; that of the inference if there are none."""
        return median([*self.types.values()]) if self.types else self.inference

    def of(self, kind: str) -> float:
        """The deviation of a type."""
        return self.types.get(kind, self.typical)

    def half_widths(self, deviations: Floats, count_a: Floats, count_b: Floats) -> Floats:
        """Half of the 95 % interval of log changes between so many sessions of A and of B."""
        t = two_sided_quantile(0.05, np.array([max(self.sessions - 1.0, 1.0)]))[0]
        with np.errstate(divide="ignore"):
            half_widths: Floats = t * deviations * np.sqrt(1 / count_a + 1 / count_b)
        return half_widths


def noise_of(arm: Arm) -> Noise:
    """Return the noise of sessions of one unchanged program. Raises ValueError for less than two.

    Parts that are below their clock, or not in every session, are left out.
    """
    if len(arm.sessions) < 2:
        raise ValueError("noise needs at least 2 sessions of one program")
    medians = arm.medians([[number] for number in range(len(arm.parts))])
    variances: dict[str, list[float]] = {}
    for number, times in enumerate(medians.T):
        positive = times[np.isfinite(times) & (times > 0)]
        if len(positive) == len(times) and median(positive) > 2 * arm.grain_ns[number]:
            variance = float(np.log(positive).var(ddof=1))
            variances.setdefault(type_of_parts(arm, [number]), []).append(variance)
    types = {kind: float(np.sqrt(np.mean(of_type))) for kind, of_type in sorted(variances.items())}
    if not (arm.inference > 0).all():
        raise ValueError("noise needs inferences that take time")
    inference = float(np.log(arm.inference).std(ddof=1))
    return Noise(len(arm.sessions), inference, types)


def type_of_parts(arm: Arm, parts: Sequence[int]) -> str:
    """The operator type of some parts; names of kernels or events, without numbers, if unknown."""
    program = arm.program
    calls = [arm.parts[number] for number in parts]
    operators = {i for part in calls for i in part.operators if part.id.event is None}
    if program is not None and operators:
        kinds = {program.operators[i].op for i in operators}
    else:
        kinds = {_NUMBERED.sub("", part.name) for part in calls}
    return " + ".join(sorted(kinds))


def with_noise(noise: Noise, deviations: Floats, changes: Changes, a: Floats, b: Floats) -> Changes:
    """Return changes with intervals from known noise where there are too few sessions.

    deviations: of each row. a, b: the session medians, of shape (sessions, rows).
    """
    count_a, count_b = (np.isfinite(times).sum(axis=0).astype(np.float64) for times in (a, b))
    half = noise.half_widths(deviations, count_a, count_b)
    few = np.minimum(count_a, count_b) < LEAST_SESSIONS
    return replace(
        changes,
        low=np.where(few, changes.log_ratio - half, changes.low),
        high=np.where(few, changes.log_ratio + half, changes.high),
    )


@dataclass(frozen=True, slots=True)
class Spread:
    """A time over sessions, in ns. name: of the method or operator, "" if there is one only.

    median: of the medians of sessions, of which least and most are the smallest and the largest.
    of_sessions: these medians, NaN for a session that did not run it. operators: indexes into
    `Program.operators`.
    """

    name: str
    median: float
    least: float
    most: float
    of_sessions: tuple[float, ...]
    operators: tuple[int, ...] = ()

    @property
    def sessions(self) -> int:
        """How many sessions ran it."""
        return sum(ns == ns for ns in self.of_sessions)

    @property
    def share(self) -> float | None:
        """From the smallest to the largest, as a share of the median; None if that is 0."""
        return (self.most - self.least) / self.median if self.median > 0 else None

    @property
    def range_text(self) -> str:
        """From the smallest to the largest: "11.951 µs to 13.084 µs (9.1 %)"."""
        ends = " to ".join(format_time(round(ns)) for ns in (self.least, self.most))
        share = self.share
        return ends if share is None else f"{ends} ({100 * share:.1f}{NARROW_SPACE}%)"


def inference_spread(arm: Arm) -> tuple[Spread, ...]:
    """Return what an inference of each method takes, in the order in which they first ran.

    Of files without inferences, what all of each takes.
    """
    every = [name for names in arm.methods for name in names]
    if not every:
        return _spread([""], arm.inference[:, None])
    columns = np.stack([arm.inference_of([name]) for name in every], axis=1)
    return _spread([name if len(every) > 1 else "" for name in every], columns)


def operator_spread(arm: Arm) -> tuple[Spread, ...]:
    """Return what each operator takes in an inference, or each name without a model; dearest first.

    Time that several operators share is a row of its own.
    """
    rolled = arm.by(level_without_calls(arm, arm))
    if not rolled.parts:
        return ()
    times = rolled.medians([[number] for number in range(len(rolled.parts))])
    rows = _spread(
        [_name_of(part, arm) for part in rolled.parts],
        times,
        [part.operators for part in rolled.parts],
    )
    return tuple(sorted(rows, key=lambda row: -row.median))


def set_text(arm: Arm) -> str:
    """Name sessions as one: "7 sessions, 154 inferences"."""
    text = counted(len(arm.sessions), "session")
    if all(session.is_whole for session in arm.sessions):
        return text
    return f"{text}, {counted(sum(len(session.runs) for session in arm.sessions), 'inference')}"


def _name_of(part: Part, arm: Arm) -> str:
    if len(part.id.group) > 1 and part.operators:
        return set_label(arm.sessions[0].table, part.operators)
    return AND.join(part.id.group).removeprefix(f"{OUTERMOST} · ") or part.name


def _spread(
    names: list[str], times: Floats, operators: list[tuple[int, ...]] | None = None
) -> tuple[Spread, ...]:
    """Return a row per column of the times of sessions."""
    middle = median_of_sessions(times)
    rows = []
    for column, (name, of_sessions_median) in enumerate(zip(names, middle.tolist(), strict=True)):
        of_sessions = times[:, column]
        ran = of_sessions[np.isfinite(of_sessions)]
        if len(ran):
            rows.append(
                Spread(
                    name,
                    of_sessions_median,
                    float(ran.min()),
                    float(ran.max()),
                    tuple(of_sessions.tolist()),
                    operators[column] if operators else (),
                )
            )
    return tuple(rows)


@dataclass(frozen=True, slots=True)
class WallRate:
    """Medians over the sessions of an arm that have a rate.

    per_second: inferences per second of wall time. gap_ns: median time between inferences.
    idle_share: the part of the wall time between them, 0 to 1.
    """

    per_second: float
    gap_ns: float
    idle_share: float


def wall_rate(arm: Arm) -> WallRate | None:
    """Return the rate of an arm, None if the files do not show when inferences started."""
    return rate_of_sessions([rate for each in arm.sessions if (rate := _of(each)) is not None])


def rate_of_sessions(sessions: Sequence[WallRate]) -> WallRate | None:
    """Return the medians over the sessions of an arm, None without any."""
    if not sessions:
        return None
    return WallRate(
        statistics.median(each.per_second for each in sessions),
        statistics.median(each.gap_ns for each in sessions),
        statistics.median(each.idle_share for each in sessions),
    )


def _of(session: Session) -> WallRate | None:
    trace = session.table.trace
    if session.is_whole or len({series_of(trace, run) for run in session.runs}) != 1:
        return None
    position = {id(run): at for at, run in enumerate(trace.runs)}
    runs = [position[id(run)] for run in session.runs if id(run) in position]
    rate = rate_of(trace, runs)
    per_second = None if rate is None else rate.per_second(Fraction(session.ns_per_tick))
    if rate is None or per_second is None:
        return None
    return WallRate(per_second, statistics.median(rate.gaps) * session.ns_per_tick, rate.share)
