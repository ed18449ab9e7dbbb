"""Filter of the Model panel: which modules, operators and shared sets match."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from viewer.analysis.cost.costs import CostRow
from viewer.analysis.links.labels import set_label
from viewer.arrays import Bools
from viewer.gui.panels.model.costs import ModelCosts
from viewer.program.module_tree import ModuleTree


class NameFilter:
    """Matches items whose own name or path of modules contains every word.

    Without words everything matches. words: in lower case.
    """

    def __init__(self, tree: ModuleTree, costed: ModelCosts | None, words: tuple[str, ...]) -> None:
        self._tree = tree
        self._costed = costed
        self._words = words

    @cached_property
    def operators(self) -> Bools:
        """Whether each operator matches (bool, one per operator)."""
        if not self._words:
            return np.ones(len(self._tree.program.operators), np.bool_)
        lines = [
            f"{o.source.path}:{o.source.line}" if o.source else ""
            for o in self._tree.program.operators
        ]
        return np.array(
            [
                self._matches(f"{self._paths[int(at)]} {operator.label} {line}")
                for operator, at, line in zip(
                    self._tree.program.operators, self._tree.of_operator, lines, strict=True
                )
            ],
            np.bool_,
        )

    @cached_property
    def modules(self) -> Bools:
        """Whether each module, or anything in it or around it, matches (one bool per module)."""
        if not self._words:
            return np.ones(len(self._tree.modules), np.bool_)
        found = np.zeros(len(self._tree.modules), np.int64)
        np.add.at(found, self._tree.of_operator, self.operators.astype(np.int64))
        for number in range(len(found)):
            found[number] += self._matches(self._paths[number])
            found[number] += any(self.has_set(number, row) for row in self._sets(number))
        return self._tree.total(found) > 0

    @cached_property
    def _paths(self) -> list[str]:
        """Name, path and class of each module and of all modules around it, in lower case."""
        paths: list[str] = []
        for number, module in enumerate(self._tree.modules):
            above = paths[module.parent] if module.parent >= 0 else ""
            paths.append(f"{above} {self._tree.name(number)} {module.path} {module.type}".lower())
        return paths

    def _matches(self, text: str) -> bool:
        small = text.lower()
        return all(word in small for word in self._words)

    def has_set(self, module: int, row: CostRow) -> bool:
        """Whether a set of operators that share slices in a module matches."""
        if not self._words or self._costed is None:
            return True
        label = set_label(self._costed.shown.table, row.operators)
        return self._matches(f"{self._paths[module]} {label}")

    def _sets(self, module: int) -> Sequence[CostRow]:
        return () if self._costed is None else self._costed.costs.sets[module]
