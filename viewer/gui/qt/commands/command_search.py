"""Fuzzy search for commands by a few letters of their names. This module does not use Qt.

Every typed word must match: its letters occur in the name in order, possibly with others in
between. Consecutive letters and letters at the start of a word score higher, so "zi" ranks "Zoom
in" above "Scroll tracks in file".
"""

from __future__ import annotations

from dataclasses import dataclass

_BEGIN, _IN_A_ROW, _LETTER = 8, 8, 1
_GAP = 0.05  # penalty per skipped letter
_NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class NameMatch:
    """The score of a name, and the positions of its matched letters."""

    score: float
    places: frozenset[int] = frozenset()


def match(typed: str, name: str) -> NameMatch | None:
    """Match a name against the typed words, None if one does not match; an empty text matches."""
    result = NameMatch(0.0)
    for word in typed.lower().split():
        best = _match_word(word, name.lower())
        if best is None:
            return None
        result = NameMatch(result.score + best.score, result.places | best.places)
    return result


def _match_word(word: str, name: str) -> NameMatch | None:
    """The best match of a word's letters, by dynamic programming over end positions.

    `ends` maps the position of the last matched letter to (score, positions of all matched
    letters).
    """
    ends: dict[int, tuple[float, tuple[int, ...]]] = {-1: (0.0, ())}
    for number, letter in enumerate(word):
        reached: dict[int, tuple[float, tuple[int, ...]]] = {}
        for position, other in enumerate(name):
            if other != letter:
                continue
            worth = _LETTER + (_BEGIN if position == 0 or not name[position - 1].isalnum() else 0)
            best: tuple[float, tuple[int, ...]] = (_NEVER, ())
            for last, (score, places) in ends.items():
                if last >= position:
                    continue
                row = _IN_A_ROW if number and last == position - 1 else 0
                gap = _GAP * (position - last - 1) if number else 0.0
                best = max(best, (score + worth + row - gap, (*places, position)))
            if best[1]:
                reached[position] = best
        ends = reached
    if not ends:
        return None
    score, places = max(ends.values())
    return NameMatch(score - _GAP * len(name) / 10, frozenset(places))
