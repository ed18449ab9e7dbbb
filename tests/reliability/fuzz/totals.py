"""Whether figures add up: Self of all groups, shared and none are the whole.

`busy_ticks` computes the whole in another way than the application, slice by slice.
"""

from __future__ import annotations

from collections import defaultdict

from tests.reliability.fuzz.broken import must
from viewer.analysis.cost.costs import Costs
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.statistics.group_keys import OF_OPERATORS
from viewer.analysis.statistics.grouping import Grouping
from viewer.model.queries import NATIVE_DURATION
from viewer.model.trace import Trace


def check_totals(table: LinkTable) -> None:
    """Check the costs of operators, and the groups by every key that a trace has."""
    cost = Costs(table).table()
    rows = sum(row.ticks for row in cost.rows)
    must(cost.single + cost.shared == rows, "single and shared are not all rows")
    is_negative = cost.without_operator < 0 or any(row.ticks < 0 for row in cost.rows)
    must(not is_negative, "a negative cost", str(cost)[:200])
    must(sum(row.ticks for row in cost.by_nodes) == rows, "nodes do not add up to operators")
    grouping = Grouping(table)
    for key in grouping.keys:
        found = grouping.by(key)
        must(found.ungrouped >= 0, f"negative time in no {key}")
        for group in found.groups:
            self_ticks = group.self_ticks or 0  # None where nothing is charged to groups
            must(0 <= self_ticks <= group.total, f"Self is more than Total by {key}")
        if key not in ("unit", "inference"):
            parts = sum(group.self_ticks or 0 for group in found.groups) + found.ungrouped
            detail = f"{parts} of {found.whole}"
            must(parts == found.whole, f"Self does not add up to the whole by {key}", detail)
        if key in OF_OPERATORS:
            must(found.whole == cost.whole, f"another whole by {key}")
    if not grouping.missing("name"):
        _check_wholes(table.trace, cost.whole, grouping.by("name").whole)


def _check_wholes(trace: Trace, of_operators: int, of_names: int) -> None:
    """Compare two wholes with sums over slices, where the file has measured, finished ones only."""
    slices = trace.slices
    has_others = slices.derived is not None or NATIVE_DURATION in slices.columns
    if has_others or not all(run.finished for run in trace.runs):
        return
    # Slices of one name that overlap on a track count once, those of two names twice.
    least, most = busy_ticks(trace), busy_ticks(trace, by_lane=True)
    is_between = least <= of_names <= most
    must(is_between, "names are not the busy time", f"{of_names}, not {least} to {most}")
    must(of_operators <= most, "operators take more than the busy time", f"{of_operators}, {most}")


def busy_ticks(trace: Trace, *, by_lane: bool = False) -> int:
    """Return the ticks in which any slice of a track is active, added over all tracks.

    by_lane: overlapping slices of a track are on several lanes; each of them counts by itself.
    """
    slices = trace.slices
    rows = slices.rows()
    tracks, lanes = slices.row_track[rows].tolist(), slices.row_lane[rows].tolist()
    spans: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for track, lane, start, end in zip(
        tracks, lanes, slices.start.tolist(), slices.end.tolist(), strict=True
    ):
        spans[track, lane if by_lane else 0].append((start, end))
    busy = 0
    for some in spans.values():
        some.sort()
        until = some[0][0]
        for start, end in some:
            busy += max(end - max(start, until), 0)
            until = max(until, end)
    return busy
