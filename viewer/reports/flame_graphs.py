"""The flame graphs of `opscope calls --svg`: one of each profile, or of each of its inferences."""

from __future__ import annotations

from viewer.analysis.calls.bottom_up import bottom_up
from viewer.analysis.calls.call_table import CallTable
from viewer.model.scope import whole_scope_text
from viewer.model.times import format_span
from viewer.program.sources.files import short_names
from viewer.render.flame_graph.boxes import FlameGraph, flame_graph, least_ticks
from viewer.reports.calls import (
    CallOptions,
    ProfileCalls,
    call_trees,
    reported_rows,
    uncounted_texts,
)
from viewer.reports.info import Facts
from viewer.reports.stats import file_lines
from viewer.workspace.workspace import Workspace


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
    notes += uncounted_texts(tree.facts)
    direction = ", bottom-up" if options.inverted else ""
    return flame_graph(
        call_table,
        title,
        f"Call tree by {options.key}{direction}, {_scope_text(tree, options)}",
        [_sentence(note.strip()) for note in notes],
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


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
