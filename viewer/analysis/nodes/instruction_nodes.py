"""Finds the graph nodes of instructions: of kernels, of delegate calls, and inside control flow.

A debug handle of an instruction has one to dozens of nodes, each of which became an instruction:
those of a GRU have 142. A kernel has the name of its node's operator. Where nodes of one handle
have the same operator, their order decides, if each such node has an instruction: they are emitted
in graph order, as they are for each of 70 such debug handles of 18 models.

Delegate calls may have debug handles in common: PT2E gives its quantize and dequantize nodes the
handle of a neighbor, and the partitioner may put nodes of one handle into several calls. The map
lists a handle once per node, so each call states how many of them it ran, and a value is never used
before the call that computes it. Both together leave one answer, or the nodes stay with all calls.

*Inside control flow*, export maps no instruction to a debug handle, but it emits kernels in the
order of the graph: of a torch.cond first the true branch, then the false one, with jumps around
them; of a torch.map or torch.scan the body, between instructions of the loop. So the list of
kernels between jumps in the program file is the list of the graph's nodes in branches. It decides
for each conditional or loop alone. If several places fit a kernel, or none, nothing is known about
it. Where a delegate took a part of the nodes, only kernels that are unique by name are found.

A loop is laid out so, in exir/emit/_emitter.py (`_emit_map`, `_emit_scan`) of ExecuTorch 1.5:

    sym_size                      the number of iterations, of the first dimension of the input
    copy_ per carried value       scan only: the initial values
    select_copy per input         the slices of this iteration; the jump below goes back to here
    the body, in node order
    copy_ per carried value       scan only: the values for the next iteration
    et_copy_index per output
    add, eq                       counts the iteration
    JF_CALL                       back to the first select_copy, unless it was the last iteration
    sub                           resets the count

A torch.map has one input and one output. Bodies may contain such operators of their own, so all
that count or select an iteration must use the loop's own count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate

from viewer.arrays import lists_by_key
from viewer.dataclasses import dataclass, field
from viewer.model.recorded_names import kernel_operator
from viewer.program.executables import Delegate, ExecutableMethod, Instruction, InstructionKind
from viewer.program.program import GraphNode, Method, Program, base_name

_NO_DELEGATE = Delegate("", 0)


def kernel_name(instruction: Instruction) -> str:
    """Return the base name of a kernel call's operator: "add" for "aten::add.out"."""
    return base_name(kernel_operator(instruction.name))


def kind_at(method: ExecutableMethod, instruction: int) -> InstructionKind | None:
    """Return the kind of an instruction; None if the method has no such instruction."""
    instructions = method.instructions
    return instructions[instruction].kind if 0 <= instruction < len(instructions) else None


def delegate_of(method: ExecutableMethod, instruction: int) -> Delegate:
    """Return the delegate of a call; one without a backend if it is not a delegate call."""
    if kind_at(method, instruction) is not InstructionKind.DELEGATE_CALL:
        return _NO_DELEGATE
    number = method.instructions[instruction].delegate
    return method.delegates[number] if 0 <= number < len(method.delegates) else _NO_DELEGATE


def in_control_flow(method: ExecutableMethod) -> frozenset[int]:
    """Return the instructions of branches, which a jump may skip, and of the bodies of loops."""
    count = len(method.instructions)
    depth = [0] * (count + 1)  # how many more spans contain an instruction than the one before
    for jump in method.instructions:
        if jump.kind is InstructionKind.JUMP_FALSE_CALL:
            # A jump back ends a loop.
            first = jump.number + 1 if jump.target > jump.number else max(jump.target, 0)
            last = min(jump.target, count) if jump.target > jump.number else jump.number
            if first < last:
                depth[first] += 1
                depth[last] -= 1
    return frozenset(i for i, open_spans in enumerate(accumulate(depth)) if open_spans > 0)


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
        self._instructions = lists_by_key(
            (tuple(dict.fromkeys(handles)), instruction)
            for instruction, handles in sorted(method.handles.items())
        )

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


