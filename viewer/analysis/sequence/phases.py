"""Phases: inferences of one method that do different work, such as prefill and decode.

Times alone decide, with one fact of the program: whether its input sizes can vary. Each inference
has a *scale*: how many times as long as in the shorter half of the inferences operators with a
third of the time took. One that grows alone does not change it. Scales form groups if nothing is
within a factor of 1.5 between them. A group is a phase only if its order in time shows different
work:

* it starts the sequence, and an operator grows in the others, as attention does in decode; or it is
  so much longer that no warm-up explains it: nearly all operators at least 2 times, evenly, the
  inference at least 7 times, and what follows does not settle step by step;
* or it alternates with the others, in short blocks, and is a good part of all inferences;
* or input sizes are dynamic, and it is in long blocks at least 2 times the others. If all operators
  take exactly one factor, as with another frequency, it must be 3.5.

Everything else (a slow start, single slow inferences, a device that slows down) is no phase. The
result has `Run.phase`, so that whatever goes by series, such as warm-up and medians, goes by phase.

The user may also state methods of inferences, because methods with the same instructions share a
scope in an ETDump. Each group becomes a separate scope with its own keys: links, match and costs
need no exception then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from viewer.arrays import Bools, Codes, Floats, Ints, numbers_at
from viewer.dataclasses import dataclass, replace
from viewer.model.inference_views import Series, series_of
from viewer.model.queries import run_of_slices, self_times
from viewer.model.trace import KeyKind, Keys, Run, RunKind, Trace
from viewer.model.warm_up import with_warm_up

APART = 1.5  # nothing is within this factor between two groups
# A part of all inferences that single slow ones do not reach.
LEAST = 4  # inferences, to compare any
LEAST_SHARE = 0.15
# Inputs of one size take times within this factor; single slow inferences do not.
ALIKE = 1.25
# More work makes an operator longer by at most so many times the factor of the others.
_SPREAD = 16.0
# In a slow start, factors of operators differ by more than this.
_EVEN = 2.5
# The share of an operator changes by less: in standard deviations, and of the logarithm of the
# factor of all.
_NOISE, _UNIFORM = 4.0, 0.03
# Operators with less time are noise.
_LEAST_PART = 0.01
# How much of the time, and how many of the operators, "nearly all" are. One of them may do the same
# work in all inferences, as that of the last token does; it may be the second largest.
_NEARLY_ALL, _MOST_OF_ALL, _NEARLY_ALL_OPERATORS = 0.75, 0.6, 0.85
_LEAST_EXCEPTED = 3
# A part of the time that grows with the position, by its rank correlation, and by that in standard
# deviations of random orders.
_GROWS, _LEAST_DEVIATIONS = 0.6, 3.5
# Of so few, one that grows with nearly each step: by chance, one in 2,000 does.
_GROWS_STEADILY, _FEWEST_STEADY = 0.9, 8
_LEAST_SEGMENT = 5
# Operators whose times vary by this factor among short inferences; the others have a part of the
# time that suffices.
_VARIES, FIXED = 1.4, 0.35


@dataclass(frozen=True, slots=True)
class Scales:
    """What phases are decided by.

    lengths: of the inferences. parts, usual: the time of the operators that count, per inference
    and in the typical one. scale: the median factor of the operators, per inference.
    """

    lengths: Floats
    parts: Floats
    usual: Floats
    scale: Floats

    @staticmethod
    def of(lengths: Ints, parts: Ints) -> Scales | None:
        short = lengths <= np.median(lengths)
        usual = np.median(parts[short], axis=0)
        counts = usual >= _LEAST_PART * np.median(lengths[short])
        if not counts.any():
            return None
        usual, own = usual[counts], parts[:, counts].astype(np.float64)
        # What differs among the shorter ones alone, as attention does, states no size of the work.
        low, high = np.quantile(own[short], [0.1, 0.9], axis=0)
        fixed = high <= _VARIES * np.maximum(low, 1)
        if usual[fixed].sum() < FIXED * usual.sum():
            fixed[:] = True
        scale = _weighted_quantile((own / usual)[:, fixed], usual[fixed], 1 - FIXED)
        return Scales(lengths.astype(np.float64), own, usual, np.maximum(scale, 1e-9))

    def nearly_all(self, some: Bools, least: float, *, by_time_alone: bool = False) -> bool:
        """Whether nearly all operators take a factor of the others' time in some inferences.

        By the median of these inferences. In a slow start, the smallest operators are slower by
        far than the largest: they wait for caches, and do not work more.
        """
        usual = np.maximum(np.median(self.parts[~some], axis=0), 1)
        factors = self.parts[some] / usual
        enough = factors >= least
        by_time = float(np.median((enough * usual).sum(axis=1) / usual.sum()))
        missing = float(np.median((~enough).sum(axis=1)))
        typical = np.median(factors, axis=0)
        spread = float(typical.max() / np.median(typical))
        columns = factors.shape[1]
        excepted = max((1 - _NEARLY_ALL_OPERATORS) * columns, columns >= _LEAST_EXCEPTED)
        is_most = by_time >= _MOST_OF_ALL and missing <= excepted
        return (is_most or (by_time_alone and by_time >= _NEARLY_ALL)) and spread <= _SPREAD

    def is_alike(self, some: Bools, most: float = APART) -> bool:
        """Whether some inferences are of one scale, as those of one input size are."""
        low, high = np.quantile(self.scale[some], [0.1, 0.9])
        shortest, longest = np.quantile(self.lengths[some], [0.1, 0.9])
        return bool(high <= most * low and longest <= APART * shortest)

    def repeats(self, some: Bools) -> bool:
        """Whether some inferences are several of one input size."""
        return bool(some.mean() >= LEAST_SHARE) and (
            int(some.sum()) >= LEAST and self.is_alike(some, ALIKE)
        )

    def is_even(self, some: Bools) -> bool:
        """Whether operators take about one factor in some inferences, but for a single one."""
        factors = np.sort(self.factors(some))
        has_same = len(factors) >= _LEAST_EXCEPTED and factors[0] < APART  # the same work in all
        return bool(factors[-1] <= _EVEN * factors[1 if has_same else 0])

    def is_uniform(self, some: Bools) -> bool:
        """Whether all operators take one factor in some inferences, as far as noise shows it."""
        part = np.log(np.maximum(self.parts, 1))
        part -= np.log(np.maximum(self.parts.sum(axis=1, keepdims=True), 1))
        inside, outside = part[some], part[~some]
        change = np.abs(np.median(inside, axis=0) - np.median(outside, axis=0))
        noise = inside.var(axis=0) / len(inside) + outside.var(axis=0) / len(outside)
        factor = np.log(self.times_longer(some))
        return bool((change <= np.maximum(_NOISE * np.sqrt(noise), _UNIFORM * factor)).all())

    def times_longer(self, some: Bools) -> float:
        """How many times as long as the typical other inference the shortest of some is."""
        return float(self.lengths[some].min() / np.median(self.lengths[~some]))

    def typically_longer(self, some: Bools) -> float:
        """How many times as long as the typical other inference the typical one of some is."""
        return float(np.median(self.lengths[some]) / np.median(self.lengths[~some]))

    def factors(self, some: Bools) -> Floats:
        """The factor of each operator in some inferences, to the others."""
        usual = np.maximum(np.median(self.parts[~some], axis=0), 1)
        found: Floats = np.median(self.parts[some], axis=0) / usual
        return found


def _weighted_quantile(values: Floats, weights: Floats, part: float) -> Floats:
    """The quantile of each row, by the weights of its columns."""
    order = np.argsort(values, axis=1)
    below = np.cumsum(weights[order], axis=1)
    at = (below >= part * weights.sum()).argmax(axis=1)
    rows = np.arange(len(values))
    found: Floats = values[rows, order[rows, at]]
    return found


def positions(some: Bools) -> Ints:
    """Return the place of each of some inferences in its block of neighbors, from 0."""
    at = np.flatnonzero(some)
    if not len(at):
        return at
    starts = np.concatenate([[True], np.diff(at) > 1])
    first = np.maximum.accumulate(np.where(starts, np.arange(len(at)), 0))
    return np.asarray(np.arange(len(at)) - first)


def grows_with_position(parts: Floats, some: Bools) -> bool:
    """Whether the part of the time of an operator grows within the blocks of some inferences."""
    place = positions(some)
    ends = np.append(np.flatnonzero(place == 0), len(place))
    own = parts[some] / np.maximum(parts[some].sum(axis=1, keepdims=True), 1)
    found, weight = [], []
    for lo, hi in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        if hi - lo >= _LEAST_SEGMENT:
            pairs = zip(own[lo:hi].T, parts[some][lo:hi].T, strict=True)
            found.append([_growth(place[lo:hi], share, time) for share, time in pairs])
            weight.append(hi - lo - 1)
    if not found:
        return False
    best = float(np.average(found, axis=0, weights=weight).max())
    if best * np.sqrt(sum(weight)) >= _LEAST_DEVIATIONS:
        return best >= _GROWS
    return best >= _GROWS_STEADILY and sum(weight) >= _FEWEST_STEADY


def _growth(place: Ints, share: Floats, time: Floats) -> float:
    """Return how an operator's part of the time grows; 0 if it is the others that get shorter."""
    grows = rank_correlation(place, time) >= _GROWS / 2
    return rank_correlation(place, share) if grows else 0.0


