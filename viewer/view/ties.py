"""Ties between the visible ranges of clock groups: locked zooms, and alignments. No Qt.

Every clock group has an axis and a visible range of its own. Tied groups zoom together: their spans
stay in proportion. Groups whose ties also have an anchor are aligned: their anchors are at the same
place on screen, so that they pan together, too. All functions are pure; ranges are (t0, t1) in ns
of the axis of their group with its gaps. The arithmetic is exact up to one rounding to whole ns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

_FARTHEST = 2**62  # ns
Range = tuple[int, int]
# By the key of a clock group.
Ranges = Mapping[str, Range]


@dataclass(frozen=True, slots=True)
class Tie:
    """How one clock group moves with the other tied ones.

    scale: its visible span in proportion to the scales of the others. anchor: the moment, in ns of
    its axis, that is at the same place on screen as the anchors of the others; None if only the
    zoom is tied. reason: what the anchor is, such as "start of run 2"; "" without an anchor.
    """

    scale: Fraction = Fraction(1)
    anchor: int | None = None
    reason: str = ""

    def __hash__(self) -> int:
        """Every frame looks up what ties allow, and hashing a Fraction takes 2 µs."""
        return hash((self.scale.numerator, self.anchor))


Ties = Mapping[str, Tie]


def moved_together(ties: Ties, ranges: Ranges, moved: str, before: Range) -> dict[str, Range]:
    """Return the ranges of all groups after the range of one changed.

    ranges: of all groups, with the new range of `moved`; before: the range that it had. Groups that
    are not tied to it stay. An aligned group is placed by the anchors; a group of which only the
    zoom is tied keeps the moment at the place on screen around which `moved` was zoomed.
    """
    result = dict(ranges)
    moved_tie = ties.get(moved)
    if moved_tie is None:
        return result
    t0, t1 = ranges[moved]
    for key, tie in ties.items():
        if key == moved or key not in ranges:
            continue
        factor = tie.scale / moved_tie.scale
        if moved_tie.anchor is not None and tie.anchor is not None:
            result[key] = _aligned(moved_tie.anchor, tie.anchor, (t0, t1), factor)
        else:
            result[key] = _zoomed(ranges[key], before, (t0, t1), factor)
    return result


def _aligned(anchor: int, other: int, span: Range, factor: Fraction) -> Range:
    """Return the range of a group whose anchor is where the anchor of another one is."""
    t0 = round(other + (span[0] - anchor) * factor)
    return t0, t0 + max(round((span[1] - span[0]) * factor), 1)


def _zoomed(own_range: Range, before: Range, after: Range, factor: Fraction) -> Range:
    """Return a range with the new span, around the place on screen that another one kept."""
    span = max(round((after[1] - after[0]) * factor), 1)
    grown = (after[1] - after[0]) - (before[1] - before[0])
    share = Fraction(before[0] - after[0], grown) if grown else Fraction(1, 2)
    share = min(max(share, Fraction(0)), Fraction(1))
    t0 = round(own_range[0] + share * (own_range[1] - own_range[0]) - share * span)
    return t0, t0 + span


def offset_ns(ties: Ties, reference: str, key: str) -> int | None:
    """Return what to add to times of a group so that its anchor is at that of another one.

    None if one of the two has no anchor.
    """
    tie, other = ties.get(reference), ties.get(key)
    if tie is None or other is None or tie.anchor is None or other.anchor is None:
        return None
    return tie.anchor - other.anchor


def same_place(ties: Ties, key: str, ns: int, other: str) -> int | None:
    """Return what is of one group where a place on screen, or a time, of another group is.

    None if the two are not aligned.
    """
    own_tie, tie = ties.get(key), ties.get(other)
    if own_tie is None or tie is None or own_tie.anchor is None or tie.anchor is None:
        return None
    return round(tie.anchor + (ns - own_tie.anchor) * tie.scale / own_tie.scale)


def aligned_keys(ties: Ties) -> list[str]:
    """Return the aligned groups; fewer than two are no alignment."""
    keys = [key for key, tie in ties.items() if tie.anchor is not None]
    return keys if len(keys) > 1 else []


def shifts_of(ties: Ties, keys: Sequence[str]) -> dict[int, tuple[int, str]]:
    """Return what puts aligned traces on one axis: number -> (ns to add, what its anchor is).

    keys: the group of every open trace, in order of opening. The first aligned one stays. Empty if
    none are aligned; traces whose group is not aligned are missing.
    """
    aligned = set(aligned_keys({key: tie for key, tie in ties.items() if key in keys}))
    shifts: dict[int, tuple[int, str]] = {}
    reference = next((key for key in keys if key in aligned), "")
    for number, key in enumerate(keys):
        by = offset_ns(ties, reference, key) if key in aligned else None
        if by is not None:
            shifts[number] = by, ties[key].reason
    return shifts


def without(ties: Ties, gone: set[str]) -> dict[str, Tie]:
    """Return the ties without some groups; a single tie or anchor that would remain is dropped."""
    ties_left = {key: tie for key, tie in ties.items() if key not in gone}
    if not aligned_keys(ties_left):
        ties_left = {key: replace(tie, anchor=None, reason="") for key, tie in ties_left.items()}
    return ties_left if len(ties_left) > 1 else {}


def bounds(ties: Ties, spans: Mapping[str, int], key: str) -> Range:
    """Return the extent that the range of one group may show; see `all_bounds`."""
    return all_bounds(ties, spans, (key,))[key]


def all_bounds(ties: Ties, spans: Mapping[str, int], keys: Iterable[str]) -> dict[str, Range]:
    """Return the extents that the ranges of groups may show, in ns of their axes, without margins.

    spans: the length of the axis of each group. Tied groups have extents in proportion, long enough
    for each of them; those of aligned groups cover the same times, which may begin before an axis.
    """
    tied = _extents(tuple(ties.items()), tuple(spans.items())) if ties else {}
    return {key: tied[key] if key in tied else (0, spans[key]) for key in keys}


@lru_cache(maxsize=4)  # the same in all frames of a motion, and slow to work out
def _extents(
    ties: tuple[tuple[str, Tie], ...], spans: tuple[tuple[str, int], ...]
) -> dict[str, Range]:
    """Return the extents of tied groups in ns of their axes; not to be changed."""
    length_of = dict(spans)
    # Aligned groups are placed by their anchors.
    starts, ends, lengths = [], [], []
    for other, tie in ties:
        if other not in length_of:
            continue
        length = length_of[other] / tie.scale
        if tie.anchor is None:
            lengths.append(length)
        else:
            starts.append(-tie.anchor / tie.scale)
            ends.append(starts[-1] + length)
    # In units of the scales; the same for all of them.
    start = min(starts, default=Fraction(0))
    length = max([*lengths, *(end - start for end in ends)], default=Fraction())
    return {key: _scaled(tie, start, length) for key, tie in ties}


def _scaled(tie: Tie, start: Fraction, length: Fraction) -> Range:
    """Return an extent in ns of the axis of one group."""
    if tie.anchor is None:
        return 0, round(length * tie.scale)
    low = round(tie.anchor + start * tie.scale)
    return low, low + round(length * tie.scale)


def are_in_reach(ties: Ties, spans: Mapping[str, int]) -> bool:
    """Return whether no tie can move a range farther than 146 years, so that int64 holds its ns.

    spans: as in `bounds`.
    """
    reach = [ns for key in ties if key in spans for ns in bounds(ties, spans, key)]
    return min(reach, default=0) >= -_FARTHEST and max(reach, default=0) <= _FARTHEST
