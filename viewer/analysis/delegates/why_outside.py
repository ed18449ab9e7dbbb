"""Why operators of a program were not delegated: what a partitioner logged, else what is seen.

Without a log, no file states it; what the files show is listed: data types and shapes, whether
others of its type were delegated, and whether its neighbors were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

from viewer.program.program import Operator, Program, Rejection

NOT_KNOWN = "No open file shows why it was not delegated."
_MOST_REASONS = 3  # of one operator


def logged_reasons(program: Program, rejections: Iterable[Rejection]) -> dict[int, str]:
    """Return what partitioners logged of operators, by their indexes.

    What they say of its nodes comes before what they say of all operators of its type. Nodes of
    equal names in several methods share their reasons: logs do not name methods.
    """
    of_node: dict[str, dict[str, None]] = {}
    of_type: dict[str, dict[str, None]] = {}
    for each in rejections:
        reasons, name = (of_node, each.node) if each.node else (of_type, each.op.lower())
        reasons.setdefault(name, {})[each.reason] = None
    if not of_node and not of_type:
        return {}
    return {
        operator.index: "; ".join(list(texts)[:_MOST_REASONS])
        for operator in program.operators
        if (
            texts := dict.fromkeys(
                text for node in operator.nodes for text in of_node.get(node.name, ())
            )
            or dict.fromkeys(
                text for node in operator.nodes for text in of_type.get(node.op.lower(), ())
            )
        )
    }


class WhyOutside:
    """What is known about operators of a program that were not delegated.

    logged: what a partitioner logged, by operator. delegated: the operators that were delegated.
    """

    def __init__(
        self, program: Program, logged: Mapping[int, str], delegated: Collection[int]
    ) -> None:
        self._program, self.logged, self._delegated = program, logged, frozenset(delegated)

    def text(self, index: int) -> str:
        """Return the reason, or what the program shows; "" if nothing.

        "4 of 5 linear are delegated, of f32; its neighbors are delegated".
        """
        if index in self._delegated:
            return ""
        if reason := self.logged.get(index):
            return reason
        facts = self._facts(self._program.operators[index])
        return "; ".join(["the partitioner's log has no reason", *facts] if self.logged else facts)

    def named(self, index: int) -> str:
        """Return the text after the operator and its data types: "head · linear (i64): "."""
        text = self.text(index)
        types = "/".join(sorted(_data_types(self._program.operators[index])))
        of_type = f" ({types})" if types else ""
        return f"{self._program.operators[index].label}{of_type}: {text}" if text else ""

    def of_set(self, operators: Sequence[int]) -> str:
        """Return what is known about some operators that ran together."""
        texts = dict.fromkeys(filter(None, map(self.text, operators)))
        return "; ".join(list(texts)[:_MOST_REASONS])

    def _facts(self, operator: Operator) -> list[str]:
        if not self._delegated:
            return ["its shapes are dynamic"] if _is_dynamic(operator) else []
        facts: list[str] = []
        count = self._count_of_type[operator.op]
        inside, types = self._delegated_of_type.get(operator.op, (0, frozenset()))
        if inside:
            differ = types and _data_types(operator) != types
            of_types = f", of {'/'.join(sorted(types))}" if differ else ""
            facts.append(f"{inside} of {count} {operator.op} are delegated{of_types}")
        elif count > 1:
            facts.append(f"none of {count} {operator.op} is delegated")
        else:
            facts.append(f"it is the only {operator.op}")
        if _is_dynamic(operator):
            facts.append("its shapes are dynamic")
        if near := self._neighbors(operator):
            delegated, all_of = len(near & self._delegated), "neighbors are"
            if len(near) == 1:
                all_of = "neighbor is" if delegated else "neighbor is not"
            facts.append(
                f"its {all_of} delegated"
                if delegated == len(near) or len(near) == 1
                else f"{delegated or 'none'} of its {len(near)} neighbors delegated"
            )
        return facts

    @cached_property
    def _count_of_type(self) -> Counter[str]:
        return Counter(operator.op for operator in self._program.operators)

    @cached_property
    def _delegated_of_type(self) -> dict[str, tuple[int, frozenset[str]]]:
        """The number and the data types of the delegated operators of each type."""
        totals: dict[str, tuple[int, frozenset[str]]] = {}
        for index in self._delegated:
            operator = self._program.operators[index]
            count, types = totals.get(operator.op, (0, frozenset()))
            totals[operator.op] = count + 1, types | _data_types(operator)
        return totals

    @cached_property
    def _users(self) -> tuple[dict[tuple[str, str], set[int]], dict[tuple[str, str], set[int]]]:
        """The operators that make, and those that read, each value of a method."""
        makers: dict[tuple[str, str], set[int]] = {}
        readers: dict[tuple[str, str], set[int]] = {}
        for operator in self._program.operators:
            for node in operator.nodes:
                for values, users in ((node.outputs, makers), (node.inputs, readers)):
                    for value in values:
                        users.setdefault((operator.method, value.name), set()).add(operator.index)
        return makers, readers

    def _neighbors(self, operator: Operator) -> set[int]:
        """The operators that make what an operator reads, or read what it makes."""
        makers, readers = self._users
        near: set[int] = set()
        for node in operator.nodes:
            for values, users in ((node.inputs, makers), (node.outputs, readers)):
                for value in values:
                    near |= users.get((operator.method, value.name), set())
        return near - {operator.index}


def _data_types(operator: Operator) -> frozenset[str]:
    return frozenset(
        value.dtype
        for node in operator.nodes
        for value in (*node.inputs, *node.outputs)
        if value.dtype
    )


def _is_dynamic(operator: Operator) -> bool:
    return any(
        isinstance(size, str)
        for node in operator.nodes
        for value in (*node.inputs, *node.outputs)
        for size in value.shape or ()
    )
