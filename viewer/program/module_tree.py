"""The modules of a program as a tree, as the ETRecord states them for each operator.

The root is the method, which is the outermost module of its operators; for several methods it is
the model, with one child per method. A module is identified by its path, so one that is called
twice is one module; so is one that is called forward and backward (`Program.directions`), unless
the tree is asked to have a method for each. Operators without a module (in branches of control
flow) have a separate group below their method.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import Enum
from functools import cached_property
from itertools import accumulate, takewhile

import numpy as np

from viewer.arrays import Ints
from viewer.dataclasses import dataclass
from viewer.program.program import GraphNode, Method, Operator, Program, Tensor

_PATH = re.compile(r"(?:/[\w.\-]*\w)+")
_ONNX_TYPE = re.compile(r"/([A-Z][A-Za-z0-9]*)(?:_[0-9]+)?\Z")
_LAYER = "layer"
# Limits of nested modules and of the letters of their paths. A path repeats those of the modules
# around, so without limits the paths of a small file could need all memory.
MOST_MODULES, MOST_PATH = 64, 2048


def paths_in(name: str) -> list[str]:
    """Return the paths of nodes in the name of a layer.

    Exporters to ONNX name nodes by their module. Runtimes name layers after the nodes that they
    fuse: TensorRT's "/stem/conv/Conv + /stem/act/Relu" is two nodes.
    """
    return _PATH.findall(name)


def nodes_of_layer(
    name: str,
    stated: str,
    inputs: Sequence[Tensor] = (),
    outputs: Sequence[Tensor] = (),
) -> tuple[GraphNode, ...]:
    """Return the nodes that a layer runs, of which the first one has the name of the layer.

    stated: the type of the layer, "" if none is. inputs, outputs: of the layer.
    """
    paths = paths_in(name) or [name]
    nodes = []
    for position, path in enumerate(paths):
        match = _ONNX_TYPE.search(path)
        of_path = match[1] if match else ""
        type_ = stated or of_path or _LAYER
        node = GraphNode(
            path if position else name,
            f"{_LAYER}::{type_}",
            -1,
            modules=path_modules(path, of_path or type_),
            source_op=type_,
            inputs=tuple(inputs) if position == 0 else (),
            outputs=tuple(outputs) if position == len(paths) - 1 else (),
        )
        nodes.append(node)
    return tuple(nodes)


def path_modules(name: str, type_: str) -> tuple[tuple[str, str], ...]:
    """Return the modules of a node that is named by its path.

    Exporters add the op type, "/layer1/conv/Conv_2"; any other last part is the node's own name.
    """
    parts = [part for part in name.split("/") if part]
    if parts and re.fullmatch(re.escape(type_) + r"(_\d+)?", parts[-1]):
        parts.pop()
    parts = parts[:MOST_MODULES]
    paths = takewhile(lambda path: len(path) < MOST_PATH, accumulate(parts, "{}.{}".format))
    return tuple((path, "") for path in paths)


_UNPLACED = ("", "", "")  # never a recorded path: those are plain strings


class ModuleKind(Enum):
    """The kind of a tree node."""

    MODEL = "model"
    METHOD = "method"
    MODULE = "module"
    UNPLACED = "operators without a module"


@dataclass(frozen=True, slots=True)
class Module:
    """One node of the tree; numbers are indexes into `ModuleTree.modules`.

    path: as recorded, "blocks.0.mlp"; "" for a root. type: its class, "MLP", or "" if unknown.
    parent: -1 for the root. end: its descendants have the numbers from its own + 1 to `end` - 1.
    depth: 0 for the root. children, operators: those directly in it, in graph order; operators are
    indexes into `Program.operators`.
    """

    kind: ModuleKind
    method: str
    path: str
    type: str
    parent: int
    end: int
    depth: int
    children: tuple[int, ...]
    operators: tuple[int, ...]


class _Place:
    """A module while the tree is being built."""

    def __init__(self, kind: ModuleKind, method: str, path: str = "", type_: str = "") -> None:
        self.kind, self.method, self.path, self.type = kind, method, path, type_
        self.inside: dict[object, _Place] = {}
        self.operators: list[int] = []
        self.nodes: list[int] = []

    def within(self, chain: tuple[tuple[str, str], ...]) -> _Place:
        """The module at the end of a chain of modules, (path, type), from this one on."""
        place = self
        for path, type_ in chain:
            if path:
                module = _Place(ModuleKind.MODULE, self.method, path, type_)
                place = place.inside.setdefault(path, module)
            else:  # the outermost module is the method's own
                self.type = self.type or type_
        return place


@dataclass(frozen=True, eq=False)
class ModuleTree:
    """All modules of a program in preorder and graph order.

    of_operator, of_node: the module that directly contains each operator, and each node (int64). A
    node without a module is in that of its operator. is_joined: whether modules have the operators
    of all `Program.directions`.
    """

    program: Program
    modules: tuple[Module, ...]
    of_operator: Ints
    of_node: Ints
    is_joined: bool = False

    @cached_property
    def is_stated(self) -> bool:
        """Whether the ETRecord places any operator in a module."""
        return any(_chain(operator) for operator in self.program.operators)

    @cached_property
    def end(self) -> Ints:
        """The end of each module's descendants, as in `Module.end` (int64)."""
        return np.array([module.end for module in self.modules], np.int64)

    def name(self, number: int) -> str:
        """The name of a module relative to its parent: "fc1" for "mlp.fc1" in "mlp"."""
        module = self.modules[number]
        if module.kind is ModuleKind.METHOD:
            return module.method
        if module.parent < 0 or module.kind is ModuleKind.UNPLACED:
            return str(module.kind.value).capitalize()
        around = self.modules[module.parent].path
        return module.path.removeprefix(f"{around}.") if around else module.path

    def around(self, number: int) -> Iterator[int]:
        """A module and all its ancestors, innermost first."""
        while number >= 0:
            yield number
            number = self.modules[number].parent

    def common(self, operators: Iterable[int]) -> int:
        """The deepest module that contains all of `operators` (at least one)."""
        return self.around_all({int(self.of_operator[i]) for i in operators})

    def around_all(self, modules: Collection[int]) -> int:
        """The deepest module that contains all of `modules` (at least one), or is the only one."""
        places = set(modules)
        while len(places) > 1:
            # The deepest module cannot contain the others.
            deepest = max(places, key=lambda number: self.modules[number].depth)
            places.remove(deepest)
            places.add(self.modules[deepest].parent)
        return places.pop()

    def operators_in(self, number: int) -> tuple[int, ...]:
        """All operators in a module and its descendants, in graph order."""
        inside = range(number, self.modules[number].end)
        return tuple(sorted(i for n in inside for i in self.modules[n].operators))

    def total(self, amounts: Ints) -> Ints:
        """Add the values of all descendants to each module's own value (last axis)."""
        first = np.zeros((*amounts.shape[:-1], 1), np.int64)
        upto = np.concatenate([first, np.cumsum(amounts, axis=-1)], axis=-1)
        totals: Ints = upto[..., self.end] - upto[..., :-1]
        return totals


