"""Finding commands by a few letters of their names. No Qt.

Every word that is typed has to be found in the name, its letters in their order but with others
between them. Letters in a row and at the begin of words count more, so "zi" finds "Zoom in" before
"Scroll tracks in file".
"""

from __future__ import annotations

from dataclasses import dataclass

_BEGIN, _IN_A_ROW, _LETTER = 8, 8, 1
_GAP = 0.05  # a letter that is passed over
_NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class NameMatch:
    """How well a name fits, and which of its letters were meant."""

    score: float
    places: frozenset[int] = frozenset()


def match(typed: str, name: str) -> NameMatch | None:
    """How a name fits what was typed, None if it does not. Nothing typed fits everything."""
    found = NameMatch(0.0)
    for word in typed.lower().split():
        best = _match_word(word, name.lower())
        if best is None:
            return None
        found = NameMatch(found.score + best.score, found.places | best.places)
    return found


def _match_word(word: str, name: str) -> NameMatch | None:
    """The best places of a word's letters, by the best of every begin (names are short).

    ends[at]: the score of the word so far if its last letter is at `at`, and where all are.
    """
    ends: dict[int, tuple[float, tuple[int, ...]]] = {-1: (0.0, ())}
    for number, letter in enumerate(word):
        reached: dict[int, tuple[float, tuple[int, ...]]] = {}
        for at, other in enumerate(name):
            if other != letter:
                continue
            worth = _LETTER + (_BEGIN if at == 0 or not name[at - 1].isalnum() else 0)
            best: tuple[float, tuple[int, ...]] = (_NEVER, ())
            for last, (score, places) in ends.items():
                if last >= at:
                    continue
                row = _IN_A_ROW if number and last == at - 1 else 0
                gap = _GAP * (at - last - 1) if number else 0.0
                best = max(best, (score + worth + row - gap, (*places, at)))
            if best[1]:
                reached[at] = best
        ends = reached
    if not ends:
        return None
    score, places = max(ends.values())
    return NameMatch(score - _GAP * len(name) / 10, frozenset(places))
