"""Tracks the data flow between nodes while an ETRecord's graph is read.

Every value of a graph has *origins*: the operators whose results reach it through nodes that are
not operators (getitem, delegate calls, aliases), and external inputs: inputs of the model,
parameters, buffers, constants. Inner graphs are followed by position. The inputs of a lowered
module, except parameters, are the arguments of its call; the inputs of a branch are the operands
after the graphs; their results are the values of the call. A loop passes the results of its body to
the next iteration: these origins are known only at its end.

Values that cannot be followed, such as those of an inner graph whose input count differs from its
call's operands, are `UNKNOWN`. So is everything that uses them: if an operator takes such a value,
none of its inputs are stated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from viewer.codecs.json_values import mapping, text
from viewer.formats.executorch.etrecord.values import union
from viewer.program.dataflow import ExternalInput, MethodFlow


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
