"""How the strips of clock groups are arranged: their order, their heights, and which are collapsed.

An immutable value in the undo history. Groups are named by their keys; keys of closed groups are
ignored. No Qt.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

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
