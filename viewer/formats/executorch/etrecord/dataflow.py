"""Which nodes of an ETRecord's graph take the results of which, while the graph is read.

Every value of a graph has *origins*: the operators whose results reach it through nodes that are
none (getitem, calls of delegates, aliases), and what is given from outside: inputs of the model,
parameters, buffers, constants. Inner graphs are followed by position: the inputs of a lowered
module that are no parameters are the arguments of its call, those of a branch are the operands
behind the graphs, and the results are the values of the call. A loop hands the results of its body
to the next round: these origins are only known at its end.

What cannot be followed, as an inner graph with other inputs than its call has operands, is
`UNKNOWN`, which goes on to everything that uses it: an operator that takes such a value is not said
to have any inputs at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from viewer.codecs.json_values import mapping, text
from viewer.formats.executorch.etrecord.values import union
from viewer.program.dataflow import ExternalInput, MethodFlow


class _Unknown:
    """The one origin of values that cannot be followed."""


class _Carried:
    """What a loop takes at the begin of a round: its operand first, its own result from then on."""

    def __init__(self, first: Origins) -> None:
        self.origins = first


UNKNOWN: Final = _Unknown()
Origins = frozenset[int | ExternalInput | _Carried | _Unknown]
NOTHING: Final[Origins] = frozenset()
LOST: Final[Origins] = frozenset([UNKNOWN])
# Of these the first list of operands is what one round hands to the next.
_LOOPS = ("while_loop", "scan")
_DEEPEST = 20  # lists in lists


class NodeFlows:
    """What each node of one method takes, by the number of the node in reading order."""

    def __init__(self) -> None:
        self._taken: list[Origins] = []

    def add(self, takes: Origins) -> Origins:
        """One more operator, which takes these; the origins of its results."""
        self._taken.append(takes)
        return frozenset([len(self._taken) - 1])

    def method_flow(self, operators: Sequence[int]) -> MethodFlow:
        """What operators take of one another; operators: that of each node, in reading order."""
        pairs: set[tuple[int, int]] = set()
        given: dict[int, dict[ExternalInput, None]] = {}
        unknown: set[int] = set()
        for operator, taken in zip(operators, self._taken, strict=True):
            for origin in _resolved(taken):
                if isinstance(origin, int):
                    pairs.add((operator, operators[origin]))
                elif isinstance(origin, ExternalInput):
                    given.setdefault(operator, {})[origin] = None
                else:
                    unknown.add(operator)
        known = sorted((c, p) for c, p in pairs if c != p and c not in unknown)
        return MethodFlow(
            tuple(c for c, _ in known),
            tuple(p for _, p in known),
            {
                operator: tuple(sorted(found, key=lambda g: (g.is_kept, g.name)))
                for operator, found in given.items()
                if operator not in unknown
            },
            frozenset(unknown),
        )


class GraphScope:
    """The values of one graph by name."""

    def __init__(
        self, inputs: Sequence[Any], kept: Mapping[str, str], given: Sequence[Origins] | None
    ) -> None:
        """Its inputs; kept: those that are parameters and the like. given: what the others are, in
        order; None for the graph of a whole method, whose inputs are those of the model."""
        self._values: dict[str, Origins] = {}
        names = [next(iter(slots(argument)), "") for argument in inputs]
        free = [name for name in names if name not in kept]
        fits = given is None or len(given) == len(free)
        at = 0
        for name in names:
            if name in kept:
                origins: Origins = frozenset([ExternalInput(kept[name], True)])
            elif given is None:
                origins = frozenset([ExternalInput(name, False)]) if name else NOTHING
            else:
                origins = given[at] if fits else LOST
                at += 1
            if name:
                self._values[name] = origins

    def of(self, argument: Any) -> list[Origins]:
        """The origins of each value of an argument, none of a constant. A graph is no value."""
        names = slots(argument)
        # Of a graph the name is that of a submodule.
        if len(names) == 1 and names[0] not in self._values and union(argument)[0] == "as_graph":
            return []
        return [self._of_name(name) for name in names]

    def of_all(self, arguments: Sequence[Any]) -> list[Origins]:
        """The origins of every value of some arguments, in order."""
        return [origins for argument in arguments for origins in self.of(argument)]

    def put_all(self, results: Sequence[Any], origins: Origins) -> None:
        """Name the results of a node, all of which come from the same."""
        for result in results:
            self._values.update(dict.fromkeys(slots(result), origins))

    def put(self, results: Sequence[Any], origins: Sequence[Origins]) -> None:
        """Name the results of a node; origins: those of each of them."""
        names = [name for result in results for name in slots(result)]
        fits = len(origins) == len(names)
        for at, name in enumerate(names):
            if name:
                self._values[name] = origins[at] if fits else LOST

    def _of_name(self, name: str) -> Origins:
        return self._values.get(name, LOST) if name else NOTHING


class Rounds:
    """The operands of control flow, as its inner graphs take them; those of a loop go round."""

    def __init__(self, target: str, operands: Sequence[Sequence[Origins]]) -> None:
        """operands: the origins of the values of every argument behind the inner graphs."""
        self._carried: list[_Carried] = []
        is_loop = target.endswith(_LOOPS)
        if is_loop and operands:
            self._carried = [_Carried(origins) for origins in operands[0]]
        flat = [origins for values in operands for origins in values]
        rounds: list[Origins] = [frozenset([carried]) for carried in self._carried]
        self.operands: list[Origins] = rounds + flat[len(rounds) :]

    def hand_over(self, results: Sequence[Origins]) -> None:
        """What one round of a loop's body leaves to the next."""
        for carried, origins in zip(self._carried, results, strict=False):
            carried.origins = carried.origins | origins


def united(origins: Sequence[Origins]) -> Origins:
    """All origins of several values."""
    return NOTHING.union(*origins)


def slots(argument: Any, depth: int = 0) -> list[str]:
    """The names of the values of an argument, one by one; "" for a constant."""
    if isinstance(argument, dict) and len(argument) == 1:
        # Nearly all of a large graph: half of the time that it takes otherwise.
        tensor = argument.get("as_tensor")
        if isinstance(tensor, dict) and isinstance(tensor.get("name"), str):
            return [tensor["name"]]
    content = union(argument)[1]
    if isinstance(content, list) and depth < _DEEPEST:
        return [name for each in content for name in _names(each, depth + 1)]
    held = mapping(content)
    return [text(held.get("name")) or text(held.get("as_name"))]


def _names(each: Any, depth: int) -> list[str]:
    """The names in one element of a list: a value itself, a tagged one, or a list again."""
    if isinstance(each, list) and depth < _DEEPEST:
        return [name for inner in each for name in _names(inner, depth + 1)]
    own = text(mapping(each).get("name")) or text(mapping(each).get("as_name"))
    return [own] if own else slots(each, depth)


def _resolved(taken: Origins) -> set[int | ExternalInput | _Unknown]:
    """Origins with what loops carry followed to where it comes from."""
    found: set[int | ExternalInput | _Unknown] = set()
    seen: set[int] = set()
    todo = list(taken)
    while todo:
        origin = todo.pop()
        if isinstance(origin, _Carried):
            if id(origin) not in seen:
                seen.add(id(origin))
                todo.extend(origin.origins)
        else:
            found.add(origin)
    return found
