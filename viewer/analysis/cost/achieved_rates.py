"""How long an operator took for work that is known: what a rate (operations per second) rests on.

A rate is only honest where time and work are of the same thing. So a time is given

* of a run where all instructions that the record maps to the operator ran, each as often as the
  others, and none of them did other operators' work too. A delegate's call that several operators
  share is left out where the delegate told the operator apart: logged all its identifiers, each of
  which stands for this operator alone;
* of one slice where it is clear which nodes of the operator it did: by its kernel's name, or since
  nothing else of the run is the operator's.

The time is that in which any of these slices lasts: a call and the kernel inside it count once, and
so do units of an NPU that work at the same time. Else the reason is given. What a host logs of an
NPU is no such time: it starts the work and waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from viewer.analysis.cost.costs import made_of_others
from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Bools, Ints
from viewer.model import intervals
from viewer.model.executorch_names import KERNEL_PREFIX
from viewer.model.queries import NATIVE_DURATION
from viewer.model.trace import KeyKind, Unit
from viewer.program.delegated_to import Lowering, instructions_of, lowered_into
from viewer.program.program import GraphNode, Method, Operator, base_name

_KERNELS = (KeyKind.KERNEL, KeyKind.OPERATOR_CALL)
_INSTRUCTIONS = (*_KERNELS, KeyKind.DELEGATE_CALL)
_OF_RECORDS = (*_KERNELS, KeyKind.DELEGATE_CALL, KeyKind.DELEGATE_EVENT)
# A host's slices begin what others do, and wait for it.
_HOST = {Unit.HOST, Unit.HAL}
_STARTS_AND_WAITS = "The host starts the work and waits for it; how long it took is not told"
_SCHEDULED = {Unit.DMA_IN, Unit.DMA_OUT, Unit.CDMA, Unit.SLICE, Unit.CSS}


@dataclass(frozen=True, slots=True)
class TimedNodes:
    """nodes: those of the operator that were done; times: how often, in so many ticks together.

    units: how many units of an NPU had a part in it, perhaps at the same time. reason: why there is
    no such time, as a sentence without its period; "" if there is one.
    """

    nodes: tuple[GraphNode, ...] = ()
    times: int = 0
    ticks: int = 0
    units: int = 0
    reason: str = ""


def timed_in(table: LinkTable, operator: Operator, slices: Ints, runs: int) -> TimedNodes:
    """The time of a whole operator.

    slices: all that are linked to it, alone or with others, in the runs that are asked about. runs:
    how many inferences these are.
    """
    own, shared = _own_and_shared(table, operator, slices)
    if not len(own):
        why = "It shares all its slices with other operators" if len(shared) else "It has no slice"
        return TimedNodes(reason=why)
    method = table.program.method(operator.method) if table.program else None
    if method is None or any(not _is_told(table, operator, method, k, own) for k in shared):
        return TimedNodes(reason="A part of its time is shared with other operators")
    missing = _missing(table, operator, method, [*own, *shared])
    if missing:
        return TimedNodes(reason=missing)
    mine = slices[np.isin(table.trace.slices.key[slices], own)]
    units = _units(table, mine)
    if _HOST & set(units.values()):
        return TimedNodes(reason=_STARTS_AND_WAITS)
    times = _times(
        table, own, mine, runs, is_schedule=bool(units) and set(units.values()) <= _SCHEDULED
    )
    if times == 0:
        return TimedNodes(
            reason="Its parts ran a different number of times, or how often is not told"
        )
    ticks = _length(table, mine)
    if ticks == 0:
        return TimedNodes(reason="Its slices have no length")
    return TimedNodes(operator.nodes, times, ticks, len(units))


def timed_by(table: LinkTable, operator: Operator, i: int, in_run: Ints) -> TimedNodes:
    """The time of what slice i, which is linked to an operator alone, did of it.

    in_run: the slices of the same run that are linked to the operator, alone or with others.
    """
    trace = table.trace
    key = int(trace.slices.key[i])
    kind, instruction = int(trace.keys.kind[key]), int(trace.keys.instruction[key])
    method = table.program.method(operator.method) if table.program else None
    if method is None or table.links[key].operators != (operator.index,):
        return TimedNodes(reason="The slice is of several operators")
    ticks = _length(table, np.array([i]))
    if ticks == 0:
        return TimedNodes(reason="The slice has no length on the file's clock")
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
        known = sum(len(lowering.identifiers) for lowering in lowerings)
        events = trace.keys.kind[trace.slices.key[in_run]] == KeyKind.DELEGATE_EVENT
        if known == len(lowerings) == 1 and len(parts) <= 1 and events.sum() == 1:
            return TimedNodes(operator.nodes, 1, ticks)
        return TimedNodes(
            reason="The delegate logs the operator in several parts, of which this is one"
        )
    if kind not in _OF_RECORDS and _stated(table, in_run).sum() == 1:
        return TimedNodes(operator.nodes, 1, ticks)
    return TimedNodes(reason="The slice did a part of the operator")


def _own_and_shared(
    table: LinkTable, operator: Operator, slices: Ints
) -> tuple[list[int], list[int]]:
    """The keys of some slices that are the operator's alone, and those that others share."""
    keys = np.unique(table.trace.slices.key[slices[_stated(table, slices)]]).tolist()
    own = [key for key in keys if table.links[key].operators == (operator.index,)]
    return own, [key for key in keys if table.links[key].operators != (operator.index,)]


