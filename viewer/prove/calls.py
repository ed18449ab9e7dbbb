"""Checks the call tree of `opscope calls`, top-down and bottom-up, from the parents of slices.

A slice *opens* a path below the one around it, unless it is left out, as others account for its
time, or merged: by operator, module and type, a slice without a group, or of the same group as the
nearest one around it that has a group, is a part of this.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.prove.raw import Raw
from viewer.prove.verdict import Verdict

Facts = Mapping[str, Any]
Figures = tuple[int, ...]  # total, self, count, zeros
LEVELS = 3  # of a bottom-up tree that are checked

# The path of each slice as a hash of that around it and its label.
_PATHS = """
CREATE OR REPLACE TABLE pathed AS WITH RECURSIVE walk AS (
    SELECT s.*, l.g, l.text, hash('thread ' || s.track) AS around, NULL::BIGINT AS near,
        NULL::BIGINT AS inside
    FROM slices s JOIN labeled l USING (id) WHERE s.parent IS NULL
    UNION ALL
    SELECT s.*, l.g, l.text,
        CASE WHEN {opens} THEN hash(w.around, {label}) ELSE w.around END,
        CASE WHEN w.g IS NOT NULL AND {taken} THEN w.g ELSE w.near END,
        CASE WHEN {opens} THEN w.id ELSE w.inside END
    FROM walk w JOIN slices s ON s.parent = w.id JOIN labeled l ON l.id = s.id
)
SELECT id, parent, place, track, began, ended, counts, is_open, is_zero, samples,
    id IN (FROM left_out) AS is_out, around AS upper, inside, {opens} AS opens,
    CASE WHEN {opens} THEN hash(around, {label}) END AS path, {label} AS label FROM walk w"""

# A slice that does not count covers what counts in it.
_COVERED = """
CREATE OR REPLACE TABLE covered AS WITH RECURSIVE rising AS (
    SELECT p.id, p.ended - p.began AS long, u.id AS up, u.parent AS above,
        u.counts AND NOT u.is_out AS stops
    FROM pathed p JOIN pathed u ON u.id = p.parent WHERE p.counts AND NOT p.is_out
    UNION ALL
    SELECT r.id, r.long, u.id, u.parent, u.counts AND NOT u.is_out
    FROM rising r JOIN pathed u ON u.id = r.above WHERE NOT r.stops
), inner_time AS (SELECT up AS id, sum(long) AS long FROM rising WHERE NOT stops GROUP BY up)
SELECT p.*, CASE WHEN counts THEN ended - began ELSE coalesce(i.long, 0) END AS long
FROM pathed p LEFT JOIN inner_time i USING (id) WHERE opens"""

_NODES = """
SELECT c.path, any_value(c.upper), any_value(c.label), any_value(c.track), sum(c.long),
    sum(c.long - coalesce(i.long, 0)),
    coalesce(sum(c.samples) FILTER (c.counts AND NOT c.is_open), 0),
    count(*) FILTER (c.counts AND NOT c.is_open AND c.is_zero)
