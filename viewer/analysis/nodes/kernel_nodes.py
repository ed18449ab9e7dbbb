"""Selects the graph node that an instruction ran, among those of its debug handle.

A debug handle has one to dozens of nodes, each of which became an instruction: those of a GRU have
142. A kernel has the name of its node's operator. Where nodes of one handle have the same operator,
their order decides: instructions are emitted in graph order. It decides only if each such node has
an instruction. Otherwise, all nodes that the instruction may have run are returned.

Measured on the programs of 18 models, whose instruction lists are known: each of 70 debug handles
with several nodes has one instruction per node, in this order.

Where delegate calls have debug handles in common, it decides which of them ran a node. PT2E gives
its quantize and dequantize nodes the handle of a neighbor. The partitioner may then put nodes of
one handle into several calls: a dequantize before an add has the handle of the relu that the call
before ran. The map lists a handle once per node, so each call states how many of them it ran, and a
value is never used before the call that computes it. Both together leave one answer, or the nodes
of a handle stay with all of its calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from functools import cached_property

from viewer.program.program import GraphNode, Method, Program, base_name


def calls_of_nodes(
    program: Program, method: Method, ran: Mapping[int, int]
) -> dict[int, frozenset[int]]:
    """Return the instructions that may have run each node of handles with several instructions.

    Nodes are indexes into `Program.nodes`; those in branches are left out. ran: the nodes of
    kernels, where they are known, with their instructions. Empty if the graph's order is not known.
    """
    nodes = [
        (program.nodes[i].position, i)
        for operator in method.operators
        for i in program.node_numbers(operator.index)
        if not program.nodes[i].branch
    ]
    if not nodes or min(nodes)[0] < 0:
        return {}
    calls = _Calls(program, method, [i for _, i in sorted(nodes)], ran)
    calls.decide()
    return calls.may_have_run()


class _Calls:
    """Leaves out instructions until each node has only those that may have run it."""

    def __init__(
        self, program: Program, method: Method, numbers: list[int], ran: Mapping[int, int]
    ) -> None:
        self._numbers = numbers
        of_handle: dict[int, set[int]] = {}
        self._listed = Counter[tuple[int, int]]()
        for instruction, handles in method.handles.items():
            for handle in handles:
                of_handle.setdefault(handle, set()).add(instruction)
                self._listed[handle, instruction] += 1
        self._handle = {i: program.nodes[i].debug_handle for i in numbers}
        self._weight = {i: _listings(program.nodes[i]) for i in numbers}
        weights = Counter[int]()
        self._of_handle: dict[int, list[int]] = {}
        for i in numbers:
            weights[self._handle[i]] += self._weight[i]
            self._of_handle.setdefault(self._handle[i], []).append(i)
        listed = Counter[int]()
        for (handle, _), count in self._listed.items():
            listed[handle] += count
        # Otherwise a pass changed the graph after it was recorded.
        self._shared = {
            handle
            for handle, instructions in of_handle.items()
            if len(instructions) > 1
            and instructions & method.delegates.keys()
            and listed[handle] == weights[handle]
        }
        self._calls = {i: set(of_handle.get(self._handle[i], ())) for i in numbers}
        for i, instruction in ran.items():
            if instruction in self._calls.get(i, ()):
                self._calls[i] = {instruction}
        maker = {t.name: i for i in numbers for t in program.nodes[i].outputs if t.name}
        self._inputs = {
            i: {maker[t.name] for t in program.nodes[i].inputs if t.name in maker} - {i}
            for i in numbers
        }

    def decide(self) -> None:
        """Apply both rules until nothing changes."""
        while self._shared and (self._by_order() | self._by_count()):
            pass

    def may_have_run(self) -> dict[int, frozenset[int]]:
        """The instructions of the nodes of shared handles."""
        return {
            i: frozenset(self._calls[i]) for i in self._numbers if self._handle[i] in self._shared
        }

    def _by_order(self) -> bool:
        """Leave out calls before what makes an input, and after what uses a result."""
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for i in self._numbers:
            earliest = max((first[j] for j in self._inputs[i] if j in first), default=0)
            first[i] = max(earliest, min(self._calls[i], default=earliest))
        for i in reversed(self._numbers):
            calls = self._calls[i]
            if calls:
                last[i] = min(last.get(i, max(calls)), max(calls))
            if i in last:
                for j in self._inputs[i]:
                    last[j] = min(last.get(j, last[i]), last[i])
        return self._keep(
            {
                i: {c for c in self._calls[i] if first[i] <= c <= last.get(i, c)}
                for i in self._numbers
                if self._handle[i] in self._shared
            }
        )

    def _by_count(self) -> bool:
        """Give a call its nodes if no more may be in it, and no others once it has all of them."""
        calls_of: dict[int, set[int]] = {}
        for (handle, call), count in self._listed.items():
            if handle not in self._shared:
                continue
            may = [i for i in self._of_handle[handle] if call in self._calls[i]]
            must = [i for i in may if len(self._calls[i]) == 1]
            if sum(self._weight[i] for i in may) == count:
                calls_of.update((i, {call}) for i in may)
            elif sum(self._weight[i] for i in must) == count:
                calls_of.update((i, self._calls[i] - {call}) for i in may if i not in must)
        return self._keep(calls_of)

    def _keep(self, calls_of: Mapping[int, set[int]]) -> bool:
        """Leave out calls; False if nothing changed. What contradicts itself is not shared."""
        changed = False
        for i, calls in calls_of.items():
            if not calls:
                self._shared.discard(self._handle[i])
            elif calls != self._calls[i]:
                self._calls[i] = calls
                changed = True
        return changed


def _listings(node: GraphNode) -> int:
    """How often the map lists a node: also once for each of several results that is used."""
    if len(node.outputs) < 2:
        return 1
    return 1 + sum("_unused_" not in tensor.name for tensor in node.outputs)


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
        operators = (self._method.by_handle.get(handle) for handle in handles)
        numbers = (i for op in operators if op for i in self._program.node_numbers(op.index))
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
