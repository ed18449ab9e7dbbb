"""Reads the values of an ETRecord's graphs, and tracks the data flow between their nodes.

Not in the format's specification: since 0.4, unions have one key per object. In 0.1 to 0.3, all
keys exist and the unset ones are null. Nightlies of torch 2.2 write {"$type", "$value"}. Since 1.0,
nodes have names. Before that, a node is named like its only output, or as torch.fx would name it
when it loads the program: the target with underscores, and _1, _2 if that is taken.

Every value of a graph has *origins*: the operators whose results reach it through nodes that are
not operators (getitem, delegate calls, aliases), and external inputs: inputs of the model,
parameters, buffers, constants. Inner graphs are followed by position. The inputs of a lowered
module, except parameters, are the arguments of its call; the inputs of a branch are the operands
after the graphs; their results are the values of the call. A loop passes the results of its body to
the next iteration: these origins are known only at its end. Values that cannot be followed, such as
those of an inner graph whose input count differs from its call's operands, are `UNKNOWN`: if an
operator takes such a value, none of its inputs are stated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from viewer.codecs.json_values import mapping, sequence, text, whole_number
from viewer.program.dataflow import ExternalInput, MethodFlow
from viewer.program.program import Setting, Tensor

_DTYPES = {
    1: "u8", 2: "i8", 3: "i16", 4: "i32", 5: "i64", 6: "f16", 7: "f32", 8: "f64", 9: "c32",
    10: "c64", 11: "c128", 12: "bool", 13: "bf16", 14: "u16", 15: "f8e5m2", 16: "f8e4m3fn",
}  # fmt: skip
_SETTINGS = frozenset(("as_int", "as_float", "as_bool", "as_ints", "as_floats", "as_bools"))
_TENSOR_LISTS = frozenset(("as_tensors", "as_nested_tensors", "as_optional_tensors"))
# What a placeholder stands for, by the kind of its input specification.
_KEPT_VALUES = {
    "parameter": "parameter_name",
    "buffer": "buffer_name",
    "tensor_constant": "tensor_constant_name",
}


def union(value: Any) -> tuple[str, Any]:
    """(kind, content) of a tagged union in any generation's encoding; ("", None) if unset."""
    if isinstance(value, dict):
        if "$type" in value:
            return text(value["$type"]), value.get("$value")
        for kind in value:
            if value[kind] is not None:
                return kind, value[kind]
    return "", None


def op_name(target: str) -> str:
    """ "executorch.exir.dialects.edge.ops.aten.relu.default" -> "aten.relu.default"."""
    _, separator, name = target.partition(".ops.")
    return name if separator else target


def kept_values(signature: dict[str, Any]) -> dict[str, str]:
    """Placeholder -> path of the parameter, buffer or constant that it stands for."""
    values = {}
    for specification in sequence(signature.get("input_specs")):
        kind, content = union(specification)
        name = text(mapping(mapping(content).get("arg")).get("name"))
        path = text(mapping(content).get(_KEPT_VALUES.get(kind, "")))
        if name and path:
            values[name] = path
    return values


def _tensor_names(argument: Any) -> Sequence[str]:
    """The names of the tensors in an argument, directly or in lists."""
    kind, content = union(argument)
    if kind == "as_tensor":
        holders = [content]
    elif kind not in _TENSOR_LISTS:
        return ()
    elif kind == "as_tensors":
        holders = sequence(content)
    elif kind == "as_nested_tensors":
        holders = [t for inner in sequence(content) for t in sequence(inner)]
    else:
        pairs = [union(each) for each in sequence(content)]
        holders = [tensor for tag, tensor in pairs if tag == "as_tensor"]
    names = [mapping(holder).get("name") for holder in holders]
    return [name for name in names if isinstance(name, str)]


def value_names(argument: Any) -> Iterator[str]:
    """The names of the tensors and symbols in an argument."""
    yield from _tensor_names(argument)
    symbol = mapping(union(argument)[1]).get("as_name")
    if isinstance(symbol, str):
        yield symbol


def settings_of(inputs: Sequence[Any]) -> tuple[tuple[str, Setting], ...]:
    """(name, value) of a node's inputs that are numbers, bools or lists of them."""
    settings: list[tuple[str, Setting]] = []
    for each in inputs:
        item = mapping(each)
        argument = item.get("arg")
        if isinstance(argument, dict) and len(argument) == 1 and "as_tensor" in argument:
            continue  # most of a large graph
        kind, content = union(argument)
        name = text(item.get("name"))
        if kind not in _SETTINGS or not name:
            continue
        if isinstance(content, list) and all(isinstance(c, int | float) for c in content):
            settings.append((name, tuple(content)))
        elif isinstance(content, bool | int | float):
            settings.append((name, content))
    return tuple(settings)


