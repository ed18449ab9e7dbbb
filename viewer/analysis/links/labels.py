"""Labels of slices, on screen and in exports, based on what they are linked to.

The work of an NPU unit is labeled with its operation alone, "tosa.conv2d@L11", because its track
already shows the unit. A node of ONNX Runtime is labeled with its operator, as is an event whose
name is nothing but a number. A debug event is linked like the call or the delegate event that its
value belongs to. An event without one is never linked, and neither is an allocation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import takewhile

import numpy as np

from viewer.analysis.links.link_table import Link, LinkTable, Reason
from viewer.arrays import Codes, Ints
from viewer.dataclasses import dataclass
from viewer.model.inference_views import Series
from viewer.model.recorded_names import KERNEL_PREFIX
from viewer.model.trace import KeyKind, Run, RunKind, Trace, UntimedKind
from viewer.program.debug_handles import short_identifier
from viewer.program.frames import Frame
from viewer.program.program import GraphNode, Operator, Program

# Names that a delegate gives to its events in the debug handle map: 12, "0x1F", "3.0".
_NUMBER_ALONE = re.compile(r"\s*[-+#]?(?:0[xX][0-9a-fA-F]+|[0-9]+(?:[.:_/-][0-9]+)*)\s*")
_ENDS_OF_NUMBERS = frozenset("0123456789abcdefABCDEF \t")
# Names in a compile profile that only repeat the unit.
_UNIT_ALONE = re.compile(r"DMA (In|Out)|CDMA .*|Slice \d+|CSS")

_MOST_IN_SENTENCES = 4  # members of a set of operators that a sentence lists


def operator_count(count: int) -> str:
    """Return "6 ops" or "1 op"."""
    return f"{count} op{'' if count == 1 else 's'}"


def key_labels(table: LinkTable) -> list[str]:
    """Return the label of every key except those of runs, computed once per distinct identity."""
    trace, keys = table.trace, table.trace.keys
    names = [name.removeprefix(KERNEL_PREFIX) for name in trace.strings]
    labels = [names[i] for i in keys.name.tolist()]
    for key in np.flatnonzero(keys.kind == KeyKind.DELEGATE_EVENT).tolist():
        identifier = keys.identifier[key]
        if isinstance(identifier, str) and identifier.startswith("{"):
            labels[key] = short_identifier(identifier)
    _label_numbers(table, labels)
    _label_locations(table, labels)
    if table.program is not None and table.is_recorded and not table.program.is_nested:
        for key, link in enumerate(table.links):
            labels[key] = set_label(table, link.operators) or labels[key]
    kernels = _only_kernels(trace)
    label_of: dict[tuple[int, str, tuple[int, ...]], str] = {}
    calls = (keys.kind == KeyKind.DELEGATE_CALL) | (keys.kind == KeyKind.OPERATOR_CALL)
    for key in np.flatnonzero(calls).tolist():
        link = table.links[key]
        kind = int(keys.kind[key])
        if kind == KeyKind.OPERATOR_CALL and not link.operators:
            place = (int(keys.scope[key]), int(keys.instruction[key]))
            labels[key] = kernels.get(place) or labels[key]
            continue
        what = (kind, link.backend, link.operators)
        if what not in label_of:
            label_of[what] = _call_label(table, *what)
        labels[key] = label_of[what] or labels[key]
    return labels


def is_number(label: str) -> bool:
    """Return whether a label is nothing but a number, as the identifiers of some delegates are."""
    return label[-1:] in _ENDS_OF_NUMBERS and _NUMBER_ALONE.fullmatch(label) is not None


def _label_numbers(table: LinkTable, labels: list[str]) -> None:
    """Replace labels that are nothing but numbers by operators, where they are linked to some."""
    if table.program is None:
        return
    for key, label in enumerate(labels):
        if is_number(label):
            labels[key] = set_label(table, table.links[key].operators) or label


def _label_locations(table: LinkTable, labels: list[str]) -> None:
    """Add operations to the labels of linked locations; skip those linked to a function alone."""
    keys, label_of = table.trace.keys, dict[tuple[int, ...], str]()
    for key in np.flatnonzero(keys.kind == KeyKind.LOCATION).tolist():
        operators = table.links[key].operators
        if not operators:
            continue
        if operators not in label_of:
            is_function = all(op.is_function for op in table.operators(key))
            label_of[operators] = "" if is_function else set_label(table, operators)
        if label_of[operators]:
            is_unit = _UNIT_ALONE.fullmatch(labels[key])
            labels[key] = (
                label_of[operators] if is_unit else f"{labels[key]} · {label_of[operators]}"
            )


def _call_label(table: LinkTable, kind: int, backend: str, operators: tuple[int, ...]) -> str:
    if kind == KeyKind.OPERATOR_CALL or len(operators) == 1:
        return set_label(table, operators)
    count = operator_count(len(operators)) if operators else ""
    return " · ".join(part for part in (backend, count) if part)


def _only_kernels(trace: Trace) -> dict[tuple[int, int], str]:
    """Map (scope, instruction) to its kernel, "add.out"; "" if several kernels ran there."""
    keys = trace.keys
    kernels: dict[tuple[int, int], str] = {}
    for key in np.flatnonzero(keys.kind == KeyKind.KERNEL).tolist():
        place = (int(keys.scope[key]), int(keys.instruction[key]))
        name = trace.strings[int(keys.name[key])].removeprefix(KERNEL_PREFIX)
        kernels[place] = name if kernels.get(place, name) == name else ""
    return kernels


def set_label(table: LinkTable, operators: Sequence[int]) -> str:
    """Return "head · linear", or for several operators "linear + gelu" with their common module.

    Operations of an MLIR text keep their lines, in text order: "tosa.add@L16 + tosa.mul@L20".
    """
    if table.program is None or not operators:
        return ""
    members = [table.program.operators[i] for i in sorted(operators)]
    if len(members) == 1:
        return members[0].label
    if all(member.place for member in members):
        return " + ".join(member.label for member in members)
    counts = Counter(member.op for member in members)
    parts = [op if n == 1 else f"{n} {op}" for op, n in counts.items()]
    modules = {member.module_path for member in members}
    levels = zip(*(module.split(".") for module in modules if module), strict=False)
    common = ".".join(level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels))
    text = " + ".join(parts)
    return f"{common} · {text}" if common else text


def brief_label(table: LinkTable, operators: Sequence[int]) -> str:
    """Return the label of a set for a sentence: "convolution + relu + 38 more operators"."""
    if len(operators) <= _MOST_IN_SENTENCES:
        return set_label(table, operators)
    first = sorted(operators)[: _MOST_IN_SENTENCES - 1]
    return f"{set_label(table, first)} + {len(operators) - len(first)} more operators"


def set_labels(table: LinkTable) -> list[tuple[str, str]]:
    """Return per operator set its label, and a hint if another set has the same label; else "".

    The hint names its debug handles, if it has any.
    """
    operators = () if table.program is None else table.program.operators
    labels = [set_label(table, operator_set) for operator_set in table.sets]
    often = Counter(labels)
    return [
        (
            label,
            _handles([operators[i].debug_handle for i in operator_set]) if often[label] > 1 else "",
        )
        for label, operator_set in zip(labels, table.sets, strict=True)
    ]


def _handles(handles: Sequence[int]) -> str:
    """Return "debug handle 3" or "debug handles 3, 4"; "" if the first operator has none."""
    if handles[0] < 0:
        return ""
    return f"debug handle{'s' if len(handles) > 1 else ''} {', '.join(map(str, handles))}"


def scope_name(table: LinkTable, scope: int) -> str:
    """Return the method of a scope ("forward"), else the file's name for the scope."""
    return table.method_of_scope(scope) or table.trace.scopes[scope].name


