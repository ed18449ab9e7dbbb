"""The changes of call paths in words, and as a flame graph to save. No Qt."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from viewer.analysis.comparison.arms import figures_text
from viewer.analysis.comparison.changes.path_changes import BETWEEN, PathChanges
from viewer.analysis.comparison.comparison import VERDICTS, Verdict
from viewer.analysis.comparison.operator_pairs import Grade
from viewer.model.text import capped, one_line
from viewer.model.times import counted, format_time, group_digits
from viewer.render.flame_graph.boxes import FlameGraph, flame_graph
from viewer.render.flame_graph.changed_calls import ChangedCalls
from viewer.render.palette import COLORS_OF_CHANGES, FASTER_MARK, SLOWER_MARK
from viewer.reports.compare_text import WORDS, change_text, difference_text, verdict_text

MARKS = {Verdict.SLOWER: SLOWER_MARK, Verdict.FASTER: FASTER_MARK}
# What a graph shows, by whether A has paths that B does not have.
_WHOSE = {False: "B", True: "B, and what only A has"}
WIDTH = "its time in B; of a call that only A has, in A"


def medians_text(changes: PathChanges) -> str:
    """Return what the figures are: "medians of 7 + 7 sessions"."""
    calls = changes.calls
    return figures_text(calls.a, calls.b, relative=calls.is_relative)


def counts_text(changes: PathChanges) -> str:
    """Return how many paths have which verdict: "40 paths: 2 slower, 1 faster"."""
    count = Counter(changes.verdict.tolist())
    only_a, only_b = (int(mask.sum()) for mask in changes.only)
    parts = [
        f"{group_digits(count[i])} {WORDS[verdict]}"
        for i, verdict in enumerate(VERDICTS)
        if verdict in MARKS and count[i]
    ]
    parts += [f"{group_digits(n)} only in {arm}" for n, arm in ((only_a, "A"), (only_b, "B")) if n]
    paths = counted(len(changes), "path")
    return f"{paths}: {', '.join(parts)}" if parts else f"{paths}, no proven change"


def mark_of(changes: PathChanges, path: int) -> str:
    """Return the mark before the name in a box: "▲" if it is slower, "▼" if faster, else ""."""
    return MARKS.get(changes.compared(path).verdict, "")


def box_text(changes: PathChanges, path: int) -> str:
    """Return the text behind the name in a box: the change if it is proven, else the time."""
    compared = changes.compared(path)
    if compared.b_ns is None:
        return f"{format_time(round(compared.a_ns or 0))} only in A"
    if compared.a_ns is None:
        return f"{format_time(round(compared.b_ns))} only in B"
    if compared.verdict in MARKS:
        return difference_text(round(compared.change_ns))
    return format_time(round(compared.b_ns))


def path_lines(changes: PathChanges, path: int) -> list[str]:
    """Return what is known about a path, in lines, without its name."""
    compared, lines, mark = changes.compared(path), list[str](), mark_of(changes, path)
    change = ", ".join(
        filter(None, (difference_text(round(compared.change_ns)), change_text(compared)))
    )
    lines.append(f"{mark} {change}" if mark else change)
    grade, why = changes.grade(path)
    is_alone = grade in (Grade.ONLY_A, Grade.ONLY_B)
    for title, total, self_ns in zip("AB", changes.total_ns, changes.own_ns, strict=True):
        if np.isfinite(total[path]):
            self_time = round(float(np.nan_to_num(self_ns[path])))
            text = f"{title} {format_time(round(float(total[path])))}"
            lines.append(f"{text}, self {format_time(self_time)}")
    why = one_line(capped(why[:1].upper() + why[1:]))
    lines.append(why if is_alone else verdict_text(compared))
    if grade not in (Grade.SAME, Grade.BY_NAME) and not is_alone:
        lines.append(why)
    around = changes.names_of(path)[:-1]
    if grade is Grade.ONLY_A and around:
        lines.append(one_line(capped(f"Called by {BETWEEN.join(around)}")))
    return lines


def picture_of(calls: ChangedCalls, title: str) -> FlameGraph:
    """Return the differential flame graph for a file. title: such as the names of the arms."""
    changes = calls.changes
    graph = flame_graph(
        calls.table,
        title,
        f"{_WHOSE[bool(changes.only[0].any())]}, {medians_text(changes)}",
        (counts_text(changes), COLORS_OF_CHANGES),
        first_frame=0,
        colors=calls.color,
    )
    paths = calls.number[graph.nodes].tolist()
    marks = [mark_of(changes, p) if p >= 0 else "" for p in paths]
    return replace(
        graph,
        names=tuple(
            f"{mark} {name}".strip() for mark, name in zip(marks, graph.names, strict=True)
        ),
        details=tuple(tuple(path_lines(changes, p)) if p >= 0 else (ONLY_A_TIP,) for p in paths),
        behind=tuple(box_text(changes, p) if p >= 0 else "" for p in paths),
        hatched=True,
        width_of=WIDTH,
    )


ONLY_A_TIP = "Calls that B does not have, with their time in A. They are in no box of B."
