"""Finds the graph nodes of instructions inside control flow, by the program file.

Export maps no instruction inside a branch to a debug handle, but it emits the kernels of branches
in the order of the graph: of a torch.cond first the true branch, then the false one, with jumps
around them; of a torch.map or torch.scan the body, between instructions of the loop itself, which
belong to the node of the loop. So the list of kernels between jumps in the program file is the list
of the graph's nodes in branches.

It decides for each conditional or loop of the method alone. Views may have no instruction. If
several places fit a kernel, or none, nothing is known about it. Where a delegate took a part of the
nodes, only kernels that are unique by name are found.

A torch.map or torch.scan is laid out so, in exir/emit/_emitter.py (`_emit_map`, `_emit_scan`) of
ExecuTorch 1.5:

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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from viewer.analysis.nodes.executable_calls import in_control_flow, kernel_name
from viewer.program.executable.executable import ExecutableMethod, Instruction, InstructionKind
from viewer.program.program import Method, Program, base_name

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
    selects = list(_upwards(ran, start, _SELECT, 2, count))
    stores = list(_downwards(ran, end - 3, _STORE, 2, count))
    carried = list(_downwards(ran, start - 1, _COPY))
    first = start - 1 - len(carried)
    header = _at(ran, first)
    if header is None or header.name != _SIZE or header.values[2:3] != (size,) or not selects:
        return None
    tail = end - 3 - len(stores)
    copied = list(_downwards(ran, tail, _COPY))[: len(carried)]
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


def _upwards(
    ran: ExecutableMethod, first: int, name: str, argument: int, value: int
) -> Iterator[int]:
    """Yield the kernel calls of a name from one on, as long as an argument has a value."""
    while (
        (x := _at(ran, first)) and x.name == name and x.values[argument : argument + 1] == (value,)
    ):
        yield first
        first += 1


def _downwards(
    ran: ExecutableMethod, last: int, name: str, argument: int = -1, value: int = -1
) -> Iterator[int]:
    """Yield the kernel calls of a name from one back, as long as an argument has a value."""
    while (x := _at(ran, last)) and x.name == name:
        if argument >= 0 and x.values[argument : argument + 1] != (value,):
            return
        yield last
        last -= 1


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
