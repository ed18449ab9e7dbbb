"""The nodes that tables of layers state, as operators.

Such a table may have the type of each layer, and names that are paths of nodes state modules. So
the layers of two runtimes can be compared by module, although no runtime knows the names of the
other. A file with information on the layers (`viewer.formats.layers.layer_info`) says more: it is
linked by the names of the layers.
"""

from __future__ import annotations

from collections.abc import Iterable

from viewer.analysis.links.link_table import Link, LinkTable, Reason
from viewer.analysis.links.match import Match, TraceMatch
from viewer.analysis.recorded.recorded_call import RecordedCall, first_slices, text_at
from viewer.analysis.recorded.runtime_nodes import METHOD
from viewer.model.names.executorch import DELEGATE_CALL, OPERATOR_CALL, SCOPES
from viewer.model.names.layers import TYPE
from viewer.model.trace import Trace
from viewer.program.node_paths import nodes_of_layer, paths_in
from viewer.program.program import Program

LAYER_TABLE = "Layer table"
# Of the names of a table without types: others may have a slash by chance. And of the names of a
# table, to be of the layers that a file describes.
_LEAST_SHARE = 0.5
# Linking takes 35 µs per name, and no model has so many layers.
_MOST_NAMES = 20_000
# The tables of ExecuTorch's Inspector have the runtime's calls, not layers.
_CALLS = SCOPES | {DELEGATE_CALL, OPERATOR_CALL}
_UNKNOWN = Link(Reason.NO_IDENTITY, "The file with layers has none of this name")


def layer_calls(trace: Trace) -> list[RecordedCall | None]:
    """Return the nodes of every key; empty for a table without types and paths."""
    names = _names(trace)
    if _CALLS.intersection(names):
        return []
    types = trace.slices.columns.get(TYPE)
    has_path = [bool(paths_in(name)) for name in names]
    if types is None and sum(has_path) < _LEAST_SHARE * len(names):
        return []
    found: list[RecordedCall | None] = []
    for name, is_path, slice_ in zip(names, has_path, first_slices(trace).tolist(), strict=True):
        stated = text_at(types, slice_)
        if stated or is_path:
            first, *fused = nodes_of_layer(name, stated)
            found.append(RecordedCall(METHOD, first, fused=tuple(fused)))
        else:
            found.append(None)
    return found


def described_layers(trace: Trace, programs: Iterable[Program]) -> LinkTable | None:
    """Return the links of a table to the file that describes most of its layers, None without."""
    names = _names(trace) if trace.format == LAYER_TABLE else []
    best: LinkTable | None = None
    most = _LEAST_SHARE * len(names)
    for program in programs:
        if not program.is_of_layers:
            continue
        number = {operator.nodes[0].name: operator.index for operator in program.operators}
        links = tuple(
            _UNKNOWN
            if name not in number
            else Link(Reason.BY_LAYER, f"Layer {name} of {program.path}", operators=(number[name],))
            for name in names
        )
        linked = sum(bool(link.operators) for link in links)
        if names and linked >= most:
            found = _match(trace, program, Match(linked / len(names), len(names)))
            best, most = LinkTable(trace, program, found, links), linked + 1
    return best


def _match(trace: Trace, program: Program, match: Match) -> TraceMatch:
    scopes = len(trace.scopes)
    return TraceMatch(
        match, (program.methods[0].name,) * scopes, (match,) * scopes, ((),) * scopes,
        (frozenset[int](),) * scopes,
    )  # fmt: skip


def _names(trace: Trace) -> list[str]:
    """The names of all keys, none of a table with too many."""
    if len(trace.keys) > _MOST_NAMES:
        return []
    return [trace.strings[number] for number in trace.keys.name.tolist()]
