"""The slices around other slices."""

from __future__ import annotations

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.model.queries import tree
from viewer.model.trace import Slices


def innermost_around(slices: Slices, some: Bools) -> Ints:
    """Return per slice the innermost slice of `some` around it, which may be itself; else -1.

    some: one value per slice.
    """
    shape = tree(slices)
    own = some[shape.index]
    nearest = np.where(own, shape.index, -1)
    order = np.argsort(shape.depth, kind="stable")
    bounds = np.searchsorted(shape.depth[order], np.arange(1, int(shape.depth.max(initial=0)) + 1))
    for level in np.split(order, bounds)[1:]:
        inherits = level[~own[level]]
        nearest[inherits] = nearest[shape.parent[inherits]]
    found = np.empty(len(own), np.int64)
    found[shape.index] = nearest
    return found
