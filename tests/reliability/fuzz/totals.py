"""Whether figures add up: Self of all groups, shared and none are the whole.

`busy_ticks` computes the whole in another way than the application, slice by slice.
"""

from __future__ import annotations

from collections import defaultdict

from tests.reliability.fuzz.broken import must
from viewer.analysis.cost.costs import Costs
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.statistics.group_table import GroupTable
from viewer.analysis.statistics.grouping import Grouping
from viewer.model.queries import NATIVE_DURATION, unfinished
from viewer.model.trace import Trace


def check_totals(table: LinkTable) -> None:
    """Check the costs of operators, and the groups by every key that a trace has."""
    cost = Costs(table).table()
    rows = sum(row.wall for row in cost.rows)
    must(cost.single + cost.shared == rows, "single and shared are not all rows")
    is_negative = cost.without_operator < 0 or any(row.wall < 0 for row in cost.rows)
    must(not is_negative, "a negative cost", str(cost)[:200])
    must(all(row.wall <= row.ticks for row in cost.rows), "wall is more than self")
    must(sum(row.wall for row in cost.by_nodes) == rows, "nodes do not add up to operators")
    grouping = Grouping(table)
    for key in grouping.keys:
        found = grouping.by(key)
        must(found.ungrouped >= 0, f"negative time in no {key}")
        for group in found.groups:
            self_ticks = group.self_ticks or 0  # None where nothing is charged to groups
            must(0 <= self_ticks <= group.total, f"Self is more than Total by {key}")
        parts = sum(group.wall or 0 for group in found.groups) + found.ungrouped
        detail = f"{parts} of {found.whole}"
        must(parts == found.whole, f"Wall does not add up to the whole by {key}", detail)
        if found.is_of_operators:
            must(found.whole == cost.whole, f"another whole by {key}")
    if not grouping.missing("name"):
        _check_wholes(table.trace, cost.whole, grouping.by("name"))


def _check_wholes(trace: Trace, of_operators: int, names: GroupTable) -> None:
    """Compare two wholes with sums over slices, where the file has measured, finished ones only."""
    slices = trace.slices
    has_others = slices.derived is not None or NATIVE_DURATION in slices.columns
    # What has no end is in no whole.
    has_others = has_others or unfinished(slices) is not None
    # Initialization beside executions is in no whole.
    if has_others or not all(run.finished and not run.is_apart for run in trace.runs):
        return
    busy = busy_ticks(trace)
    # Scopes that only enclose others are no busy time.
    is_busy = names.whole <= busy if names.scopes else names.whole == busy
    must(is_busy, "names are not the busy time", f"{names.whole}, not {busy}")
    must(of_operators <= busy, "operators take more than the busy time", f"{of_operators}, {busy}")


def busy_ticks(trace: Trace) -> int:
    """Return the ticks in which any slice of a track is active, added over all tracks."""
    slices = trace.slices
    tracks = slices.row_track[slices.rows()].tolist()
    spans: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for track, start, end in zip(tracks, slices.start.tolist(), slices.end.tolist(), strict=True):
        spans[track].append((start, end))
    busy = 0
    for some in spans.values():
        some.sort()
        until = some[0][0]
        for start, end in some:
            busy += max(end - max(start, until), 0)
            until = max(until, end)
    return busy