def series_names(table: LinkTable, series: Collection[Series]) -> dict[Series, str]:
    """Return what to call the methods and phases of inferences: "forward", "forward, decode".

    "" if there is only one; only the phase, "decode", if all are of one method.
    """
    if len(series) < 2:
        return dict.fromkeys(series, "")
    is_one = len({key[:3] for key in series}) == 1
    names = {}
    for process, scope, part, phase in series:
        load = f" from load {part}" if part else ""
        method = f"{scope_name(table, scope)}{load}"
        parts = (phase,) if is_one and phase else (method, phase)
        names[process, scope, part, phase] = ", ".join(filter(None, parts))
    named = Counter(names.values())
    return {key: f"{name} of {key[0]}" if named[name] > 1 else name for key, name in names.items()}


def run_label(table: LinkTable, run: Run) -> str:
    """Return "forward · run 2 of 10", "forward · mean of 10 inferences" or "load".

    An inference that failed or was cut short is "forward · run 2 of 10, did not finish".
    """
    if run.kind is RunKind.LOAD:
        return "load"
    method = table.method_of_scope(run.scope) or run.name or run.unit.label
    which = f"mean of {run.unit.counted(run.count)}" if run.count > 1 else run_number(run)
    return f"{method} · {which}"


def unlinked_text(trace: Trace) -> str:
    """Return what an unlinked trace lacks: a source for Torq profiles, else an ETRecord."""
    return "no source" if trace.format.startswith("Torq") else "no ETRecord"