def rank_correlation(first: Floats | Ints, second: Floats | Ints) -> float:
    """Return Spearman's rank correlation, -1 to 1; 0 if all of one are equal."""
    ranked = [_ranks(np.asarray(values, np.float64)) for values in (first, second)]
    a, b = (values - values.mean() for values in ranked)
    size = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / size if size else 0.0


def _ranks(values: Floats) -> Floats:
    """The ranks of values, equal ones with the mean of theirs."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    found: Floats = (last - (counts - 1) / 2)[which]
    return found


MOST_GROUPS = 64  # the groups with most time; the others change no decision


def part_times(trace: Trace, group_of_key: Ints, runs: Ints) -> tuple[Ints, Ints]:
    """Return the self ticks of the groups with most time in some runs, and which groups they are.

    group_of_key: -1 for keys that do not count. runs: positions in `Trace.runs`. The result has a
    row per run and a column per group, the one with most time first.
    """
    # The last entry is for slices outside all runs.
    place = numbers_at(len(trace.runs) + 1, runs, np.arange(len(runs)), -1)
    row = place[run_of_slices(trace)]
    group = group_of_key[trace.slices.key]
    index = np.flatnonzero((row >= 0) & (group >= 0))
    ticks = self_times(trace)[index]
    groups = int(group_of_key.max(initial=-1)) + 1
    total = np.zeros(groups, np.int64)
    np.add.at(total, group[index], ticks)
    order = np.argsort(-total, kind="stable")[:MOST_GROUPS]
    order = order[total[order] > 0]
    column = numbers_at(groups, order, np.arange(len(order)), -1)
    of = column[group[index]]
    listed = of >= 0
    times = np.zeros((len(runs), len(order)), np.int64)
    np.add.at(times, (row[index][listed], of[listed]), ticks[listed])
    return times, order


# Different work: scales of a phase that could also be a slow start, without and with evidence that
# input sizes vary.
LEAST_SCALE, LEAST_WHOLE = 2.0, 3.0
LEAST_RARE = 4.0  # single slow inferences of many are less
LEAST_SCALE_DYNAMIC, LEAST_WHOLE_DYNAMIC = 1.6, 2.0
LEAST_ALONE = 7.0  # of one block at the start, if nothing grows
LEAST_UNIFORM = 3.5  # of long blocks whose operators take one factor, as with another frequency
# A device changes its level for longer than this; inputs vary faster.
LONG_BLOCK = 8
# Blocks of an input size, and inferences after a slow start, to compare.
LEAST_REPEATED, LEAST_OTHERS = 3, 8
LEAST_RETURNED = 2  # of blocks that are no single inferences, and together a good part
# While an inference settles, so much of its excess remains in the next one.
_LEAST_KEPT, _MOST_KEPT = 0.15, 0.9
# It has not settled if the next ones exceed the median by so much, and by this part of its excess.
_FOLLOWING, _LEAST_REST, _PART_OF_FIRST = 3, 0.25, 0.08

PREFILL, DECODE = "prefill", "decode"


@dataclass(frozen=True, slots=True)
class Phases:
    """The phases of the inferences of one method.

    of: the phase of each inference, an index into `names`; phases are in order of their first
    inference. evidence: why these are phases, for people.
    """

    of: Ints
    names: tuple[str, ...]
    evidence: str


def phases_of(lengths: Ints, parts: Ints, is_dynamic: bool | None) -> Phases | None:
    """Return the phases of inferences in order of time; None if they are of one.

    parts: the time of each operator (or other group of events) in each, as of `part_times`.
    is_dynamic: whether the input sizes can vary, None if no file shows it.
    """
    count = len(lengths)
    if count < LEAST or is_dynamic is False or not parts.shape[1] or int(lengths.min()) <= 0:
        return None
    times = Scales.of(lengths, parts)
    if times is None:
        return None
    splits = _splits(times.scale)
    if not splits:
        return None
    group = np.searchsorted(np.array(splits), times.scale)
    # Only groups that are different work stay apart; the lowest one is what others differ from.
    label = np.zeros(count, np.int64)
    for low in range(1, len(splits) + 1):
        high = group >= low
        if _is_other_work(times, high, is_dynamic):
            label[high] = label.max() + 1
            # Larger ones are apart from these only if each size repeats; prompts are of any length.
            if not all(times.repeats(one) for one in (group == low, group > low)):
                break
    if not label.any():
        return None
    is_growing = grows_with_position(times.parts, label == 0)
    label = _with_short_chunks(times, label) if is_growing else _nearest_size(times, label)
    first = [int(np.argmax(label == own)) for own in range(int(label.max()) + 1)]
    order = np.argsort(first)
    rank = numbers_at(len(order), order, np.arange(len(order)))
    of = rank[label]
    names = tuple(f"phase {number + 1}" for number in range(len(order)))
    if len(names) == 2 and _is_prefill(of, label, times):
        names = (PREFILL, DECODE)
    return Phases(of, names, _evidence(times, label, is_dynamic))


def _with_short_chunks(times: Scales, label: Ints) -> Ints:
    """Return labels in which the last chunk of a prompt, of few tokens, is with the others.

    By the operators that take longest in prompts: those do the work of the tokens.
    """
    factors = times.factors(label > 0)
    most = factors >= 0.5 * factors.max()
    usual = np.maximum(np.median(times.parts[label == 0], axis=0), 1)
    scale = np.median(times.parts[:, most] / usual[most], axis=1)
    is_known = bool(np.quantile(scale[label == 0], 0.9) < ALIKE)
    return np.where((label == 0) & (scale >= APART), 1, label) if is_known else label


def _nearest_size(times: Scales, label: Ints) -> Ints:
    """Return labels of the first inferences by size, if every size repeats.

    A slow start makes inferences longer, so that they are between two sizes.
    """
    sizes = range(int(label.max()) + 1)
    later = np.arange(len(label)) >= LONG_BLOCK
    of = [(label == size) & later for size in sizes]
    if not all(times.repeats(some) and some.sum() >= LONG_BLOCK for some in of):
        return label
    middle = np.array([np.median(times.scale[some]) for some in of])
    found = np.searchsorted(middle, ALIKE * times.scale, side="right") - 1
    return np.where(later, label, np.maximum(found, 0))


def _splits(scale: Floats) -> list[float]:
    """Return the scales at which groups are separated, ascending."""
    ordered = np.sort(scale)
    gaps = np.flatnonzero(ordered[1:] >= APART * ordered[:-1])
    return [float(np.sqrt(ordered[gap] * ordered[gap + 1])) for gap in gaps]


def _blocks(some: Bools) -> Ints:
    """Return the lengths of the blocks of neighbors that are all of some inferences."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], some, [False]]).astype(np.int8)))
    return np.asarray(edges[1::2] - edges[::2])