def module_tree(program: Program, *, joined: bool = False) -> ModuleTree:
    """Build the module tree of a program; linear in its operators and their depth.

    joined: whether a module that is called forward and backward is one module.
    """
    root = _joined_root(program) if joined and program.directions else _root(program)
    modules: list[Module] = []
    of_operator = np.zeros(len(program.operators), np.int64)
    of_node = np.zeros(len(program.nodes), np.int64)
    # Without recursion: the nesting depth of recorded modules is unbounded.
    todo: list[tuple[_Place, int, int]] = [(root, -1, 0)]
    parents: list[tuple[_Place, int, int]] = []
    while todo:
        place, parent, depth = todo.pop()
        number = len(parents)
        parents.append((place, parent, depth))
        of_operator[place.operators] = number
        of_node[place.nodes] = number
        todo += [(child, number, depth + 1) for child in reversed(place.inside.values())]
    below: list[list[int]] = [[] for _ in parents]
    end = list(range(1, len(parents) + 1))
    for number in range(len(parents) - 1, 0, -1):
        parent = parents[number][1]
        below[parent].append(number)
        end[parent] = max(end[parent], end[number])
    for number, (place, parent, depth) in enumerate(parents):
        modules.append(
            Module(
                place.kind,
                place.method,
                place.path,
                place.type.rpartition(".")[2],
                parent,
                end[number],
                depth,
                tuple(reversed(below[number])),
                tuple(place.operators),
            )
        )
    is_joined = joined and bool(program.directions)
    return ModuleTree(program, tuple(modules), of_operator, of_node, is_joined)


def _root(program: Program) -> _Place:
    methods = [_method(program, method) for method in program.methods]
    root = methods[0] if len(methods) == 1 else _Place(ModuleKind.MODEL, "")
    if root not in methods:
        root.inside = dict(enumerate(methods))
    return root


def _joined_root(program: Program) -> _Place:
    """Put the modules of all directions directly into the model, next to what has no module."""
    root = _Place(ModuleKind.MODEL, "")
    for method in program.methods:
        for operator in method.operators:
            chain = _chain(operator)
            place = root.within(chain)
            if not chain:
                is_direction = method.name in program.directions
                name = f"{method.name}, no module" if is_direction else method.name
                place = root.inside.setdefault((name,), _Place(ModuleKind.METHOD, name))
            place.operators.append(operator.index)
            place.nodes += program.node_numbers(operator.index)
    return root


def _method(program: Program, method: Method) -> _Place:
    root = _Place(ModuleKind.METHOD, method.name)
    has_modules = any(map(_chain, method.operators))
    for operator in method.operators:
        chain = _chain(operator)
        place = root
        if not chain and has_modules:
            unplaced = _Place(ModuleKind.UNPLACED, method.name)
            place = root.inside.setdefault(_UNPLACED, unplaced)
        place = place.within(chain)
        place.operators.append(operator.index)
        numbers = program.node_numbers(operator.index)
        for number, node in zip(numbers, operator.nodes, strict=True):
            (root.within(node.modules) if node.modules else place).nodes.append(number)
    return root


def _chain(operator: Operator) -> tuple[tuple[str, str], ...]:
    """(path, type) of the modules around an operator, as its label has them."""
    return next((node.modules for node in operator.nodes if node.modules), ())
