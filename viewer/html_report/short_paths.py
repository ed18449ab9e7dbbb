"""Short names of paths: as many of their last components as tell them apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

_SEPARATORS = re.compile(r"[\\/]+")


def short_paths(paths: Iterable[str]) -> dict[str, str]:
    """Return a name for every path: "run.etdp", or "b/run.etdp" if there are several.

    Folders that do not tell paths apart are left out: they may name a person or a machine.
    """
    parts = {path: [part for part in _SEPARATORS.split(path) if part] or [path] for path in paths}
    sizes = dict.fromkeys(parts, 1)
    while True:
        names = {path: "/".join(own[-sizes[path] :]) for path, own in parts.items()}
        often = Counter(names.values())
        same = [path for path in parts if often[names[path]] > 1 and sizes[path] < len(parts[path])]
        if not same:
            return names
        for path in same:
            sizes[path] += 1