def _stated(table: LinkTable, some: Ints) -> Bools:
    """Which of some slices the file itself states on its own clock."""
    found: Bools = ~made_of_others(table.trace)[some]
    native = table.trace.slices.columns.get(NATIVE_DURATION)
    if native is not None:
        found = found & False if native.valid is None else found & ~native.valid[some]
    return found


def _is_told(
    table: LinkTable, operator: Operator, method: Method, key: int, own: Iterable[int]
) -> bool:
    """Whether a shared key is a delegate's call whose events tell the operator's time apart."""
    if table.trace.keys.kind[key] != KeyKind.DELEGATE_CALL:
        return False
    lowering = _lowering(method, operator, int(table.trace.keys.instruction[key]))
    if lowering is None or not lowering.identifiers:
        return False
    return not _not_logged(table, method, lowering, own)


def _not_logged(
    table: LinkTable, method: Method, lowering: Lowering, own: Iterable[int]
) -> list[str]:
    """The identifiers of a lowered operator that were not logged for it alone."""
    keys, delegate = table.trace.keys, method.delegates[lowering.instruction]
    logged = {
        entry.key
        for k in own
        if keys.kind[k] == KeyKind.DELEGATE_EVENT
        and keys.instruction[k] in (lowering.instruction, -1)
        if (entry := delegate.find(keys.identifier[k])) is not None
    }
    return [str(x.key) for x in lowering.identifiers if x.fused or x.key not in logged]


def _lowering(method: Method, operator: Operator, instruction: int) -> Lowering | None:
    found = (x for x in lowered_into(method, operator) if x.instruction == instruction)
    return next(found, None)


def _missing(table: LinkTable, operator: Operator, method: Method, keys: list[int]) -> str:
    """What of the operator was not logged, as a sentence; "" if all that is mapped was."""
    kinds, numbers = table.trace.keys.kind, table.trace.keys.instruction
    of_records = [k for k in keys if kinds[k] in _OF_RECORDS]
    calls = {int(numbers[k]) for k in of_records if kinds[k] != KeyKind.DELEGATE_EVENT}
    if len(of_records) < len(keys):
        return ""  # rows of an NPU's profile, which no record maps
    for lowering in lowered_into(method, operator):
        alone = lowering.instruction in calls and not lowering.others
        left = [] if alone else _not_logged(table, method, lowering, keys)
        if left:
            return f"It was not logged alone as {', '.join(map(repr, left[:4]))}"
    ran = {int(numbers[k]) for k in of_records}
    left_out = sorted(instructions_of(method, operator) - ran)
    if not left_out or ran == {-1}:  # a file that numbers no instructions
        return ""
    what = "Instruction" if len(left_out) == 1 else "Instructions"
    return f"{what} {', '.join(map(str, left_out[:4]))} of it did not run"


def _times(table: LinkTable, own: list[int], slices: Ints, runs: int, *, is_schedule: bool) -> int:
    """How often the operator ran; 0 if its parts did not run equally often, or it is not told.

    An instruction that ran twice in a run ran twice. Of all else it is not known whether it was
    done again or in parts, so it has to be there once a run. is_schedule: the slices are a
    compiler's plan of one inference, which has an operator in as many parts as it likes.
    """
    if is_schedule:
        return runs
    trace = table.trace
    counts = np.bincount(trace.slices.key[slices], minlength=len(trace.keys))
    kinds = trace.keys.kind
    times: dict[tuple[int, int], int] = {}
    for key in own:
        if kinds[key] not in _INSTRUCTIONS:
            if counts[key] != runs:
                return 0
            continue
        place = int(trace.keys.scope[key]), int(trace.keys.instruction[key])
        times[place] = max(times.get(place, 0), int(counts[key]))
    found = set(times.values()) or {runs}
    return found.pop() if len(found) == 1 else 0


def _units(table: LinkTable, slices: Ints) -> dict[int, Unit]:
    """Track -> the unit of an NPU that some slices are of; empty where the file is of none."""
    shape = table.trace.slices
    slices = slices[_stated(table, slices)]
    tracks = np.unique(shape.tracks_of(slices)).tolist()
    units = {track: table.trace.tracks[track].unit for track in tracks}
    return {track: unit for track, unit in units.items() if unit is not Unit.NONE}


def _length(table: LinkTable, slices: Ints) -> int:
    """The ticks in which any of some slices lasts on the file's clock.

    Where inferences lie on several tracks, as they do when they are aligned at their starts, they
    are no work that was done at once: then each track counts by itself.
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
    """The nodes that the kernels of an instruction did, or why it is not known."""
    if len(operator.nodes) == 1:
        return operator.nodes, ""
    trace = table.trace
    same = (trace.keys.instruction == trace.keys.instruction[key]) & (
        trace.keys.scope == trace.keys.scope[key]
    )
    kernels = np.flatnonzero(same & (trace.keys.kind == KeyKind.KERNEL)).tolist()
    names = {trace.strings[int(trace.keys.name[k])] for k in kernels}
    ran = {base_name(name.removeprefix(KERNEL_PREFIX)) for name in names}
    nodes = [node for node in operator.nodes if base_name(node.op) in ran]
    alike = {(n.op, n.settings, _sizes(n.inputs), _sizes(n.outputs), n.branch) for n in nodes}
    if len(alike) == 1:
        return (nodes[0],), ""
    what = " / ".join(sorted(ran)) or "none that was logged"
    if not nodes:
        return (), f"Its kernel, {what}, is none of the operator's nodes"
    return (), f"Which of the operator's {len(nodes)} nodes {what} it did is not recorded"


def _sizes(tensors: Iterable[object]) -> tuple[object, ...]:
    return tuple((getattr(t, "dtype", ""), getattr(t, "shape", None)) for t in tensors)
