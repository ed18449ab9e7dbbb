"""A comparison of two arms: rows with their times, changes and verdicts, and where the time went.

*Slower* and *faster* are proven, *no change* means that the whole interval is inside the threshold,
and everything else is *cannot tell*: that nothing is significant does not mean that nothing
changed.

The steps from an inference of A to one of B add up exactly to the times that the headline states.
Events inside delegate calls have no step, as their calls have one. The last step is what no row
has: the time between calls, and single calls that ran long, which a median of a row leaves out and
a median of totals does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import cached_property

import numpy as np

from viewer.analysis.comparison.arms import (
    GRAINS,
    Arm,
    Noise,
    drifts_of,
    level_without_calls,
    median_of_sessions,
    shared_inferences,
    type_of_parts,
    with_noise,
)
from viewer.analysis.comparison.hand_pairs import NO_PAIRS, HandPairs
from viewer.analysis.comparison.levels import (
    CALLS,
    DELEGATE,
    IDENTITIES,
    LEVELS_OF_CALLS,
    NAME,
    PATH,
    UNIT,
)
from viewer.analysis.comparison.operator_pairs import OperatorPairs, Row
from viewer.analysis.comparison.rows import DELEGATE_EVENT, paired_operators, rows_of
from viewer.analysis.comparison.session_test import LEAST_SESSIONS, THRESHOLD, Changes, compared
from viewer.analysis.comparison.sessions import Difference, differences
from viewer.arrays import Bools, Floats, Ints
from viewer.dataclasses import dataclass
from viewer.model.quantiles import median
from viewer.model.trace_attributes import WorkUnit, common_unit


class Verdict(Enum):
    """What is known about a change."""

    SLOWER = "slower"
    FASTER = "faster"
    NO_CHANGE = "no_change"
    CANNOT_TELL = "cannot_tell"


VERDICTS = tuple(Verdict)


class Doubt(Enum):
    """Why nothing can be told about a row."""

    ONE_SESSION = "one session"
    FEW_SESSIONS = "few sessions"
    NOISE = "noise"
    BELOW_CLOCK = "below the clock"
    DIFFERENT_CLOCKS = "different clocks"
    NOT_MEASURED = "not measured"
    ONLY_IN_ONE = "only in one arm"
    CONFOUNDED = "confounded"


@dataclass(frozen=True, slots=True)
class Compared:
    """The figures of one row, or of the whole inference.

    a_ns, b_ns: the median of the session medians; None if the arm does not have the row.
    sessions_a, sessions_b: the medians of the sessions that have it. change: `b_ns / a_ns - 1`;
    None if an arm has no time. interval: the 95 % interval of the change, from the mean log medians
    (one outlier makes it wide); None with less than two sessions in an arm. p, q: None if it was
    not tested. detectable: the smallest change that these sessions would have shown.
    """

    a_ns: float | None
    b_ns: float | None
    sessions_a: tuple[float, ...]
    sessions_b: tuple[float, ...]
    change: float | None
    interval: tuple[float, float] | None
    p: float | None
    q: float | None
    detectable: float | None
    verdict: Verdict
    doubt: Doubt | None

    @property
    def change_ns(self) -> float:
        """How much longer B takes, in ns; a side that does not have the row counts as 0.

        0 for different clocks, whose times have no difference.
        """
        if self.doubt is Doubt.DIFFERENT_CLOCKS:
            return 0.0
        return (self.b_ns or 0.0) - (self.a_ns or 0.0)


@dataclass(frozen=True, slots=True)
class Waterfall:
    """Where the change of an inference comes from; all in ns, and `a + the rest == b`.

    common: of all rows by the common factor, if they are relative to the inference. pairs: of rows
    in both arms. only_a, only_b: of rows in one arm, negative and positive. rest:
    what no row has, such as the time between calls, and what medians do not add up to.
    """

    a: float
    common: float
    pairs: float
    only_a: float
    only_b: float
    rest: float
    b: float


class Comparison:
    """Two arms, compared.

    noise: of the device, for the intervals of arms with one session or two. level: what the rows
    are: calls by default, or a level of `rollups`. Profiles without calls of instructions are
    compared by operator, by what Torq profiles state, or by the names of their slices. by_hand: the
    user's pairs. relative: divide the times of the rows of every session by its inference, and
    multiply them by the inference of A, if `can_be_relative`. The inference itself stays as it is.
    """

    def __init__(
        self,
        a: Arm,
        b: Arm,
        level: str = CALLS,
        noise: Noise | None = None,
        by_hand: HandPairs = NO_PAIRS,
        *,
        relative: bool = False,
    ) -> None:
        if level in (CALLS, DELEGATE) and not (a.parts and b.parts):
            level = level_without_calls(a, b)
        self.a, self.b, self._noise = a.by(level), b.by(level), noise
        self._by_hand = by_hand
        self.is_relative = relative and self.can_be_relative

    @cached_property
    def pairs(self) -> OperatorPairs:
        """Which operators belong together."""
        return paired_operators(self.a, self.b, self._by_hand)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """All rows of all levels."""
        return rows_of(self.a, self.b, self.pairs, self._by_hand)

    @property
    def compared(self) -> tuple[Compared, ...]:
        """The figures of `rows`."""
        return self._all[:-1]

    @property
    def unit(self) -> WorkUnit:
        """What the files of both arms call their inferences."""
        return common_unit(arm.unit for arm in (self.a, self.b) if arm.sessions)

    @property
    def inference(self) -> Compared:
        """The figures of the whole inference."""
        return self._all[-1]

    @cached_property
    def _all(self) -> tuple[Compared, ...]:
        """The figures of all rows and of the inference: one family of tests.

        Tested apart, rows of calls, of events inside them, and the inference would each raise a
        false alarm in up to 5 % of comparisons.
        """
        rows = self.rows
        a, b = (
            np.column_stack([self.medians(side, parts), self.inference_times[side]])
            for side, parts in ((0, [row.a for row in rows]), (1, [row.b for row in rows]))
        )
        grain = np.array([*map(self._grain, rows), 0.0])
        is_measured = [self._is_measured(row) for row in rows]
        estimated = any(session.is_estimated for session in (*self.a.sessions, *self.b.sessions))
        whole = all(is_measured) and not estimated
        measured = np.array([*is_measured, whole], np.bool_)
        noise = None
        if self._noise is not None:
            deviations = [self.deviation(self._noise, row) for row in rows]
            noise = self._noise, np.array([*deviations, self._noise.inference])
        confounded = np.append(self.confounded(len(rows)), self.is_confounded)
        figures = figures_of(a, b, grain, measured, self.is_of_time, noise, confounded)
        return tuple(map(figures.of, range(len(figures))))

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        """The conditions that differ between the arms."""
        a, b = ([session.conditions for session in arm.sessions] for arm in (self.a, self.b))
        return differences(a, b)

    @property
    def is_confounded(self) -> bool:
        """Whether the sessions cannot tell such a condition from a change of the program."""
        return any(difference.is_inseparable for difference in self.differences)

    def confounded(self, count: int) -> Bools:
        """The same of rows; not if they are relative, which takes away what all have in common."""
        return np.full(count, self.is_confounded and not self.is_relative)

    def deviation(self, noise: Noise, row: Row) -> float:
        """The known deviation of the times of a row."""
        arm, parts = (self.a, row.a) if row.a else (self.b, row.b)
        return noise.of(type_of_parts(arm, parts))

    def medians(self, side: int, groups: Sequence[tuple[int, ...]]) -> Floats:
        """The median times of groups of parts of an arm, as `Arm.medians`; relative if these are.

        side: 0 for A, 1 for B.
        """
        return self.scaled(side, (self.b if side else self.a).medians(groups))

    def scaled(self, side: int, times: Floats) -> Floats:
        """Times of an arm, of shape (sessions, any), relative to the inference if rows are."""
        return times / self._factors[side][:, None] if self.is_relative else times

    @cached_property
    def inference_times(self) -> tuple[Floats, Floats]:
        """The medians of the whole inference per session, of A and of B, in ns."""
        of_a, of_b = self._methods
        return self.a.inference_of(of_a), self.b.inference_of(of_b)

    @property
    def can_be_relative(self) -> bool:
        """Whether every session of both arms has inferences, with a time."""
        sessions = (*self.a.sessions, *self.b.sessions)
        if not (self.a.sessions and self.b.sessions) or any(
            session.is_whole for session in sessions
        ):
            return False
        return all(bool((times > 0).all()) for times in self.inference_times)

    @property
    def common_factor(self) -> float | None:
        """How many times as long the inference of B takes; None without a time in both arms."""
        change = self.inference.change
        return None if change is None else 1 + change

    @cached_property
    def _factors(self) -> tuple[Floats, Floats]:
        """By what the times of every session are divided if they are relative."""
        a, b = self.inference_times
        whole = median(a)
        return a / whole, b / whole

    @cached_property
    def _methods(self) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
        """The methods of each arm that the inference adds up; (None, None) for all.

        They are those that all sessions of both arms ran: the sum over other methods would differ
        although nothing changed.
        """
        (a, rest_a), (b, rest_b) = self.a.methods, self.b.methods
        partner = dict(self.pairs.methods)
        if len(a) == len(b) == 1 and not partner:  # names of scopes may differ
            partner = dict(zip(a, b, strict=True))
        common = [(name, partner.get(name, name)) for name in a if partner.get(name, name) in b]
        if not common or not (rest_a or rest_b or len(common) < max(len(a), len(b))):
            return None, None
        return tuple(x for x, _ in common), tuple(y for _, y in common)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about the comparison, each a sentence."""
        sentences = [difference.sentence for difference in self.differences]
        methods, _ = self._methods
        if methods is not None:
            every = dict.fromkeys(name for arm in (self.a, self.b) for names in arm.methods
                                  for name in names)  # fmt: skip
            sentences.append(
                f"The {self.unit.noun} adds up {', '.join(methods)} of {len(every)} methods, as "
                "not every session ran the others."
            )
        if shared := shared_inferences(self.a, self.b):
            sentences.append(f"A and B share {self.unit.counted(shared)}.")
        if self.a.level in IDENTITIES:
            sentences += [
                f"The profiles of {name} state no {self.a.level}."
                for name, arm in (("A", self.a), ("B", self.b))
                if not arm.parts
            ]
        is_linked = self.a.program is not None and self.b.program is not None
        if self.a.level not in (*LEVELS_OF_CALLS, NAME, PATH, *IDENTITIES) and not is_linked:
            sentences.append("Rows of an arm without an ETRecord are names of slices.")
        return tuple(sentences)

    @property
    def drifts(self) -> tuple[float | None, ...]:
        """Per row, how much it changes within sessions, as a ratio - 1.

        That is the median over the sessions of an arm of the second half of the inferences to the
        first half, of the arm where it is larger; 0 if it is within the steps of the clock, None if
        no session has enough inferences. Computed on demand, as it takes as long as the comparison.
        """
        return self._drifts[:-1]

    @property
    def inference_drift(self) -> float | None:
        """The same of the whole inference."""
        return self._drifts[-1]

    @property
    def known_drifts(self) -> tuple[float | None, ...]:
        """`drifts` with that of the inference at the end; all None until they were computed."""
        return self._drifts if "_drifts" in self.__dict__ else (None,) * (len(self.rows) + 1)

    @cached_property
    def _drifts(self) -> tuple[float | None, ...]:
        grain = np.array([*map(self._grain, self.rows), 0.0])
        halves = []
        parts = [row.a for row in self.rows], [row.b for row in self.rows]
        for side, arm in enumerate((self.a, self.b)):
            halves.append(self.with_half_inferences(side, *arm.half_medians(parts[side])))
        return drifts_of(halves, grain)

    def with_half_inferences(self, side: int, first: Floats, last: Floats) -> tuple[Floats, Floats]:
        """Times of an arm in both halves of its sessions, and those of the inference behind them.

        first, last: of shape (sessions, any); relative to the inference if rows are.
        """
        whole = (self.b if side else self.a).half_inferences_of(self._methods[side])
        if self.is_relative:
            last = last * (whole[0] / whole[1])[:, None]
        return np.column_stack([first, whole[0]]), np.column_stack([last, whole[1]])

    @cached_property
    def detectable(self) -> float | None:
        """The smallest change that the median row would have shown, as a ratio - 1."""
        detectable = [
            figures.detectable for figures in self.compared if figures.detectable is not None
        ]
        return median(detectable) if detectable else None

    @cached_property
    def waterfall(self) -> Waterfall | None:
        """Where the change comes from.

        None if an arm has no inference, for different clocks, and for units, which work at once.
        """
        a, b = self.inference.a_ns, self.inference.b_ns
        if a is None or b is None or not self.is_of_time or self.a.level == UNIT:
            return None
        sums = {True: 0.0, False: 0.0}
        only_a = only_b = 0.0
        for row, figures in zip(self.rows, self.compared, strict=True):
            if row.level == DELEGATE_EVENT:  # inside calls, which have rows
                continue
            if figures.a_ns is not None and figures.b_ns is not None:
                sums[True] += figures.change_ns
            elif figures.b_ns is None:
                only_a += figures.change_ns
            else:
                only_b += figures.change_ns
        common = b - a if self.is_relative else 0.0
        rest = b - a - common - sums[True] - only_a - only_b
        return Waterfall(a, common, sums[True], only_a, only_b, rest, b)

    def sum_ns(self, side: int) -> float:
        """The sum of the median times of the rows of an arm, in ns, never relative."""
        parts = [row.b if side else row.a for row in self.rows if row.level != DELEGATE_EVENT]
        return float(np.nansum(median_of_sessions((self.b if side else self.a).medians(parts))))

    @property
    def is_of_time(self) -> bool:
        """Whether both arms are timed in ns; cycles of an unknown clock compare with nothing."""
        units = self.a.units | self.b.units
        return len(units) == 1

    def _grain(self, row: Row) -> float:
        return max(
            sum(grain[number] for number in parts)
            for grain, parts in ((self._grains[0], row.a), (self._grains[1], row.b))
        )

    @cached_property
    def _grains(self) -> tuple[list[float], list[float]]:
        return self.a.grain_ns.tolist(), self.b.grain_ns.tolist()

    def _is_measured(self, row: Row) -> bool:
        return bool(self.a.is_measured[list(row.a)].all() and self.b.is_measured[list(row.b)].all())


