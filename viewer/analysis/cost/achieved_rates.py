"""The measured time of an operator whose work is known: the basis of an achieved rate (ops/s).

A rate is only correct if its time and its work cover exactly the same thing. A time is available

* for a run, if all instructions that the ETRecord maps to the operator ran, each equally often, and
  none of them also did work of other operators. A delegate call shared by several operators is
  ignored if its events time the operator separately;
* for one slice, if it is clear which nodes of the operator it executed: by its kernel's name, or
  because no other slice of the run belongs to the operator.

The time is the union of these slices, so a call and the kernel inside it count once, and so do NPU
units that are active at the same time. Host slices of an NPU run are never used: the host only
starts the work and waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from viewer.analysis.cost.event_times import made_of_others
from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Bools, Ints
from viewer.dataclasses import dataclass
from viewer.model import intervals
from viewer.model.queries import NATIVE_DURATION
from viewer.model.recorded_names import kernel_operator
from viewer.model.trace import KeyKind, Unit
from viewer.program.program import (
    GraphNode,
    Lowering,
    Method,
    Operator,
    base_name,
    instructions_of,
    lowered_into,
)

_KERNELS = (KeyKind.KERNEL, KeyKind.OPERATOR_CALL)
_INSTRUCTIONS = (*_KERNELS, KeyKind.DELEGATE_CALL)
_OF_RECORDS = (*_KERNELS, KeyKind.DELEGATE_CALL, KeyKind.DELEGATE_EVENT)
# Host slices only start work elsewhere and wait for it.
_HOST = {Unit.HOST, Unit.HAL}
_STARTS_AND_WAITS = "The host only starts the work and waits; the file does not record its duration"
_OPEN = "Its inferences may have run several methods, whose tensors may have other shapes"
_SCHEDULED = {Unit.DMA_IN, Unit.DMA_OUT, Unit.CDMA, Unit.SLICE, Unit.CSS}


@dataclass(frozen=True, slots=True)
class TimedNodes:
    """The nodes of an operator that ran, and the time that they took.

    nodes: empty if there is no time. times: how many times the nodes ran. ticks: the total of all
    these executions. units: how many NPU units took part, possibly in parallel. reason: why there
    is no time, as a sentence without its final period; "" if there is one.
    """

    nodes: tuple[GraphNode, ...] = ()
    times: int = 0
    ticks: int = 0
    units: int = 0
    reason: str = ""


def timed_in(table: LinkTable, operator: Operator, slices: Ints, runs: int) -> TimedNodes:
    """Return the time of a whole operator.

    slices: all slices linked to the operator, alone or with others, within the runs of interest.
    runs: the number of these inferences.
    """
    if _is_open(table, slices):
        return TimedNodes(reason=_OPEN)
    keys = np.unique(table.trace.slices.key[slices[_stated(table, slices)]]).tolist()
    own_keys = [key for key in keys if table.links[key].operators == (operator.index,)]
    shared = [key for key in keys if table.links[key].operators != (operator.index,)]
    if not len(own_keys):
        why = "It shares all its slices with other operators" if len(shared) else "It has no slice"
        return TimedNodes(reason=why)
    method = table.program.method(operator.method) if table.program else None
    if method is None or any(not _is_told(table, operator, method, k, own_keys) for k in shared):
        return TimedNodes(reason="A part of its time is shared with other operators")
    missing = _missing(table, operator, method, [*own_keys, *shared])
    if missing:
        return TimedNodes(reason=missing)
    own_slices = slices[np.isin(table.trace.slices.key[slices], own_keys)]
    units = _units(table, own_slices)
    if _HOST & set(units.values()):
        return TimedNodes(reason=_STARTS_AND_WAITS)
    times = _times(
        table,
        own_keys,
        own_slices,
        runs,
        is_schedule=bool(units) and set(units.values()) <= _SCHEDULED,
    )
    if times == 0:
        return TimedNodes(
            reason="Its parts ran a different number of times, or the number is not recorded"
        )
    ticks = _length(table, own_slices)
    if ticks == 0:
        return TimedNodes(reason="Its slices have no duration")
    return TimedNodes(operator.nodes, times, ticks, len(units))


def _is_open(table: LinkTable, slices: Ints) -> bool:
    """Return whether the method of any of some slices is open, and so the shapes of its tensors."""
    scopes = np.unique(table.trace.keys.scope[table.trace.slices.key[slices]])
    return any(len(table.methods_of_scope(scope)) > 1 for scope in scopes.tolist())


def timed_by(table: LinkTable, operator: Operator, i: int, in_run: Ints) -> TimedNodes:
    """Return the time of the part of the operator that slice i, linked to it alone, executed.

    in_run: the slices of the same run that are linked to the operator, alone or with others.
    """
    if _is_open(table, np.array([i])):
        return TimedNodes(reason=_OPEN)
    trace = table.trace
    key = int(trace.slices.key[i])
    kind, instruction = int(trace.keys.kind[key]), int(trace.keys.instruction[key])
    method = table.program.method(operator.method) if table.program else None
    if method is None or table.links[key].operators != (operator.index,):
        return TimedNodes(reason="Several operators share the slice")
    ticks = _length(table, np.array([i]))
    if ticks == 0:
        return TimedNodes(reason="The slice has no duration on the file's clock")
    if _HOST & set(_units(table, np.array([i])).values()):
        return TimedNodes(reason=_STARTS_AND_WAITS)
    parts = instructions_of(method, operator)
    if kind in _KERNELS:
        nodes, reason = _nodes_of_kernels(table, operator, key)
        return TimedNodes(nodes, 1, ticks) if nodes else TimedNodes(reason=reason)
    if kind == KeyKind.DELEGATE_CALL and parts == {instruction}:
        return TimedNodes(operator.nodes, 1, ticks)
    if kind == KeyKind.DELEGATE_EVENT:
        lowerings = lowered_into(method, operator)
        identifier_count = sum(len(lowering.identifiers) for lowering in lowerings)
        events = trace.keys.kind[trace.slices.key[in_run]] == KeyKind.DELEGATE_EVENT
        if identifier_count == len(lowerings) == 1 and len(parts) <= 1 and events.sum() == 1:
            return TimedNodes(operator.nodes, 1, ticks)
        return TimedNodes(
            reason="The delegate logs the operator in several parts, of which this is one"
        )
    if kind not in _OF_RECORDS and _stated(table, in_run).sum() == 1:
        return TimedNodes(operator.nodes, 1, ticks)
    return TimedNodes(reason="The slice did a part of the operator")


def _stated(table: LinkTable, slices: Ints) -> Bools:
    """Return a mask of the slices that the file itself contains and times on its own clock."""
    is_stated: Bools = ~made_of_others(table.trace)[slices]
    native = table.trace.slices.columns.get(NATIVE_DURATION)
    if native is not None:
        is_stated = is_stated & False if native.valid is None else is_stated & ~native.valid[slices]
    return is_stated


def _is_told(
    table: LinkTable, operator: Operator, method: Method, key: int, own_keys: Iterable[int]
) -> bool:
    """Return whether a shared key is a delegate call whose events time the operator separately."""
    if table.trace.keys.kind[key] != KeyKind.DELEGATE_CALL:
        return False
    instruction = int(table.trace.keys.instruction[key])
    lowerings = (x for x in lowered_into(method, operator) if x.instruction == instruction)
    lowering = next(lowerings, None)
    if lowering is None or not lowering.identifiers:
        return False
    return not _not_logged(table, method, lowering, own_keys)


def _not_logged(
    table: LinkTable, method: Method, lowering: Lowering, own_keys: Iterable[int]
) -> list[str]:
    """Return the identifiers of a lowered operator that no event logged for it alone."""
    keys, delegate = table.trace.keys, method.delegates[lowering.instruction]
    logged = {
        entry.key
        for k in own_keys
        if keys.kind[k] == KeyKind.DELEGATE_EVENT
        and keys.instruction[k] in (lowering.instruction, -1)
        if (entry := delegate.find(keys.identifier[k])) is not None
    }
    return [str(x.key) for x in lowering.identifiers if x.fused or x.key not in logged]


def _missing(table: LinkTable, operator: Operator, method: Method, keys: list[int]) -> str:
    """Describe in a sentence which mapped parts of the operator were not logged; "" if none."""
    kinds, numbers = table.trace.keys.kind, table.trace.keys.instruction
    of_records = [k for k in keys if kinds[k] in _OF_RECORDS]
    calls = {int(numbers[k]) for k in of_records if kinds[k] != KeyKind.DELEGATE_EVENT}
    if len(of_records) < len(keys):
        return ""  # rows of an NPU profile, which no ETRecord maps
    for lowering in lowered_into(method, operator):
        alone = lowering.instruction in calls and not lowering.others
        left = [] if alone else _not_logged(table, method, lowering, keys)
        if left:
            return f"It was not logged alone as {', '.join(map(repr, left[:4]))}"
    ran = {int(numbers[k]) for k in of_records}
    left_out = sorted(instructions_of(method, operator) - ran)
    if not left_out or ran == {-1}:  # -1: the file does not number instructions
        return ""
    what = "Instruction" if len(left_out) == 1 else "Instructions"
    return f"{what} {', '.join(map(str, left_out[:4]))} did not run"


def _times(table: LinkTable, keys: list[int], slices: Ints, runs: int, *, is_schedule: bool) -> int:
    """Return how many times the operator ran; 0 if its parts differ in that or it is unknown.

    An instruction logged twice in a run ran twice. For anything else, two slices may be a
    repetition or two parts, so it must occur exactly once per run. is_schedule: the slices are a
    compiler's schedule of one inference, which may split an operator into any number of parts.
    """
    if is_schedule:
        return runs
    trace = table.trace
    counts = np.bincount(trace.slices.key[slices], minlength=len(trace.keys))
    kinds = trace.keys.kind
    times: dict[tuple[int, int], int] = {}
    for key in keys:
        if kinds[key] not in _INSTRUCTIONS:
            if counts[key] != runs:
                return 0
            continue
        place = int(trace.keys.scope[key]), int(trace.keys.instruction[key])
        times[place] = max(times.get(place, 0), int(counts[key]))
    run_counts = set(times.values()) or {runs}
    return run_counts.pop() if len(run_counts) == 1 else 0


def _units(table: LinkTable, slices: Ints) -> dict[int, Unit]:
    """Map each track of the slices to its NPU unit; empty if the file has no NPU units."""
    shape = table.trace.slices
    slices = slices[_stated(table, slices)]
    tracks = np.unique(shape.tracks_of(slices)).tolist()
    units = {track: table.trace.tracks[track].unit for track in tracks}
    return {track: unit for track, unit in units.items() if unit is not Unit.NONE}


def _length(table: LinkTable, slices: Ints) -> int:
    """Return the ticks covered by the union of some slices on the file's clock.

    If inferences are on several tracks, as when they are aligned at their starts, overlapping
    slices of different tracks did not run in parallel. Then each track is counted separately.
    """
    trace = table.trace
    slices = slices[_stated(table, slices)]
    start, end = trace.slices.start[slices], trace.slices.end[slices]
    tracks = {run.track for run in trace.inferences()}
    if len(tracks) < 2:
        return intervals.length(*intervals.union(start, end))
    track = trace.slices.tracks_of(slices)
    return sum(
        intervals.length(*intervals.union(start[track == t], end[track == t]))
        for t in np.unique(track).tolist()
    )


def _nodes_of_kernels(
    table: LinkTable, operator: Operator, key: int
) -> tuple[tuple[GraphNode, ...], str]:
    """Return the nodes that the kernels of an instruction executed, or () and why it is unknown."""
    if len(operator.nodes) == 1:
        return operator.nodes, ""
    trace = table.trace
    same = (trace.keys.instruction == trace.keys.instruction[key]) & (
        trace.keys.scope == trace.keys.scope[key]
    )
    kernels = np.flatnonzero(same & (trace.keys.kind == KeyKind.KERNEL)).tolist()
    names = {trace.strings[int(trace.keys.name[k])] for k in kernels}
    ran = {base_name(kernel_operator(name)) for name in names}
    nodes = [node for node in operator.nodes if base_name(node.op) in ran]
    alike = {(n.op, n.settings, _sizes(n.inputs), _sizes(n.outputs), n.branch) for n in nodes}
    if len(alike) == 1:
        return (nodes[0],), ""
    what = " / ".join(sorted(ran)) or "none that was logged"
    if not nodes:
        return (), f"Its kernel, {what}, matches no node of the operator"
    return (), f"Which of the operator's {len(nodes)} nodes {what} it did is not recorded"


def _sizes(tensors: Iterable[object]) -> tuple[object, ...]:
    return tuple((getattr(t, "dtype", ""), getattr(t, "shape", None)) for t in tensors)
