"""Looks up keys of a trace in the program file that ran: XNNPACK's nodes, operators in branches."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property

from viewer.analysis.nodes.branch_instructions import branch_nodes
from viewer.analysis.nodes.executable_calls import delegate_of
from viewer.analysis.nodes.view_instructions import view_nodes
from viewer.analysis.nodes.xnnpack_events import align, call_events
from viewer.model.trace import Trace
from viewer.program.executable.executable import XNNPACK, Delegate, Executable, XnnpackNode
from viewer.program.program import Method, Program

XnnpackNodes = tuple[XnnpackNode, ...]


class ExecutedProgram:
    """The program file that ran in a trace."""

    def __init__(self, trace: Trace, executable: Executable) -> None:
        self.name = os.path.basename(executable.path)
        self._trace = trace
        self._executable = executable
        self._alignments: dict[tuple[int, int, str], dict[int, XnnpackNodes | str]] = {}
        self._branches: dict[str, Mapping[int, int]] = {}
        self._views: dict[str, Mapping[int, int]] = {}

    def xnnpack_nodes(self, key: int, method: str) -> XnnpackNodes | str | None:
        """Return the nodes that XNNPACK logged as an event, or why they are not known.

        Several if one operator runs what they compute. None if the event is not in a call of
        XNNPACK.
        """
        ran = self._executable.method(method)
        scope, instruction = (
            int(self._trace.keys.scope[key]),
            int(self._trace.keys.instruction[key]),
        )
        if ran is None or delegate_of(ran, instruction).backend != XNNPACK:
            return None
        place = scope, instruction, method
        if place not in self._alignments:
            keys = self._events.get((scope, instruction), [])
            self._alignments[place] = self._aligned(keys, delegate_of(ran, instruction))
        return self._alignments[place].get(key)

    def _aligned(self, keys: Sequence[int], delegate: Delegate) -> dict[int, XnnpackNodes | str]:
        """Return the nodes of the events of a call, or why they are not known."""
        if delegate.unread:
            return dict.fromkeys(keys, delegate.unread)
        events = [str(self._trace.keys.identifier[key]) for key in keys]
        found = align(events, delegate.nodes, delegate.dataflow)
        return {
            key: why or tuple(delegate.nodes[node] for node in nodes)
            for key, nodes, why in zip(keys, found.nodes, found.reasons, strict=True)
        }

    def branch_node(self, instruction: int, program: Program, method: Method) -> int | None:
        """Return the node of an instruction in a branch, as index into `Program.nodes`."""
        if method.name not in self._branches:
            ran = self._executable.method(method.name)
            found = {} if ran is None else branch_nodes(program, method, ran)
            self._branches[method.name] = found
        return self._branches[method.name].get(instruction)

    def view_node(self, instruction: int, program: Program, method: Method) -> int | None:
        """Return the node of a view that the runtime makes, as index into `Program.nodes`."""
        if method.name not in self._views:
            ran = self._executable.method(method.name)
            self._views[method.name] = {} if ran is None else view_nodes(program, method, ran)
        return self._views[method.name].get(instruction)

    @cached_property
    def _events(self) -> dict[tuple[int, int], list[int]]:
        return call_events(self._trace)
