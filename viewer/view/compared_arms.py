"""Which open profiles, or which of their inferences, are the two arms of a comparison. No Qt.

Arms name profiles by path, so a choice stays valid when other files are opened or closed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from viewer.analysis.comparison.hand_pairs import NO_PAIRS, HandPairs


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
