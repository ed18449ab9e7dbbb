"""The output of `opscope calls`: the call tree of the open profiles, as data, text or stacks.

The data is a stable contract for scripts. Every profile is reported in ticks of its own clock, and
in nanoseconds (rounded down, at the workspace's rate); nothing is summed over files. No Qt.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache

import numpy as np

from viewer.analysis.calls.call_table import CallTable
from viewer.analysis.calls.call_tree import KEYS, CallTree, bottom_up, check_key
from viewer.analysis.calls.paths import FRAMES
from viewer.analysis.links.labels import run_label
from viewer.analysis.statistics.group_keys import GroupKeys
from viewer.dataclasses import dataclass
from viewer.model import figures as figure_terms
from viewer.model.figures import STEADY, WHOLE, TimeScope, counted_in, left_out, whole_scope_text
from viewer.model.queries import foreign
from viewer.model.text import one_line
from viewer.model.times import WEIGHTS, counted, format_span, group_digits, plain_spaces
from viewer.model.timing import is_sampled
from viewer.model.trace import Trace
from viewer.program.source_files import short_names
from viewer.render.flame_graph.boxes import FlameGraph, flame_graph, least_ticks
from viewer.reports.info import HEAD, Facts, clock_facts
from viewer.reports.parts import aligned_times, column_lines, numbered_inferences
from viewer.reports.stats import NoSuchGroups, file_lines, ticks_within
from viewer.tables.statistics import cut_facts, in_ticks_and_ns, is_below_rounding, time_text
from viewer.workspace.workspace import Workspace

MOST_ROWS = 40  # of each profile in a text, unless the user limits them
CALLERS = 3  # levels of a bottom-up text, unless the user limits them
_LINE_ENDS = re.compile(r"[\r\n]+")
_UNNAMED = "(no name)"


@dataclass(frozen=True, slots=True)
class CallOptions:
    """What to report.

    key: one of `KEYS`. inverted: bottom-up. span: ns from the start of each clock; None:
    everything. inference: only those of this number. depth: at most so many levels of frames;
    bottom-up, of all names of a path. least: leave out rows with a smaller share, in percent, of
    the total of their thread; bottom-up, of all self time. most: of each profile, only so many rows
    with the largest times.
    """

    key: str = "name"
    inverted: bool = False
    span: tuple[int, int] | None = None
    inference: int | None = None
    depth: int | None = None
    least: float = 0.0
    most: int | None = None


def calls(workspace: Workspace, options: CallOptions) -> Facts:
    """Return the call trees of all profiles, as `opscope calls --json` prints them.

    `files` has for each profile, or each of its inferences, its clock, the ticks of the scope, the
    time of its threads and of all of them (`total_ticks`), how many slices are left out (`foreign`,
    `derived`), why it has no tree by the key (`missing`), and how many of the rows belong to it
    (`row_count`) and were left out (`rows_left_out`).

    `rows` has the paths file by file, in preorder, siblings by descending time. A path lists the
    names of process, thread and frames; bottom-up those of a frame, its callers, its thread and its
    process. Raises `NoSuchGroups`, and `NoSuchRun` of `viewer.reports.parts`.
    """
    files, rows = list[Facts](), list[Facts]()
    for tree in call_trees(workspace, options):
        facts, tree_rows = tree.facts, []
        facts["rows_left_out"] = 0
        if tree.table is not None:
            table, facts["rows_left_out"] = reported_rows(tree.table, options)
            head = {"file": tree.trace.path}
            if tree.scope.run is not None:
                head["inference"] = facts["inference"]
            # Not by name: two threads that run the same method have the same one.
            threads = None
            if not options.inverted:
                threads = tree.table.track[tree.table.depth == 1].tolist()
            tree_rows = [head | row for row in _rows(table, tree.ns_per_tick, threads)]
        files.append(facts | {"row_count": len(tree_rows)})
        rows += tree_rows
    return {
        **HEAD,
        "by": options.key,
        "bottom_up": options.inverted,
        "range_ns": list(options.span) if options.span else None,
        "files": files,
        "rows": rows,
    }


@dataclass(frozen=True, slots=True, eq=False)
class ProfileCalls:
    """The call tree of a profile, or of one of its inferences.

    table: top-down, with all nodes; None if the profile has no tree by the key. facts: those of
    `files` in the report, without its numbers of rows.
    """

    trace: Trace
    scope: TimeScope
    ns_per_tick: Fraction
    facts: Facts
    table: CallTable | None


def call_trees(workspace: Workspace, options: CallOptions) -> Iterator[ProfileCalls]:
    """Return the call trees of all profiles, one at a time, because each may be large.

    Raises `NoSuchGroups`, `NoSuchRun` of `viewer.reports.parts`, and ValueError for a key that
    is not in `KEYS`.
    """
    check_key(options.key)
    if not workspace.traces:
        raise NoSuchGroups("no profile is open")
    scopes = _scopes(workspace, options)
    groups = {trace: GroupKeys(workspace.links(trace)) for trace, _ in scopes}
    missing = {trace: groups[trace].missing(options.key) for trace in groups}
    if all(missing.values()):
        keys = [
            key
            for key in KEYS
            if any(not group_keys.missing(key) for group_keys in groups.values())
        ]
        available = f". The keys are {', '.join(keys)}" if keys else ""
        why = "; ".join(dict.fromkeys(missing.values()))
        raise NoSuchGroups(f"no call tree by {options.key}: {why}{available}")

    def trees() -> Iterator[ProfileCalls]:
        trees_by_trace: dict[Trace, CallTree] = {}
        for trace, scope in scopes:
            tree = None
            if not missing[trace]:
                tree = trees_by_trace.get(trace) or CallTree(
                    workspace.links(trace), options.key, groups[trace]
                )
                trees_by_trace[trace] = tree
            table = tree.table(scope) if tree else None
            facts = _file_facts(workspace, trace, scope, tree, table, missing[trace])
            yield ProfileCalls(trace, scope, workspace.clocks.ns_per_tick(trace), facts, table)

    return trees()


def _scopes(workspace: Workspace, options: CallOptions) -> list[tuple[Trace, TimeScope]]:
    if options.inference is not None:
        runs = numbered_inferences(workspace.traces, options.inference)
        return [(trace, TimeScope(run)) for trace, run in runs]
    if options.span is None:
        return [(trace, WHOLE) for trace in workspace.traces]
    return [
        (trace, TimeScope(ticks=ticks_within(workspace, trace, options.span)))
        for trace in workspace.traces
    ]


def _file_facts(
    workspace: Workspace,
    trace: Trace,
    scope: TimeScope,
    tree: CallTree | None,
    table: CallTable | None,
    missing: str,
) -> Facts:
    rate = workspace.clocks.ns_per_tick(trace)
    first, last, _ = scope.span
    of_whole = scope.is_whole and table is not None
    facts: Facts = {
        "path": trace.path,
        "format": trace.format,
        "generation": trace.generation,
        "clock": clock_facts(workspace, trace),
        "inference": plain_spaces(run_label(workspace.links(trace), scope.run))
        if scope.run
        else None,
        "range_ticks": [
            trace.start if first is None else first,
            trace.end if last is None else last,
        ],
        "foreign": 0,
        "derived": 0,
        "annotations": 0,
        "unfinished": left_out(trace).unfinished if of_whole else 0,
        "warm_up": left_out(trace, STEADY).warm_up if of_whole else 0,
        "initialization": left_out(trace).loads if of_whole else 0,
        "without_end": left_out(trace).open_slices if of_whole else 0,
        "missing": missing or None,
        "sampled": is_sampled(trace.slices),
        "threads": [],
    }
    if tree is not None and table is not None:
        facts |= in_ticks_and_ns("total", int(table.total[table.depth == 0].sum()), rate)
        facts["threads"] = [
            {
                "process": table.text(int(table.parent[node])),
                "thread": table.text(node),
                **in_ticks_and_ns("total", int(table.total[node]), rate),
            }
            for node in np.flatnonzero(table.depth == 1).tolist()
        ]
        native = foreign(trace.slices)
        facts["foreign"] = len(counted_in(trace, scope, native))
        if tree.left_out is not None:
            others = np.union1d(native, tree.annotations)
            derived = np.setdiff1d(np.flatnonzero(tree.left_out), others, assume_unique=True)
            facts["derived"] = len(counted_in(trace, scope, derived))
            facts["annotations"] = len(counted_in(trace, scope, tree.annotations))
    return facts


def reported_rows(table: CallTable, options: CallOptions) -> tuple[CallTable, int]:
    """Return the rows to report, with what they are below, and how many are left out.

    Bottom-up, rows below the depth are not counted, because there may be very many.
    """
    if options.inverted:
        table = bottom_up(table, options.depth)
        value, whole = table.self_ticks, table.self_ticks[table.depth == 0].sum()
        is_row = np.ones(len(table), np.bool_)
    else:
        value, whole = table.total, table.total[table.root_of(1)]
        is_row = table.depth >= FRAMES
    keep = is_row & (value * 100.0 >= whole * options.least)
    if options.depth is not None and not options.inverted:
        keep &= table.depth < options.depth + FRAMES
    if options.most is not None and int(keep.sum()) > options.most:
        index = np.flatnonzero(keep)
        # A row is never larger than the one that it is below, which comes first.
        keep[:] = False
        keep[index[np.argsort(-value[index], kind="stable")[: options.most]]] = True
    call_table = table.kept(table.with_parents(keep))
    ordered = call_table.sorted_by(call_table.self_ticks if options.inverted else call_table.total)
    return ordered, int(is_row.sum()) - int(keep.sum())


def _rows(table: CallTable, rate: Fraction, threads: list[int] | None) -> Iterator[Facts]:
    """Yield the rows of a table; rate: ns per tick.

    threads: the tracks of the reported threads, in their order; None bottom-up.
    """
    total, self_ticks = table.total.tolist(), table.self_ticks.tolist()
    count, name = table.count.tolist(), table.name.tolist()
    position = {track: i for i, track in enumerate(threads or ())}
    track, zeros = table.track.tolist(), table.zeros
    path: list[str] = []
    for node, depth in enumerate(table.depth.tolist()):
        path = [*path[:depth], table.labels[name[node]]]
        if threads is None or depth >= FRAMES:
            yield {
                "path": path,
                **({} if threads is None else {"thread": position[track[node]]}),
                **in_ticks_and_ns("total", total[node], rate),
                **in_ticks_and_ns("self", self_ticks[node], rate),
                "count": count[node],
                **cut_facts(0 if zeros is None or total[node] else int(zeros[node]), rate),
            }


# -- text ------------------------------------------------------------------------------------------


def calls_text(facts: Facts) -> str:
    """Format the facts for people: per profile one or two lines, and an indented tree."""
    parts, first = [], 0
    for file in facts["files"]:
        rows = facts["rows"][first : first + file["row_count"]]
        first += len(rows)
        if file["missing"] is None:
            parts.append("\n".join(_file_text(file, rows, inverted=facts["bottom_up"])))
    return "\n\n".join(parts)


def _file_text(file: Facts, rows: list[Facts], *, inverted: bool) -> list[str]:
    lines = file_lines(file)
    if file["inference"] is not None:
        lines.append(f"  {file['inference']}")
    lines += [f"  {text}" for text in uncounted_texts(file)]
    if rows:
        title = figure_terms.share(figure_terms.SELF_TIME).title if inverted else "% of thread"
        whole = max(file["total_ticks"], 1)
        tree = (
            [_line(row, len(row["path"]) - 1, row["self_ticks"] / whole) for row in rows]
            if inverted
            else _thread_lines(file, rows)
        )
        lines += ["", *_table(tree, title, file)]
    if file["rows_left_out"]:
        lines.append(f"{counted(file['rows_left_out'], 'row')} not shown")
    elif not rows:
        lines.append("nothing in this range")
    return [plain_spaces(line) for line in lines]


def uncounted_texts(file: Facts) -> list[str]:
    """Say how many slices are in no node, for each reason."""
    texts = []
    if file["derived"]:
        texts.append(f"{counted(file['derived'], 'derived slice')} left out")
    if file["annotations"]:
        many = counted(file["annotations"], "annotation")
        texts.append(f"{many} left out: they repeat the time of the calls that they overlap")
    return texts


def _thread_lines(file: Facts, rows: list[Facts]) -> list[Facts]:
    """Return frames below a line for their thread, with their share of its total."""
    lines = list[Facts]()
    number = None
    for row in rows:
        process, name, *frames = row["path"]
        thread = file["threads"][row["thread"]]
        if number != row["thread"]:
            number = row["thread"]
            total = {key: thread[key] for key in ("total_ticks", "total_ns")}
            lines.append({"text": one_line(f"{process} > {name}"), **total})
        share = row["total_ticks"] / max(thread["total_ticks"], 1)
        lines.append(_line(row, len(frames), share))
    return lines


def _line(row: Facts, indent: int, share: float) -> Facts:
    part = "" if is_below_rounding(row) else f"{100 * share:.1f}"
    return {**row, "text": "  " * indent + one_line(row["path"][-1]), "share": part}


def _table(lines: list[Facts], share: str, file: Facts) -> list[str]:
    clock = file["clock"]
    weight = clock["unit"] if clock["unit"] in WEIGHTS and clock["assumed"] else ""
    counts = figure_terms.SAMPLES if file["sampled"] else figure_terms.COUNT

    def cells(name: str, text: Callable[[int], str]) -> list[str]:
        return [text(line[name]) if name in line else "" for line in lines]

    def times(name: str) -> list[str]:
        if weight:
            ticks = name.replace("_ns", "_ticks")
            return [counted(line[ticks], weight) if ticks in line else "" for line in lines]
        return aligned_times([time_text(line, name) if name in line else "" for line in lines])

    columns = [
        (figure_terms.TOTAL.title, times("total_ns")),
        (figure_terms.SELF.title, times("self_ns")),
        (counts.title, cells("count", group_digits)),
        (share, cells("share", str)),
        ("Name", [line["text"] for line in lines]),
    ]
    return column_lines(columns, right=len(columns) - 1)


# -- stacks ----------------------------------------------------------------------------------------


def folded(facts: Facts) -> str:
    """Format the facts as folded stacks, "process;thread;frame;frame VALUE", one line per path.

    VALUE is the self time in ns. Bottom-up, it is that of the first name, on its whole path to the
    process. In names, ";" becomes ":", line ends become a space, and other characters that do not
    print are escaped. If several profiles are open, the name of the file comes first.
    """
    names = short_names(dict.fromkeys(file["path"] for file in facts["files"]))
    rows, several = facts["rows"], len(names) > 1
    # A name is in many paths.
    frame = cache(_frame)
    values = Counter[str]()
    for number, row in enumerate(rows):
        if facts["bottom_up"] and number + 1 < len(rows):
            following = rows[number + 1]["path"]
            if len(following) > len(row["path"]):
                continue  # its callers have the time
        path = [names[row["file"]], *row["path"]] if several else row["path"]
        values[";".join(map(frame, path))] += row["self_ns"]
    return "\n".join(f"{path} {value}" for path, value in values.items() if value)


def _frame(name: str) -> str:
    return one_line(_LINE_ENDS.sub(" ", name)).replace(";", ":") or _UNNAMED


def flame_graphs(workspace: Workspace, options: CallOptions) -> tuple[list[FlameGraph], Facts]:
    """Return the flame graphs of all profiles that have a tree by the key, and `files` of `calls`.

    `options.most` is ignored. Raises as `viewer.reports.calls.calls` does.
    """
    names = short_names(trace.path for trace in workspace.traces)
    graphs, files = [], []
    for tree in call_trees(workspace, options):
        files.append(tree.facts)
        if tree.table is not None:
            graphs.append(_flame_graph(tree, tree.table, options, names[tree.trace.path]))
    return graphs, {"files": files}


def _flame_graph(
    tree: ProfileCalls, table: CallTable, options: CallOptions, name: str
) -> FlameGraph:
    whole = int(table.total[table.depth == 0].sum())
    if options.inverted:
        # Callers of what is not drawn are not drawn either, and there may be very many.
        call_table = bottom_up(table, options.depth, least_ticks(whole))
        call_table = call_table.sorted_by(call_table.self_ticks)
        call_table = call_table.kept(call_table.self_ticks * 100.0 >= whole * options.least)
    else:
        call_table, _ = reported_rows(table, options)
    title, *notes = file_lines(tree.facts | {"path": name})
    notes = [note.strip() for note in (*notes, *uncounted_texts(tree.facts))]
    direction = ", bottom-up" if options.inverted else ""
    return flame_graph(
        call_table,
        title,
        f"Call tree by {options.key}{direction}, {_scope_text(tree, options)}",
        [note[:1].upper() + note[1:] for note in notes],
        ns_per_tick=tree.ns_per_tick,
        bottom_up=options.inverted,
        whole=whole,
    )


def _scope_text(tree: ProfileCalls, options: CallOptions) -> str:
    if tree.scope.run is not None:
        return str(tree.facts["inference"])
    if options.span is not None:
        return f"range {format_span(*options.span)}"
    return whole_scope_text(tree.trace, loads=True)
