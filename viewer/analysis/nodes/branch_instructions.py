"""Finds the graph nodes of instructions inside control flow, by the program file.

Export maps no instruction inside a branch to a debug handle, but it emits the kernels of branches
in the order of the graph: of a torch.cond first the true branch, then the false one, with jumps
around them; of a torch.map or torch.scan the body, between instructions of the loop itself
(`loop_layout`), which belong to the node of the loop. So the list of kernels between jumps in the
program file is the list of the graph's nodes in branches.

It decides for each conditional or loop of the method alone. Views may have no instruction. If
several places fit a kernel, or none, nothing is known about it. Where a delegate took a part of the
nodes, only kernels that are unique by name are found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from viewer.analysis.nodes.executable_calls import in_control_flow, kernel_name
from viewer.analysis.nodes.loop_layout import Loop, loops_of
from viewer.program.executable.executable import ExecutableMethod, Instruction, InstructionKind
from viewer.program.program import Method, Program, base_name

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
    found: dict[int, int] = {}
    for group, part in zip(groups, parts, strict=True):
        found |= _aligned(program, method, ran, group, part)
    return found


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
    found: list[_Group] = []
    group = _Group()
    for i in ordered:
        node = program.nodes[i]
        if _is_flow(program, i):
            is_loop = base_name(node.op.removeprefix(_HIGHER_ORDER)) != _CONDITIONAL
            if is_loop:
                group.loops.append(i)
            if not node.branch:
                group.is_loop = is_loop
                found.append(group)
                group = _Group()
        elif node.branch:
            group.nodes.append(i)
    return found


def _parts(ran: ExecutableMethod) -> list[_Part]:
    """Return the conditionals and loops of a program file in order, without what is in them."""
    loops = loops_of(ran)
    of_first: dict[int, Loop] = {}
    for loop in loops:
        of_first[loop.first] = loop  # of several that begin here, the outer one ends last
    found: list[_Part] = []
    at, count = 0, len(ran.instructions)
    while at < count:
        here = ran.instructions[at]
        last = at - 1
        if at in of_first:
            last = of_first[at].last
        elif here.kind is _JUMP and here.target > at:
            last = _end_of_conditional(ran, here) - 1
        if last >= at:
            inside = tuple(x for x in loops if at <= x.first and x.last <= last)
            found.append(_Part(at in of_first, at, last, inside))
        at = max(last, at) + 1
    return found


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
    found = {
        number: node
        for node, loop in zip(group.loops, part.loops, strict=True)
        for number in loop.own
        if _is_unmapped_kernel(method, ran.instructions[number])
    }
    own = frozenset[int]().union(*(loop.own for loop in part.loops))
    body = [x for x in ran.instructions[part.first : part.last + 1] if x.number not in own]
    kernels = [x for x in body if _is_unmapped_kernel(method, x)]
    names = [base_name(program.nodes[i].op) for i in group.nodes]
    is_delegated = any(x.kind is _DELEGATE for x in body)
    places = (_unique if is_delegated else _in_order)([kernel_name(x) for x in kernels], names)
    if places is None:
        return {}
    return found | {
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
    found: list[int] = []
    for place, name in enumerate(names):
        at = len(found)
        if at < len(kernels) and _runs(kernels[at], name):
            found.append(place)
        elif name not in _VIEWS:
            return None
    return found if len(found) == len(kernels) else None


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