@dataclass(frozen=True, eq=False)
class Figures:
    """The figures of rows as columns, as one family of tests.

    a, b: in ns, of shape (sessions, rows); NaN if a session has none. grain: per row, the ns by
    which its times differ at least. measured: per row, whether all of its times are. is_of_time:
    whether both arms are timed in ns.
    """

    a: Floats
    b: Floats
    changes: Changes
    grain: Floats
    measured: Bools
    is_of_time: bool
    confounded: Bools

    def __len__(self) -> int:
        return len(self.grain)

    @cached_property
    def medians(self) -> tuple[Floats, Floats]:
        """Per arm, the median over the sessions that have a row; NaN if none has."""
        return median_of_sessions(self.a), median_of_sessions(self.b)

    @cached_property
    def verdict(self) -> Ints:
        """Per row its verdict, as an index into `VERDICTS`."""
        return np.where(self.confounded, VERDICTS.index(Verdict.CANNOT_TELL), self._tested)

    @cached_property
    def _tested(self) -> Ints:
        """Per row the verdict of the test alone."""
        (x, y), changes = self.medians, self.changes
        # The medians are what is shown, so they must show what the test of the means says: a change
        # of the same sign beyond the threshold, and by more than one step of the clock.
        limit = np.log1p(THRESHOLD)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_ratio = np.log(y / x)
            beyond = (np.abs(log_ratio) > limit) & (log_ratio * changes.log_ratio > 0)
            beyond &= np.abs(y - x) > self.grain
            within = np.abs(log_ratio) <= limit
            is_slower = changes.log_ratio > 0
        verdicts = np.full(len(self), VERDICTS.index(Verdict.CANNOT_TELL))
        verdicts[changes.is_unchanged & within] = VERDICTS.index(Verdict.NO_CHANGE)
        changed = changes.is_changed & beyond
        verdicts[changed & is_slower] = VERDICTS.index(Verdict.SLOWER)
        verdicts[changed & ~is_slower] = VERDICTS.index(Verdict.FASTER)
        return verdicts

    @cached_property
    def _above(self) -> Bools:
        return _is_above(self.a, self.b, self.grain)

    def of(self, row: int) -> Compared:
        changes, (x, y) = self.changes, (float(medians[row]) for medians in self.medians)
        own_a, own_b = (tuple(m[np.isfinite(m[:, row]), row].tolist()) for m in (self.a, self.b))
        verdict, doubt = VERDICTS[int(self.verdict[row])], None
        if verdict is Verdict.CANNOT_TELL:
            is_measured, is_above = bool(self.measured[row]), bool(self._above[row])
            doubt = _doubt(len(own_a), len(own_b), self.is_of_time, is_measured, is_above)
            if doubt is Doubt.NOISE and VERDICTS[int(self._tested[row])] is not verdict:
                doubt = Doubt.CONFOUNDED
        is_ratio = self.is_of_time and x > 0 and y > 0
        low, high = _ratio(changes.low[row]), _ratio(changes.high[row])
        if not self.is_of_time:
            low = high = None
        return Compared(
            _known(x),
            _known(y),
            own_a,
            own_b,
            _known(y / x - 1) if is_ratio else None,
            (low, high) if low is not None and high is not None else None,
            _known(changes.p[row]),
            _known(changes.q[row]),
            _known(changes.detectable[row]),
            verdict,
            doubt,
        )