def _is_short(some: Bools) -> bool:
    """Whether most of some inferences are in short blocks; single ones elsewhere count as one."""
    blocks = _blocks(some)
    return bool(2 * blocks[blocks < LONG_BLOCK].sum() > blocks.sum())


def _is_other_work(times: Scales, high: Bools, is_dynamic: bool | None) -> bool:
    """Whether the order of the longer inferences shows that they do more work."""
    starts, longer = bool(high[0]), times.times_longer(high)
    if starts and 2 * high.sum() <= len(high) and grows_with_position(times.parts, ~high):
        # The attention of a short prompt may take as long as that of a late step, and operators
        # of the last token do the same work.
        part = float(times.usual[times.factors(high) >= LEAST_SCALE_DYNAMIC].sum())
        return part >= FIXED * float(times.usual.sum())
    if len(_blocks(high)) == 1:
        return _is_one_block(times, high, is_dynamic)
    is_short = _is_short(high)
    if not is_short and not _is_short(~high):  # as a device that slows and recovers
        return bool(is_dynamic) and _is_long_block(times, high)
    if not times.nearly_all(high, LEAST_SCALE_DYNAMIC, by_time_alone=starts and is_dynamic is True):
        return False
    few = high if 2 * high.sum() <= len(high) else ~high
    many = _blocks(~few)
    own = _blocks(few)
    is_part = bool(few.mean() >= LEAST_SHARE)
    returns = own.min() > 1 and few.mean() >= 2 * LEAST_SHARE and times.is_alike(few, ALIKE)
    repeats = len(own) >= (LEAST_RETURNED if returns else LEAST_REPEATED) and _is_short(few)
    repeats = repeats and bool(2 * many.max() <= many.sum())  # as one level is not
    if repeats and (is_part or starts) and times.is_alike(few, APART if is_part else ALIKE):
        return True
    least = LEAST_WHOLE_DYNAMIC if is_dynamic else LEAST_WHOLE
    goes_on = len(own) >= LEAST_REPEATED or bool(high[LONG_BLOCK:].any())  # as no slow start
    goes_on = goes_on or len(high) <= LONG_BLOCK
    if not starts or not is_short or few is not high or not goes_on:
        return False
    return (
        longer >= least
        if is_part
        else longer >= LEAST_SCALE and times.typically_longer(high) >= LEAST_RARE
    )