def _size(value: Any) -> int | str:
    """An integer, or a symbol with its size at export: "s27 (8)"."""
    kind, content = union(value)
    if kind == "as_int" and isinstance(content, int):
        return content
    symbol = text(mapping(content).get("expr_str")) or "?"
    _, hint = union(mapping(content).get("hint"))
    return f"{symbol} ({hint})" if whole_number(hint) is not None else symbol


class GraphTensors:
    """The tensors of one graph by name, each created once."""

    def __init__(self, described: dict[str, Any], signature_values: Mapping[str, str]) -> None:
        self._described = described
        self._kept = signature_values
        self._made: dict[str, Tensor] = {}

    def tensors(self, arguments: list[Any]) -> tuple[Tensor, ...]:
        """The tensors named in some arguments."""
        names = [name for argument in arguments for name in _tensor_names(argument)]
        for name in names:
            if name not in self._made:
                self._made[name] = self._tensor(name)
        return tuple([self._made[name] for name in names])

    def _tensor(self, name: str) -> Tensor:
        meta = mapping(self._described.get(name))
        sizes = meta.get("sizes")
        shape = tuple(_size(s) for s in sizes) if isinstance(sizes, list) else None
        dtype = _DTYPES.get(whole_number(meta.get("dtype")) or 0, "")
        return Tensor(name, dtype, shape, self._kept.get(name, ""))


class NodeNames:
    """The names of one graph's nodes, assigned like torch.fx does: each only once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._last: dict[str, int] = {}

    def of_node(self, node: dict[str, Any], target: str, results: list[Any]) -> str:
        """The stated name, or the one that loading the program would assign."""
        stated = text(node.get("name"))
        if stated:
            return stated
        kind, content = union(results[0]) if len(results) == 1 else ("", None)
        if kind in ("as_tensor", "as_sym_int", "as_sym_bool", "as_sym_float"):
            only = text(mapping(content).get("name")) or text(mapping(content).get("as_name"))
            if only:
                return self.take(only)
        name = self.take(_fx_name(target))
        for result in results:
            for each in value_names(result):
                self.take(each)
        return name

    def take(self, wanted: str) -> str:
        """Reserve the name, with the next free number appended if it is taken."""
        match = _NUMBERED.fullmatch(wanted)
        base = match[1] if match else wanted
        number = self._last.get(base, 0)
        if match and wanted not in self._taken:
            number = max(number, int(match[2]))
        name = wanted
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        self._last[base] = number
        return name


_NUMBERED = re.compile(r"([A-Za-z_]\w*?)_([0-9]{1,9})")
_INNER_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NO_IDENTIFIER = re.compile(r"[^0-9A-Za-z_]+")


def _fx_name(target: str) -> str:
    """ "executorch.exir.dialects.edge.ops.aten.eq.Scalar" -> "aten_eq_scalar"."""
    path = op_name(target)
    if target.startswith("torch.ops."):  # torch operators are named without their namespace
        path = path.partition(".")[2]
    path = path.removeprefix("_operator.")
    return _NO_IDENTIFIER.sub("_", _INNER_CAPITAL.sub("_", path).lower()) or "_unnamed"


class _Unknown:
    """The single origin of values that cannot be followed."""


class _Carried:
    """A loop-carried value: first the operand, then also the result of the loop's body."""

    def __init__(self, first: Origins) -> None:
        self.origins = first


UNKNOWN: Final = _Unknown()
Origins = frozenset[int | ExternalInput | _Carried | _Unknown]
NOTHING: Final[Origins] = frozenset()
LOST: Final[Origins] = frozenset([UNKNOWN])
# For these, the first list of operands is what one iteration passes to the next.
_LOOPS = ("while_loop", "scan")
_DEEPEST = 20  # nested lists


class NodeFlows:
    """The inputs of each node in one method, by its number in reading order."""

    def __init__(self) -> None:
        self._taken: list[Origins] = []

    def add(self, takes: Origins) -> Origins:
        """Add an operator with these inputs; returns the origins of its results."""
        self._taken.append(takes)
        return frozenset([len(self._taken) - 1])

    def method_flow(self, operators: Sequence[int]) -> MethodFlow:
        """The data flow between operators, given each node's operator in reading order."""
        pairs: set[tuple[int, int]] = set()
        inputs_of: dict[int, dict[ExternalInput, None]] = {}
        unknown: set[int] = set()
        for operator, taken in zip(operators, self._taken, strict=True):
            for origin in _resolved(taken):
                if isinstance(origin, int):
                    pairs.add((operator, operators[origin]))
                elif isinstance(origin, ExternalInput):
                    inputs_of.setdefault(operator, {})[origin] = None
                else:
                    unknown.add(operator)
        links = sorted((c, p) for c, p in pairs if c != p and c not in unknown)
        return MethodFlow(
            tuple(c for c, _ in links),
            tuple(p for _, p in links),
            {
                operator: tuple(sorted(external, key=lambda g: (g.is_kept, g.name)))
                for operator, external in inputs_of.items()
                if operator not in unknown
            },
            frozenset(unknown),
        )


