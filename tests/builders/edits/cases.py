"""The edits of the campaign: models, kinds and seeds, the same every time."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from functools import cached_property

from tests.builders.edits.exported import Exported, exported, is_trivial
from tests.builders.edits.kinds import KINDS
from tests.builders.edits.models import MODELS
from tests.builders.edits.source import Model
from tests.builders.edits.truth import Truth, truth_of
from viewer.program.program import Method, Program

EACH = 8  # edits of one kind alone, and as many in which it is combined with others
# Kinds that undo or repeat one another.
_FAMILIES = ("linear", "attention", "norm", "nest", "line")


@dataclass(frozen=True)
class Edit:
    """An edit: the kinds of changes in it, and its model before and after.

    constants: whether the comparison may see what the parameters contain.
    """

    number: int
    kinds: tuple[str, ...]
    models: tuple[Model, Model]
    constants: bool

    @property
    def name(self) -> str:
        """Its number, its model and the kinds of changes."""
        constants = "with constants" if self.constants else "without constants"
        return f"{self.number} {self.models[0].name}: {' + '.join(self.kinds)}, {constants}"

    @cached_property
    def a(self) -> Exported:
        """The model before."""
        return exported(self.models[0])

    @cached_property
    def b(self) -> Exported:
        """The model after."""
        return exported(self.models[1])

    @cached_property
    def programs(self) -> tuple[Program, Program]:
        """What is compared: both programs, with the contents of constants if these are seen."""
        if not self.constants:
            return self.a.program, self.b.program
        return _with_constants(self.a), _with_constants(self.b)

    @cached_property
    def truth(self) -> Truth:
        """What is true of it."""
        return truth_of(self.a, self.b, constants=self.constants)


def _with_constants(one: Exported) -> Program:
    """The program with hashes of its parameters; "" of one with only zeros or ones."""
    if "constants" not in {field.name for field in fields(Method)}:
        return one.program
    hashes = {path: "" if is_trivial(data) else hashlib.sha256(data).hexdigest()
              for path, data in one.constants.items()}  # fmt: skip
    methods = []
    for method in one.program.methods:
        used = {t.parameter for op in method.operators for n in op.nodes for t in n.inputs}
        contents = {path: data for path, data in hashes.items() if path in used}
        methods.append(replace(method, **{"constants": contents}))
    return replace(one.program, methods=tuple(methods))


def edits() -> Iterator[Edit]:
    """Yield all edits: of each kind alone, then combined, each with and without constants."""
    number = 0
    counts: Counter[str] = Counter()
    for is_combined in (False, True):
        for turn in range(EACH):
            for kind in KINDS:
                dice = random.Random(f"edit {number}")
                kinds = [kind]
                if is_combined:
                    more = sorted(KINDS, key=lambda other: (counts[other], dice.random()))
                    kinds = _with_more(kind, more, dice.randint(2, 3))
                edit = _edit(number, kinds, dice, constants=turn % 2 == 0 or "retrain" in kinds)
                counts.update(edit.kinds)
                number += 1
                yield edit


def _with_more(kind: str, more: list[str], count: int) -> list[str]:
    """Up to `count` kinds that have nothing to do with one another."""
    kinds = [kind]
    for other in more:
        if len(kinds) < count and _family(other) not in map(_family, kinds):
            kinds.append(other)
    return kinds


def _family(kind: str) -> str:
    return next((name for name in _FAMILIES if kind.endswith(name)), kind)


def _edit(number: int, kinds: list[str], dice: random.Random, *, constants: bool) -> Edit:
    """An edit of these kinds; of fewer if no model has what they change."""
    for count in range(len(kinds), 0, -1):
        for model in dice.sample(MODELS, len(MODELS)):
            for _ in range(3):
                base = model(dice)
                base.fresh = dice.random() < 0.5
                base.partition = dice.choice(("portable", "portable", "xnnpack"))
                pair = base, deepcopy(base)
                if all(_applied(kind, pair, dice) for kind in kinds[:count]):
                    return Edit(number, tuple(kinds[:count]), pair, constants)
    raise AssertionError(kinds)


def _applied(kind: str, pair: tuple[Model, Model], dice: random.Random) -> bool:
    edit, of_a = KINDS[kind]
    return edit(pair[0 if of_a else 1], dice)