def _is_one_block(times: Scales, high: Bools, is_dynamic: bool | None) -> bool:
    """Whether one block of longer inferences does more work."""
    count = int(high.sum())
    if not high[0] or count >= LONG_BLOCK:
        is_later = count > 1 and int(np.argmax(high)) >= LEAST
        return bool(is_dynamic) and (bool(high[0]) or is_later) and _is_long_block(times, high)
    if _settles(times, count) or not times.is_even(high):
        return False
    enough = len(times.usual) > 1 and (~high).sum() >= LEAST_OTHERS
    return (
        enough and times.times_longer(high) >= LEAST_ALONE and times.nearly_all(high, LEAST_SCALE)
    )


def _is_long_block(times: Scales, high: Bools) -> bool:
    """Whether long blocks do more work: a device that slows down takes one factor, and less."""
    least = LEAST_UNIFORM if times.is_uniform(high) else LEAST_SCALE
    edges = np.flatnonzero(np.diff(high.astype(np.int8))).tolist()
    sides = [
        [
            float(np.median(times.lengths[part]))
            for part in (slice(max(first, 0), at), slice(at, last))
        ]
        for at, first, last in ((e + 1, e + 1 - LONG_BLOCK, e + 1 + LONG_BLOCK) for e in edges)
    ]
    is_far = all(max(side) >= least * min(side) for side in sides)
    return is_far and times.nearly_all(high, LEAST_SCALE_DYNAMIC)