FROM covered c LEFT JOIN (SELECT inside AS id, sum(long) AS long FROM covered GROUP BY inside) i
    USING (id) GROUP BY c.path"""

# The same names, and callers, at the end of paths. A path below another such path adds no total.
_BOTTOM_UP = """
WITH suffixes AS (SELECT node, reach, {key} AS suffix, total, own, many, zeros FROM nodes)
SELECT suffix, sum(CASE WHEN is_outer THEN total ELSE 0 END), sum(own), sum(many), sum(zeros) FROM (
    SELECT *, coalesce(max(reach) OVER (PARTITION BY suffix ORDER BY node
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) < node, true) AS is_outer FROM suffixes
) GROUP BY suffix"""


@dataclass(slots=True)
class _Node:
    """A path. upper: that around it, or the hash of its track. place, reach: as of slices."""

    path: int
    upper: int
    label: int
    track: int
    figures: Figures
    above: _Node | None = None
    place: int = 0
    reach: int = 0
    is_listed: bool = False


@dataclass(frozen=True, slots=True)
class CallNames:
    """What slices are called: the label of each, and the names of tracks.

    group: of each slice the number of its label, -1 for none. text: of each the number of its name.
    texts: those of all numbers, each once. merges: whether nested slices of one label are one.
    """

    group: Ints
    text: Ints
    texts: Sequence[str]
    merges: bool
    left_out: Bools | None
    threads: Sequence[str]


def check_calls(
    verdict: Verdict, raw: Raw, name: str, names: CallNames, top_down: Facts, bottom_up: Facts
) -> None:
    """Check the rows of one profile in both directions; facts: `file` and `rows`."""
    nodes = _tree(raw, names)
    derived = defaultdict[tuple[str, ...], list[Figures]](list)
    of_tracks: dict[int, int] = {}
    paths: dict[int, tuple[str, ...]] = {}
    for node in nodes:
        head = raw.trace.tracks[node.track].process, names.threads[node.track]
        paths[node.path] = (*paths.get(node.upper, head), names.texts[node.label])
        derived[paths[node.path]].append(node.figures)
        total = node.figures[0] if node.above is None else 0
        of_tracks[node.track] = of_tracks.get(node.track, 0) + total
    of_threads = [
        (raw.trace.tracks[track].process, names.threads[track], total)
        for track, total in of_tracks.items()
    ]
    _compare(verdict, raw, f"{name}: top-down", top_down["rows"], derived)
    reported = [(t["process"], t["thread"], t["total_ticks"]) for t in top_down["file"]["threads"]]
    for figure, of_file, of_sql in zip(
        ("threads",) * len(reported), sorted(reported), sorted(of_threads), strict=False
    ):
        verdict.same(f"{name}: {figure}", of_file, of_sql)
    verdict.same(f"{name}: number of threads", len(reported), len(of_threads))
    whole = sum(total for *_, total in of_threads)
    verdict.same(f"{name}: total_ticks", top_down["file"]["total_ticks"], whole)
    verdict.same(f"{name}: total_ns", top_down["file"]["total_ns"], raw.ns(whole))
    callers = _bottom_up(raw, names, nodes)
    rows = [row for row in bottom_up["rows"] if len(row["path"]) <= LEVELS]
    _compare(verdict, raw, f"{name}: bottom-up", rows, callers)


def _compare(
    verdict: Verdict, raw: Raw, name: str, rows: Sequence[Facts],
    derived: Mapping[tuple[str, ...], list[Figures]],
) -> None:  # fmt: skip
    """Compare the rows of each path; two threads can have one name."""
    reported = defaultdict[tuple[str, ...], list[Figures]](list)
    for row in rows:
        ticks, zeros = (row["total_ticks"], row["self_ticks"]), row.get("rounded_zeros", 0)
        reported[tuple(row["path"])].append((*ticks, row["count"], zeros))
        for kind, of_row in zip(("total", "self"), ticks, strict=True):
            verdict.same(f"{name}: {row['path'][-1]}: {kind}_ns", row[f"{kind}_ns"], raw.ns(of_row))
    for path in dict.fromkeys((*reported, *derived)):
        others = sorted(
            (total, self_ticks, count, 0 if total else zeros)
            for total, self_ticks, count, zeros in derived.get(path, ())
        )
        same = sorted(reported.get(path, ()))
        figure = f"{name}: {' > '.join(path)}"
        verdict.same(f"{figure}: number of rows", len(same), len(others))
        for of_row, of_sql in zip(same, others, strict=False):
            for kind, value, exact in zip(
                ("total_ticks", "self_ticks", "count"), of_row, of_sql, strict=False
            ):
                verdict.same(f"{figure}: {kind}", value, exact)


def _tree(raw: Raw, names: CallNames) -> list[_Node]:
    """Return the nodes with any time or slice, and those around them, in preorder."""
    raw.give(names.group)
    left_out = np.zeros(0, np.bool_) if names.left_out is None else names.left_out
    raw.register("left_out", {"id": np.flatnonzero(left_out)})
    raw.register("texts", {"id": np.arange(len(names.text)), "text": names.text})
    raw.run("CREATE OR REPLACE TABLE labeled AS "
            "SELECT id, g, text FROM texts LEFT JOIN given USING (id)")  # fmt: skip
    taken = "w.id NOT IN (FROM left_out)"
    opens, label = taken, "coalesce(w.g, w.text)"
    if names.merges:
        opens += (
            " AND CASE WHEN w.g IS NULL THEN w.near IS NULL ELSE w.g IS DISTINCT FROM w.near END"
        )
    raw.run(_PATHS.format(opens=f"({opens})", label=label, taken=taken))
    raw.run(_COVERED)
    rows = raw.run(_NODES)
    inside = defaultdict[int, list[_Node]](list)
    nodes: dict[int, _Node] = {}
    for path, upper, number, track, total, *others in rows:
        nodes[path] = _Node(path, upper, int(number), int(track), tuple(map(int, (total, *others))))
        inside[upper].append(nodes[path])
    ordered: list[_Node] = []
    waiting = [node for node in nodes.values() if node.upper not in nodes]
    while waiting:
        node = waiting.pop()
        node.place = len(ordered)
        node.above = nodes.get(node.upper)
        ordered.append(node)
        waiting += inside[node.path]
    for node in reversed(ordered):
        total, _, count, _ = node.figures
        node.is_listed |= total > 0 or count > 0
        if node.above is not None:
            node.above.is_listed |= node.is_listed
            node.above.reach = max(node.above.reach, node.reach, node.place)
    return [node for node in ordered if node.is_listed]


def _bottom_up(
    raw: Raw, names: CallNames, nodes: Sequence[_Node]
) -> dict[tuple[str, ...], list[Figures]]:
    """Return the figures of names, and of their callers."""
    texts = list(names.texts)
    of_track = {track: len(texts) + 2 * track for track in range(len(names.threads))}
    processes: dict[str, int] = {}
    for track, thread in enumerate(names.threads):
        process = raw.trace.tracks[track].process
        processes.setdefault(process, len(texts) + 1)
        texts += [thread, process]

    def callers(node: _Node) -> tuple[int, int | None]:
        thread = of_track[node.track]
        if node.above is not None:
            above = node.above.above
            return node.above.label, thread if above is None else above.label
        return thread, processes[raw.trace.tracks[node.track].process]

    columns = zip(
        *(
            (node.place, max(node.reach, node.place), node.label, *callers(node), *node.figures)
            for node in nodes
        ),
        strict=True,
    )
    keys = ("node", "reach", "label", "up", "upper", "total", "own", "many", "zeros")
    derived = defaultdict[tuple[str, ...], list[Figures]](list)
    if not nodes:
        return derived
    raw.register("nodes", dict(zip(keys, map(list, columns), strict=True)))
    for key in ("[label]", "[label, up]", "[label, up, upper]"):
        for suffix, *figures in raw.run(_BOTTOM_UP.format(key=key)):
            derived[tuple(texts[i] for i in suffix)].append(tuple(map(int, figures)))
    return derived
