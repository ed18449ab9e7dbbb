"""Selects the graph node that an instruction ran, among those of its debug handle.

A debug handle has one to dozens of nodes, each of which became an instruction: those of a GRU have
142. A kernel has the name of its node's operator. Where nodes of one handle have the same operator,
their order decides: instructions are emitted in graph order. It decides only if each such node has
an instruction. Otherwise, all nodes that the instruction may have run are returned.

Measured on the programs of 18 models, whose instruction lists are known: each of 70 debug handles
with several nodes has one instruction per node, in this order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property

from viewer.analysis.nodes.delegated_nodes import calls_of_nodes
from viewer.program.program import Method, Program, base_name

_Handles = tuple[int, ...]


class KernelNodes:
    """The nodes that the instructions of one method ran, in one scope of a trace.

    kernels: instruction -> base names of the kernels that it logged.
    """

    def __init__(
        self, program: Program, method: Method, kernels: Mapping[int, Collection[str]]
    ) -> None:
        self._program = program
        self._method = method
        self._kernels = kernels
        self._instructions: dict[_Handles, list[int]] = {}
        for instruction in sorted(method.handles):
            handles = tuple(dict.fromkeys(method.handles[instruction]))
            self._instructions.setdefault(handles, []).append(instruction)

    def nodes(self, instruction: int) -> tuple[int, ...]:
        """Return the nodes that an instruction ran, as indexes into `Program.nodes`.

        One, or several if it is unknown which of them; empty if nothing distinguishes the nodes of
        its debug handles.
        """
        handles = tuple(dict.fromkeys(self._method.handles.get(instruction, ())))
        nodes = self._nodes_of(handles)
        if len(nodes) <= 1:
            return ()
        ran = self._kernels.get(instruction, ())
        instructions = self._instructions[handles]
        if (
            len(handles) == 1
            and len(nodes) == len(instructions)
            and self._agree(instructions, nodes)
        ):
            return (nodes[instructions.index(instruction)],)
        alike = tuple(i for i in nodes if self._name(i) in ran)
        if len(ran) != 1 or len(alike) <= 1 or len(handles) > 1:
            return alike
        # Instructions whose kernel is unknown may have run any of these nodes.
        same = [i for i in instructions if self._kernels.get(i, ran) == ran]
        return (alike[same.index(instruction)],) if len(same) == len(alike) else alike

    def delegated(self, handles: _Handles, instruction: int) -> tuple[int, ...]:
        """Return the nodes of some debug handles that a delegate call may have run.

        Without those that ran outside delegates or in other calls. Indexes into `Program.nodes`;
        empty if the call may have run all of them.
        """
        nodes = self._nodes_of(tuple(dict.fromkeys(handles)))
        calls, elsewhere = self._calls, self._not_delegated
        rest = tuple(
            i for i in nodes if i not in elsewhere and (i not in calls or instruction in calls[i])
        )
        return rest if len(rest) < len(nodes) else ()

    @cached_property
    def _calls(self) -> dict[int, frozenset[int]]:
        return calls_of_nodes(self._program, self._method, self._not_delegated)

    @cached_property
    def _not_delegated(self) -> dict[int, int]:
        """The nodes that other instructions than delegate calls are known to have run."""
        return {
            nodes[0]: instruction
            for handles, instructions in self._instructions.items()
            if len(self._nodes_of(handles)) > 1
            for instruction in instructions
            if instruction not in self._method.delegates
            and len(nodes := self.nodes(instruction)) == 1
        }

    def _nodes_of(self, handles: _Handles) -> list[int]:
        """Return the nodes of some debug handles, without those in branches of control flow."""
        found = (self._method.by_handle.get(handle) for handle in handles)
        numbers = (i for op in found if op for i in self._program.node_numbers(op.index))
        return [i for i in numbers if not self._program.nodes[i].branch]

    def _agree(self, instructions: list[int], nodes: list[int]) -> bool:
        """Return whether each instruction may have run the node at its place.

        It may not if it ran the kernel of another one. A pass may have replaced any other kernel.
        """
        names = {self._name(node) for node in nodes}
        return all(
            self._name(node) in ran or names.isdisjoint(ran)
            for instruction, node in zip(instructions, nodes, strict=True)
            for ran in [self._kernels.get(instruction, ())]
        )

    def _name(self, node: int) -> str:
        return base_name(self._program.nodes[node].op)