def _settles(times: Scales, count: int) -> bool:
    """Whether the long inferences at the start become shorter step by step, as while warming up."""
    excess = times.scale / np.median(times.scale) - 1
    if excess[0] <= 0:
        return False
    is_less = bool(_LEAST_KEPT * excess[0] <= excess[1] <= _MOST_KEPT * excess[0])
    rest = float(excess[count : count + _FOLLOWING].max())
    return is_less or rest >= max(_LEAST_REST, _PART_OF_FIRST * float(excess[0]))


def _is_prefill(of: Ints, label: Ints, times: Scales) -> bool:
    """Whether few long inferences are each followed by several short ones that grow."""
    long = label == 1
    shape = bool(long[0]) and long.sum() < (~long).sum() and np.median(_blocks(long)) < LONG_BLOCK
    return bool(shape) and bool(grows_with_position(times.parts, of == 1))


def _evidence(times: Scales, label: Ints, is_dynamic: bool | None) -> str:
    """Return what shows that the inferences do different work."""
    long = label > 0
    factors = times.factors(long)
    low, high = float(factors.min()), float(factors.max())
    span = f"{low:.1f}" if f"{low:.1f}" == f"{high:.1f}" else f"{low:.1f} to {high:.1f}"
    sizes = (
        "input sizes are dynamic" if is_dynamic else "no file shows whether input sizes are dynamic"
    )
    return f"operators take {span} times as long in the longer inferences; {sizes}"