def figures_of(
    a: Floats,
    b: Floats,
    grain: Floats,
    measured: Bools,
    is_of_time: bool,
    noise: tuple[Noise, Floats] | None = None,
    confounded: Bools | None = None,
) -> Figures:
    """Return the figures of rows, or of sums of rows; the arguments are those of `Figures`.

    noise: of the device, with the deviation of every row. confounded: None for no row.
    """
    changes = compared(a, b, _is_above(a, b, grain) & measured & is_of_time)
    if noise is not None:
        changes = with_noise(*noise, changes, a, b)
    if confounded is None:
        confounded = np.zeros(len(grain), np.bool_)
    return Figures(a, b, changes, grain, measured, is_of_time, confounded)


def _is_above(a: Floats, b: Floats, grain: Floats) -> Bools:
    """Whether the times of a row, or their change, are more than steps of their clock."""
    x, y = median_of_sessions(a), median_of_sessions(b)
    with np.errstate(invalid="ignore"):
        is_above: Bools = (np.fmin(x, y) > GRAINS * grain) | (np.abs(y - x) > GRAINS * grain)
    return is_above


def _doubt(count_a: int, count_b: int, of_time: bool, measured: bool, above: bool) -> Doubt:
    fewest = min(count_a, count_b)
    if not fewest:
        return Doubt.ONLY_IN_ONE
    if not of_time:
        return Doubt.DIFFERENT_CLOCKS
    if not measured:
        return Doubt.NOT_MEASURED
    if not above:
        return Doubt.BELOW_CLOCK
    if fewest == 1:
        return Doubt.ONE_SESSION
    return Doubt.FEW_SESSIONS if fewest < LEAST_SESSIONS else Doubt.NOISE


