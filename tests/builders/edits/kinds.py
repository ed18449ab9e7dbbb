"""The kinds of edits: each changes a model in place, and returns whether it could."""

from __future__ import annotations

from tests.builders.edits.export_edits import (
    data_type,
    fold_norm,
    fuse_attention,
    fuse_linear,
    loop,
    partition,
    retrain,
    widen,
)
from tests.builders.edits.place_edits import move_file, refactor, rename, renest
from tests.builders.edits.sequence_edits import Edit, duplicated, inserted, removed, reordered

_PLACES = ("front", "middle", "end")

# Kind -> the edit, and whether it is A that it changes: what is inserted there is removed in B.
KINDS: dict[str, tuple[Edit, bool]] = {
    **{f"insert {where}": (inserted(where), False) for where in _PLACES},
    **{f"remove {where}": (removed(where), False) for where in _PLACES},
    **{f"duplicate {where}": (duplicated(where), False) for where in _PLACES},
    **{f"reorder {where}": (reordered(where), False) for where in _PLACES},
    "rename": (rename, False),
    "nest": (renest, False),
    "unnest": (renest, True),
    "refactor": (refactor, False),
    "inline": (refactor, True),
    "move file": (move_file, False),
    "widen": (widen, False),
    "fuse linear": (fuse_linear, False),
    "split linear": (fuse_linear, True),
    "fuse attention": (fuse_attention, False),
    "split attention": (fuse_attention, True),
    "fold norm": (fold_norm, False),
    "unfold norm": (fold_norm, True),
    "loop": (loop, False),
    "data type": (data_type, False),
    "partition": (partition, False),
    "retrain": (retrain, False),
}