# A scope -> whether its input sizes can vary, None if no file shows it.
IsDynamic = Callable[[int], bool | None]
ChosenPhases = Mapping[tuple[int, int], str]  # scope and number of an inference -> its phase


def with_phases(trace: Trace, is_dynamic: IsDynamic, chosen: ChosenPhases) -> Trace:
    """Return the trace whose inferences have phases; the trace itself if none changes.

    chosen: "" for an inference that the user put into no phase.
    """
    phase: dict[int, str] = {}
    for members in _methods(trace).values():
        if any((trace.runs[at].scope, trace.runs[at].number) in chosen for at in members):
            for at in members:
                run = trace.runs[at]
                phase[at] = chosen.get((run.scope, run.number), "")
            continue
        is_stated = any(trace.runs[at].phase for at in members)
        if not is_stated and (decided := _phases_in(trace, members, is_dynamic)):
            phase.update(decided[0])
    if all(phase.get(at, run.phase) == run.phase for at, run in enumerate(trace.runs)):
        return trace
    runs = [replace(run, phase=phase.get(at, run.phase)) for at, run in enumerate(trace.runs)]
    return replace(trace, runs=with_warm_up(runs, [track.process for track in trace.tracks]))


def _phases_in(
    trace: Trace, method: list[int], is_dynamic: IsDynamic
) -> tuple[dict[int, str], str] | None:
    """Return the phase of each inference of a method, and the evidence; None without phases."""
    members = _comparable(trace, method)
    runs = [trace.runs[at] for at in members]
    lengths = np.array([run.end - run.start for run in runs], np.int64)
    if len(members) < LEAST or not _may_differ(lengths):
        return None
    dynamic = is_dynamic(runs[0].scope)
    if dynamic is False:
        return None
    parts, _ = part_times(trace, timed_keys(trace), np.array(members))
    phases = phases_of(lengths, parts, dynamic)
    if phases is None:
        return None
    return {
        at: phases.names[of] for at, of in zip(members, phases.of, strict=True)
    }, phases.evidence


def evidence_of(trace: Trace, is_dynamic: IsDynamic) -> list[str]:
    """Return why the inferences of each method have phases; not of those that a file states."""
    decided = (_phases_in(trace, members, is_dynamic) for members in _methods(trace).values())
    return [
        evidence
        for phases, evidence in filter(None, decided)
        if all(trace.runs[at].phase == phase for at, phase in phases.items())
        and not any(trace.runs[phase].tokens for phase in phases)
    ]


def timed_keys(trace: Trace) -> Ints:
    """Return each key as its own group, -1 for scopes of a runtime: they are no operators."""
    number = np.arange(len(trace.keys))
    return np.where(trace.keys.kind == KeyKind.FRAMEWORK, -1, number)