def _ratio(logarithm: float) -> float | None:
    with np.errstate(over="ignore"):
        return _known(np.expm1(logarithm))


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


CHANGED = (Verdict.SLOWER, Verdict.FASTER)
# Changed rows with a step of their own, the largest; the others share one.
MOST_STEPS = 6
# How many times the sum of its rows an inference must take for calls that ran long to explain it.
LARGE = 1.1
SINGLE_CALLS, BETWEEN, OVERLAP = "single calls that ran long", "between calls", "at the same time"


@dataclass(frozen=True, slots=True)
class Step:
    """A step. ns: how much longer B takes. row: its number, -1 for what is not one row.

    verdict: of the row or of all rows of the step; None for rows in one arm, and for the rest.
    """

    label: str
    ns: float
    verdict: Verdict | None = None
    row: int = -1


@dataclass(frozen=True, slots=True)
class Steps:
    """The time of an inference of A, in ns, the steps to that of B, and that of B.

    rows_a, rows_b: the sums of the medians of all rows, which an arm without inferences has alone.
    """

    a_ns: float
    steps: tuple[Step, ...]
    b_ns: float
    rows_a: float
    rows_b: float


def steps_of(comparison: Comparison) -> Steps:
    """Return the steps from A to B; none for different clocks."""
    if comparison.inference.doubt is Doubt.DIFFERENT_CLOCKS:
        sums = comparison.sum_ns(0), comparison.sum_ns(1)
        return Steps(sums[0], (), sums[1], *sums)
    rows = [
        (i, row, compared)
        for i, (row, compared) in enumerate(zip(comparison.rows, comparison.compared, strict=True))
        if row.level != DELEGATE_EVENT
    ]
    # Too few sessions prove nothing: then the largest changes are shown without a verdict.
    untested = min(len(comparison.a.sessions), len(comparison.b.sessions)) < LEAST_SESSIONS
    changed = sorted(
        (each for each in rows if each[2].verdict in CHANGED or (untested and _is_paired(each[2]))),
        key=lambda each: -abs(each[2].change_ns),
    )
    steps = [
        Step(row.label, compared.change_ns, compared.verdict, i)
        for i, row, compared in changed[:MOST_STEPS]
    ]
    more = changed[MOST_STEPS:]
    if more:
        what = "more rows" if untested else "more changed"
        steps.append(Step(f"{len(more)} {what}", _sum(more)))
    for verdict, label in ((Verdict.NO_CHANGE, "no change"), (Verdict.CANNOT_TELL, "inconclusive")):
        chosen = [each for each in rows if each[2].verdict is verdict and _is_paired(each[2])]
        if chosen and not untested:
            steps.append(Step(label, _sum(chosen), verdict))
    for label, chosen in (
        ("only in A", [each for each in rows if each[2].b_ns is None]),
        ("only in B", [each for each in rows if each[2].a_ns is None]),
    ):
        if chosen:
            steps.append(Step(label, _sum(chosen)))
    a = sum(compared.a_ns or 0.0 for _, _, compared in rows)
    b = a + sum(step.ns for step in steps)
    whole = comparison.inference
    if whole.a_ns is None or whole.b_ns is None:
        return Steps(a, tuple(steps), b, a, b)
    rest = whole.b_ns - whole.a_ns - (b - a)
    if round(rest):
        steps.append(Step(_rest_label(whole.a_ns, whole.b_ns, a, b), rest))
    return Steps(whole.a_ns, tuple(steps), whole.b_ns, a, b)


def _rest_label(whole_a: float, whole_b: float, rows_a: float, rows_b: float) -> str:
    """Return what the time is that no row has, by how much longer the whole is."""
    if whole_a < rows_a or whole_b < rows_b:
        return OVERLAP
    is_long = max(whole_a - LARGE * rows_a, whole_b - LARGE * rows_b) > 0
    return SINGLE_CALLS if is_long else BETWEEN


def _is_paired(compared: Compared) -> bool:
    return compared.a_ns is not None and compared.b_ns is not None


def _sum(rows: list[tuple[int, Row, Compared]]) -> float:
    return sum(compared.change_ns for _, _, compared in rows)