class GraphScope:
    """The values of one graph by name."""

    def __init__(
        self,
        inputs: Sequence[Any],
        signature_values: Mapping[str, str],
        input_origins: Sequence[Origins] | None,
    ) -> None:
        """Bind the inputs of a graph.

        signature_values: the inputs that are parameters, buffers or constants, by path.
        input_origins: the origins of the other inputs, in order; None for the graph of a whole
        method, whose inputs are those of the model.
        """
        self._values: dict[str, Origins] = {}
        names = [next(iter(slots(argument)), "") for argument in inputs]
        free = [name for name in names if name not in signature_values]
        fits = input_origins is None or len(input_origins) == len(free)
        position = 0
        for name in names:
            if name in signature_values:
                origins: Origins = frozenset([ExternalInput(signature_values[name], True)])
            elif input_origins is None:
                origins = frozenset([ExternalInput(name, False)]) if name else NOTHING
            else:
                origins = input_origins[position] if fits else LOST
                position += 1
            if name:
                self._values[name] = origins

    def of(self, argument: Any) -> list[Origins]:
        """The origins of each value in an argument; empty for a constant or graph."""
        names = slots(argument)
        # The name of a graph is that of a submodule.
        if len(names) == 1 and names[0] not in self._values and union(argument)[0] == "as_graph":
            return []
        return [self._values.get(name, LOST) if name else NOTHING for name in names]

    def of_all(self, arguments: Sequence[Any]) -> list[Origins]:
        """The origins of every value in several arguments, in order."""
        return [origins for argument in arguments for origins in self.of(argument)]

    def put_all(self, results: Sequence[Any], origins: Origins) -> None:
        """Bind all results of a node to the same origins."""
        for result in results:
            self._values.update(dict.fromkeys(slots(result), origins))

    def put(self, results: Sequence[Any], origins: Sequence[Origins]) -> None:
        """Bind the results of a node; origins: those of each result."""
        names = [name for result in results for name in slots(result)]
        fits = len(origins) == len(names)
        for position, name in enumerate(names):
            if name:
                self._values[name] = origins[position] if fits else LOST


class Rounds:
    """The operands of control flow as inputs of its inner graphs, including loop-carried values."""

    def __init__(self, target: str, operands: Sequence[Sequence[Origins]]) -> None:
        """operands: the origins of the values of every argument after the inner graphs."""
        self._carried: list[_Carried] = []
        is_loop = target.endswith(_LOOPS)
        if is_loop and operands:
            self._carried = [_Carried(origins) for origins in operands[0]]
        flat = [origins for values in operands for origins in values]
        rounds: list[Origins] = [frozenset([carried]) for carried in self._carried]
        self.operands: list[Origins] = rounds + flat[len(rounds) :]

    def hand_over(self, results: Sequence[Origins]) -> None:
        """Pass the results of a loop's body to its next iteration."""
        for carried, origins in zip(self._carried, results, strict=False):
            carried.origins = carried.origins | origins


def united(origins: Sequence[Origins]) -> Origins:
    """All origins of several values."""
    return NOTHING.union(*origins)


def slots(argument: Any, depth: int = 0) -> list[str]:
    """The names of the values in an argument, one by one; "" for a constant."""
    if isinstance(argument, dict) and len(argument) == 1:
        # Nearly all arguments of a large graph: this shortcut saves half of the time.
        tensor = argument.get("as_tensor")
        if isinstance(tensor, dict) and isinstance(tensor.get("name"), str):
            return [tensor["name"]]
    content = union(argument)[1]
    if isinstance(content, list) and depth < _DEEPEST:
        return [name for each in content for name in _names(each, depth + 1)]
    held = mapping(content)
    return [text(held.get("name")) or text(held.get("as_name"))]


def _names(each: Any, depth: int) -> list[str]:
    """The names in one element of a list: a value itself, a tagged one, or another list."""
    if isinstance(each, list) and depth < _DEEPEST:
        return [name for inner in each for name in _names(inner, depth + 1)]
    name = text(mapping(each).get("name")) or text(mapping(each).get("as_name"))
    return [name] if name else slots(each, depth)


def _resolved(taken: Origins) -> set[int | ExternalInput | _Unknown]:
    """Replace loop-carried values by their origins."""
    sources: set[int | ExternalInput | _Unknown] = set()
    seen: set[int] = set()
    todo = list(taken)
    while todo:
        origin = todo.pop()
        if isinstance(origin, _Carried):
            if id(origin) not in seen:
                seen.add(id(origin))
                todo.extend(origin.origins)
        else:
            sources.add(origin)
    return sources