def _methods(trace: Trace) -> dict[Series, list[int]]:
    """Return the inferences of each method in order of time."""
    members: dict[Series, list[int]] = {}
    for i in sorted(range(len(trace.runs)), key=lambda i: trace.runs[i].start):
        run = trace.runs[i]
        if run.kind is RunKind.INFERENCE:
            members.setdefault(series_of(trace, replace(run, phase="")), []).append(i)
    return members


def _comparable(trace: Trace, method: list[int]) -> list[int]:
    """Return the inferences of a method whose times state phases; [] if some overlap."""
    runs = trace.runs
    members = [
        i
        for i in method
        if runs[i].finished and runs[i].count == 1 and runs[i].part >= 0 and not runs[i].all_tracks
    ]
    return members if all(runs[a].end <= runs[b].start for a, b in pairwise(members)) else []


def _may_differ(lengths: Ints) -> bool:
    """Whether durations alone rule phases out, which spares reading the times of operators."""
    short = np.quantile(lengths, 0.25)
    is_long = lengths >= APART * max(short, 1)
    return bool(is_long[0] or is_long[-2:].all() or is_long.mean() >= LEAST_SHARE)


@dataclass(frozen=True, slots=True)
class ScopePart:
    """Some inferences of a scope: its index in `Trace.scopes`, and their `Run.number`s."""

    scope: int
    numbers: frozenset[int]

    def has(self, run: Run) -> bool:
        """Return whether a run is one of these inferences."""
        is_inference = run.kind is RunKind.INFERENCE
        return is_inference and run.scope == self.scope and run.number in self.numbers


def split_scopes(trace: Trace, parts: Sequence[ScopePart]) -> Trace:
    """Return the trace with one more scope per part, after those of the trace and in their order.

    A new scope has the name of the one that it is split from. Its inferences followed the same
    load, so those that warm up do not change, unless their methods were open. parts: disjoint;
    their scopes exist.
    """
    of_runs = (next((i for i, part in enumerate(parts) if part.has(run)), -1) for run in trace.runs)
    part = np.array([*of_runs, -1], np.int64)
    slices, old = trace.slices, trace.slices.key.astype(np.int64)
    of_slice: Ints = part[run_of_slices(trace)]
    # Only identities of the inference's own instructions.
    scope_of_part = np.array([*(scope_part.scope for scope_part in parts), -1], np.int64)
    of_slice[scope_of_part[of_slice] != trace.keys.scope[old]] = -1
    # Counting is several times faster than sorting, and there are few parts.
    width = len(parts) + 1
    pair = old * width + of_slice + 1
    used = np.flatnonzero(np.bincount(pair, minlength=len(trace.keys) * width))
    number = np.empty(len(trace.keys) * width, np.uint32)
    number[used] = np.arange(len(used), dtype=np.uint32)
    key: Codes = number[pair]
    key.flags.writeable = False
    first = len(trace.scopes)
    runs = [
        run if number < 0 else replace(run, scope=first + number, load=0)
        for run, number in zip(trace.runs, part[:-1].tolist(), strict=True)
    ]
    if any(run.load for run in trace.runs):
        # What warms up was decided for each load, or for no run where several could be its own.
        runs = list(with_warm_up(runs, [track.process for track in trace.tracks]))
    return replace(
        trace,
        scopes=(*trace.scopes, *(trace.scopes[scope_part.scope] for scope_part in parts)),
        keys=_keys(trace.keys, used // width, used % width - 1, first),
        slices=replace(slices, key=key),
        runs=tuple(runs),
        calls=None,
    )


def _keys(keys: Keys, old: Ints, part: Ints, first: int) -> Keys:
    """Return copies of some keys; those with a part (not -1) are in the scope `first` + part."""
    copy = Keys(
        kind=keys.kind[old],
        scope=np.where(part < 0, keys.scope[old], first + part).astype(np.uint32),
        name=keys.name[old],
        instruction=keys.instruction[old],
        identifier=keys.identifier[old],
        location=keys.location[old],
    )
    for array in (
        copy.kind, copy.scope, copy.name, copy.instruction, copy.identifier, copy.location,
    ):  # fmt: skip
        array.flags.writeable = False
    return copy