def run_number(run: Run) -> str:
    """Return "run 2 of 10", or "run 1" if there is no other, and whether it did not finish.

    A step of PyTorch is "step 2 of 10".
    """
    if run.total <= 1:
        return run.label
    return f"{run.unit.label} {run.number} of {run.total}{run.label_ending}"


def track_name(table: LinkTable, track: int) -> str:
    """Return the thread's name, with the method instead of the file's run name if known.

    While the method is open, with all that it may be: "decode or prefill".
    """
    trace = table.trace
    thread = trace.tracks[track].thread
    scopes = table.scopes_of_tracks.get(track, set())
    method = table.method_of_track(track)
    if method is None and len(scopes) == 1:
        method = table.method_text(*scopes)
    if not method:
        return thread
    runs = trace.scopes[next(iter(scopes))].name
    return method + thread[len(runs) :] if thread.startswith(f"{runs} · ") else method


def slice_labels(table: LinkTable) -> tuple[Codes, tuple[str, ...]]:
    """Return the label of every slice as codes (uint32, one per slice) into a tuple of strings."""
    trace = table.trace
    strings: dict[str, int] = {}
    labels = key_labels(table)
    per_key = np.fromiter(
        (strings.setdefault(label, len(strings)) for label in labels), np.uint32, len(labels)
    )
    runs, spans = run_slices(trace)
    if not runs and np.array_equal(per_key, np.arange(len(trace.keys))):
        return trace.slices.key, tuple(strings)
    codes = per_key.take(trace.slices.key) if len(trace.slices) else np.empty(0, np.uint32)
    for i, run in zip(spans.tolist(), runs, strict=True):
        codes[i] = strings.setdefault(run_label(table, run), len(strings))
    return codes, tuple(strings)


def run_slices(trace: Trace) -> tuple[list[Run], Ints]:
    """Return the inferences that an outermost slice spans exactly, and those slices.

    Steps that cover all tracks may be inside other slices, or overlap them; in views they are in
    the lanes of their threads.
    """
    slices, runs = trace.slices, list(trace.inferences())
    track = np.array([run.track for run in runs], np.int64)
    start = np.array([run.start for run in runs], np.int64)
    end = np.array([run.end for run in runs], np.int64)
    slice_of_run = np.full(len(runs), -1)
    outermost = (slices.row_lane == 0) & (slices.row_depth == 0)
    for row in np.flatnonzero(outermost & np.isin(slices.row_track, track)).tolist():
        lo, hi = int(slices.row_ptr[row]), int(slices.row_ptr[row + 1])
        index = np.flatnonzero(track == slices.row_track[row])
        slice_index = lo + np.searchsorted(slices.start[lo:hi], start[index])
        index, slice_index = index[slice_index < hi], slice_index[slice_index < hi]
        spans = (slices.start[slice_index] == start[index]) & (
            slices.end[slice_index] == end[index]
        )
        slice_of_run[index[spans]] = slice_index[spans]
    if len(trace.lane_starts) > 1 or any(run.all_tracks for run in runs):
        number_of = {(run.track, run.start, run.end): i for i, run in enumerate(runs)}
        scopes = np.flatnonzero((trace.keys.kind == KeyKind.FRAMEWORK)[slices.key])
        places = zip(
            slices.tracks_of(scopes).tolist(),
            slices.start[scopes].tolist(),
            slices.end[scopes].tolist(),
            strict=True,
        )
        for i, place in zip(scopes.tolist(), places, strict=True):
            if place in number_of:
                slice_of_run[number_of[place]] = i
    spanned = np.flatnonzero(slice_of_run >= 0)
    return [runs[i] for i in spanned.tolist()], slice_of_run[spanned]