_SIZE, _SELECT, _COPY = "aten::sym_size.int", "aten::select_copy.int_out", "aten::copy_"
_STORE, _ADD = "executorch_prim::et_copy_index.tensor", "executorch_prim::add.Scalar"
_EQUAL, _RESET = "executorch_prim::eq.Scalar", "executorch_prim::sub.Scalar"


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop. first, last: its instructions. own: those that are not of its body."""

    first: int
    last: int
    own: frozenset[int]


def loops_of(ran: ExecutableMethod) -> list[Loop]:
    """Return the loops of a method, inner ones first, as they end."""
    jumps = (x for x in ran.instructions if x.kind is InstructionKind.JUMP_FALSE_CALL)
    loops = (_loop(ran, jump) for jump in jumps if 0 <= jump.target < jump.number)
    return [loop for loop in loops if loop is not None]


def _loop(ran: ExecutableMethod, jump: Instruction) -> Loop | None:
    """Return the loop that a jump back ends, None if its layout is another one."""
    start, end = jump.target, jump.number
    add, equal, reset = (_at(ran, end + i) for i in (-2, -1, 1))
    if [x and x.name for x in (add, equal, reset)] != [_ADD, _EQUAL, _RESET]:
        return None
    assert add is not None
    assert equal is not None
    if len(add.values) < 1 or len(equal.values) < 2:
        return None
    count, size = add.values[0], equal.values[1]
    selects = list(_in_a_row(ran, start, 1, _SELECT, count))
    stores = list(_in_a_row(ran, end - 3, -1, _STORE, count))
    carried = list(_in_a_row(ran, start - 1, -1, _COPY))
    first = start - 1 - len(carried)
    header = _at(ran, first)
    if header is None or header.name != _SIZE or header.values[2:3] != (size,) or not selects:
        return None
    tail = end - 3 - len(stores)
    copied = list(_in_a_row(ran, tail, -1, _COPY))[: len(carried)]
    if len(copied) != len(carried):
        return None
    numbers = {first, end - 2, end - 1, end, end + 1, *carried, *selects, *stores, *copied}
    return Loop(first, end + 1, frozenset(numbers))


def _at(ran: ExecutableMethod, number: int) -> Instruction | None:
    """Return a kernel call by its number, None for anything else."""
    if not 0 <= number < len(ran.instructions):
        return None
    instruction = ran.instructions[number]
    return instruction if instruction.kind is InstructionKind.KERNEL_CALL else None


def _in_a_row(
    ran: ExecutableMethod, number: int, step: int, name: str, third: int | None = None
) -> Iterator[int]:
    """Yield the kernel calls of a name from one on or back, with a value as third argument."""
    while (
        (x := _at(ran, number)) and x.name == name and (third is None or x.values[2:3] == (third,))
    ):
        yield number
        number += step


_KERNEL, _DELEGATE = InstructionKind.KERNEL_CALL, InstructionKind.DELEGATE_CALL
_JUMP = InstructionKind.JUMP_FALSE_CALL
_HIGHER_ORDER = "higher_order."
_CONDITIONAL = "cond"
# Memory planning lets these share the memory of their input; they run only if shapes are dynamic.
_VIEWS = frozenset({"view_copy", "_unsafe_view", "squeeze_copy", "unsqueeze_copy", "alias_copy"})
_VIEW_KERNEL = "et_view"


def branch_nodes(program: Program, method: Method, ran: ExecutableMethod) -> dict[int, int]:
    """Return instruction -> index into `Program.nodes` for kernels in branches and of loops.

    Empty if the conditionals and loops of the graph are not those of the program file, and if the
    order of the graph is not known.
    """
    ordered = sorted(
        (program.nodes[i].position, i)
        for operator in method.operators
        for i in program.node_numbers(operator.index)
    )
    inner = [i for _, i in ordered if program.nodes[i].branch and not _is_flow(program, i)]
    if not inner or min(program.nodes[i].position for i in inner) < 0:
        return {}
    inside = in_control_flow(ran)
    kernels = [x for x in ran.instructions if x.number in inside and _is_unmapped_kernel(method, x)]
    if [kernel_name(x) for x in kernels] == [base_name(program.nodes[i].op) for i in inner]:
        return {x.number: i for x, i in zip(kernels, inner, strict=True)}
    groups = _groups(program, [i for _, i in ordered])
    parts = _parts(ran)
    if [group.is_loop for group in groups] != [part.is_loop for part in parts]:
        return {}
    node_of: dict[int, int] = {}
    for group, part in zip(groups, parts, strict=True):
        node_of |= _aligned(program, method, ran, group, part)
    return node_of


@dataclass(slots=True)
class _Group:
    """A conditional or loop of the graph that is in no other one.

    nodes: those inside, in order. loops: the nodes of the loops inside, and its own, as they end.
    """

    is_loop: bool = False
    nodes: list[int] = field(default_factory=list)
    loops: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Part:
    """A conditional or loop of the program file that is in no other one: its instructions."""

    is_loop: bool
    first: int
    last: int
    loops: tuple[Loop, ...]


def _groups(program: Program, ordered: Sequence[int]) -> list[_Group]:
    """Return the conditionals and loops of a graph; what is in them comes before their node."""
    groups: list[_Group] = []
    group = _Group()
    for i in ordered:
        node = program.nodes[i]
        if _is_flow(program, i):
            is_loop = base_name(node.op.removeprefix(_HIGHER_ORDER)) != _CONDITIONAL
            if is_loop:
                group.loops.append(i)
            if not node.branch:
                group.is_loop = is_loop
                groups.append(group)
                group = _Group()
        elif node.branch:
            group.nodes.append(i)
    return groups


def _parts(ran: ExecutableMethod) -> list[_Part]:
    """Return the conditionals and loops of a program file in order, without what is in them."""
    loops = loops_of(ran)
    of_first: dict[int, Loop] = {}
    for loop in loops:
        of_first[loop.first] = loop  # of several that begin here, the outer one ends last
    parts: list[_Part] = []
    position, count = 0, len(ran.instructions)
    while position < count:
        here = ran.instructions[position]
        last = position - 1
        if position in of_first:
            last = of_first[position].last
        elif here.kind is _JUMP and here.target > position:
            last = _end_of_conditional(ran, here) - 1
        if last >= position:
            inside = tuple(x for x in loops if position <= x.first and x.last <= last)
            parts.append(_Part(position in of_first, position, last, inside))
        position = max(last, position) + 1
    return parts


def _end_of_conditional(ran: ExecutableMethod, jump: Instruction) -> int:
    """Return the instruction after a conditional that begins with a jump over its true branch."""
    count = len(ran.instructions)
    otherwise = min(jump.target, count)
    skip = ran.instructions[otherwise - 1]
    is_skip = skip.kind is _JUMP and skip.number > jump.number and skip.target >= otherwise
    return min(skip.target, count) if is_skip else otherwise


def _aligned(
    program: Program, method: Method, ran: ExecutableMethod, group: _Group, part: _Part
) -> dict[int, int]:
    """Return instruction -> node of one conditional or loop."""
    if len(group.loops) != len(part.loops):
        return {}
    node_of = {
        number: node
        for node, loop in zip(group.loops, part.loops, strict=True)
        for number in loop.own
        if _is_unmapped_kernel(method, ran.instructions[number])
    }
    in_loops = frozenset[int]().union(*(loop.own for loop in part.loops))
    body = [x for x in ran.instructions[part.first : part.last + 1] if x.number not in in_loops]
    kernels = [x for x in body if _is_unmapped_kernel(method, x)]
    names = [base_name(program.nodes[i].op) for i in group.nodes]
    is_delegated = any(x.kind is _DELEGATE for x in body)
    places = (_unique if is_delegated else _in_order)([kernel_name(x) for x in kernels], names)
    if places is None:
        return {}
    return node_of | {
        x.number: group.nodes[place]
        for x, place in zip(kernels, places, strict=True)
        if place is not None
    }


def _in_order(kernels: Sequence[str], names: Sequence[str]) -> list[int | None] | None:
    """Return the node of each kernel, None for one that may be of several; None if they differ.

    Every node but a view has a kernel. A kernel is certain if it has the same node when views are
    left out as late and as early as possible.
    """
    early = _greedy(kernels, names)
    late = _greedy(kernels[::-1], names[::-1])
    if early is None or late is None:
        return None
    last = len(names) - 1
    return [a if a == last - b else None for a, b in zip(early, late[::-1], strict=True)]


def _greedy(kernels: Sequence[str], names: Sequence[str]) -> list[int] | None:
    places: list[int] = []
    for place, name in enumerate(names):
        count = len(places)
        if count < len(kernels) and _runs(kernels[count], name):
            places.append(place)
        elif name not in _VIEWS:
            return None
    return places if len(places) == len(kernels) else None


def _runs(kernel: str, name: str) -> bool:
    return kernel == name or (kernel == _VIEW_KERNEL and name in _VIEWS)


def _unique(kernels: Sequence[str], names: Sequence[str]) -> list[int | None] | None:
    """Return the nodes of the kernels whose name no other kernel and only one node has."""
    ran, recorded = Counter(kernels), Counter(names)
    return [
        names.index(kernel) if ran[kernel] == recorded[kernel] == 1 else None for kernel in kernels
    ]


def _is_flow(program: Program, node: int) -> bool:
    return program.nodes[node].op.startswith(_HIGHER_ORDER)


def _is_unmapped_kernel(method: Method, instruction: Instruction) -> bool:
    return instruction.kind is _KERNEL and instruction.number not in method.handles