def describe_near(link: Link) -> str:
    """Return "one of 6 operators of its call" for an event that is not linked itself.

    "" if it is none of the nearby operators: they contradict it, or it is a total of all.
    """
    count = len(link.near)
    if not count or link.reason in (Reason.OTHER_OPERATOR, Reason.WHOLE_CALL):
        return ""
    if link.reason is Reason.IN_BRANCH:
        only = "probably the only such operator in a branch"
        return only if count == 1 else f"one of {count} such operators in branches"
    return "the operator of its call" if count == 1 else f"one of {count} operators of its call"


def title_of_near(link: Link) -> str:
    """Return a title for the operators that are near an unlinked event."""
    return _NEAR.get(link.reason, "Operators of its call")


_NEAR = {
    Reason.IN_BRANCH: "Operators in branches",
    Reason.OTHER_OPERATOR: "Operators of its debug handle",
}


@dataclass(frozen=True, slots=True)
class NodeTexts:
    """What some nodes are, in graph order; each text once.

    names: in the graph. op_types: operators of the edge dialect, "aten.convolution.default".
    modules: paths of their innermost modules. sources: "file:line" of the model. callers: that
    of the user's own files, where the source is in an installed package.
    """

    names: tuple[str, ...] = ()
    op_types: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    callers: tuple[str, ...] = ()


def node_texts(table: LinkTable) -> list[NodeTexts]:
    """Return the texts of the nodes of every key; computed once per distinct set of nodes."""
    if table.program is None:
        return [NodeTexts()] * len(table.links)
    sets = zip(table.node_sets, table.parts, strict=True)
    texts = [*(_texts(table.program, nodes, parts) for nodes, parts in sets), NodeTexts()]
    return [texts[number] for number in table.node_set_of_key.tolist()]


def _texts(
    program: Program,
    numbers: tuple[int, ...],
    parts: tuple[GraphNode, ...] | tuple[Operator, ...],
) -> NodeTexts:
    nodes = [program.nodes[i] for i in numbers]
    return NodeTexts(
        _distinct(node.name for node in nodes),
        _distinct(node.op for node in nodes),
        _distinct(part.module_path for part in parts),
        places(part.source for part in parts),
        places(part.caller for part in parts),
    )


def places(frames: Iterable[Frame | None]) -> tuple[str, ...]:
    """The distinct "file:line" of some frames."""
    return _distinct(f"{frame.path}:{frame.line}" for frame in frames if frame is not None)


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text))


HOW_TO_LOG = (
    "ExecuTorch logs values if the program is loaded with enable_etdump=True and a "
    "debug_buffer_size, and allocations if its allocators are tracked."
)
NO_CALL = "no timed event of its identity after it in the run"
OUTSIDE = "logged outside any instruction"


def keys_of(trace: Trace) -> Ints:
    """Return per event the key of the slice that its value belongs to, -1 if there is none."""
    keys = np.append(trace.slices.key.astype(np.int64), -1)
    key_of_event: Ints = keys[trace.untimed.call]
    return key_of_event


def link_reason(table: LinkTable, i: int) -> str:
    """Return why event i is linked or not; empty for an allocation, which is never linked."""
    events = table.trace.untimed
    if events.kind[i] == UntimedKind.ALLOCATION:
        return ""
    if events.call[i] >= 0:
        return table.links[int(table.trace.slices.key[events.call[i]])].reason.text
    return OUTSIDE if events.chain.values[i] < 0 else NO_CALL


def runs_of(table: LinkTable) -> tuple[Ints, tuple[str, ...]]:
    """Return the run of each event as codes into labels: "forward · run 2", "load".

    A block without any timed event is named by its position in the file: "Execute · block 3".
    """
    trace = table.trace
    events = trace.untimed
    texts = [run_label(table, run) for run in trace.runs]
    codes = np.where(events.run >= 0, events.run, len(texts) + events.block.astype(np.int64))
    texts += [f"{name or 'run'} · block {i}" for i, name in enumerate(events.blocks, 1)]
    return codes, tuple(texts)
