"""The edits of the campaign: models, kinds and seeds, the same every time."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from functools import cached_property

from tests.builders.edits.constants import is_trivial
from tests.builders.edits.exported import Exported, exported
from tests.builders.edits.kinds import KINDS
from tests.builders.edits.models import MODELS
from tests.builders.edits.source import Model
from tests.builders.edits.truth import Truth, truth_of
from viewer.program.program import Method, Program

EACH = 8  # edits of one kind alone, and as many in which it is combined with others
# Kinds with such a word undo or repeat one another.
_FAMILIES = ("linear", "attention", "norm", "nest", "line", "reorder")


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


def _with_constants(model: Exported) -> Program:
    """The program with hashes of its parameters; "" of one with only zeros or ones."""
    if "constants" not in {field.name for field in fields(Method)}:
        return model.program
    hashes = {path: "" if is_trivial(data) else hashlib.sha256(data).hexdigest()
              for path, data in model.constants.items()}  # fmt: skip
    methods = []
    for method in model.program.methods:
        used = {t.parameter for op in method.operators for n in op.nodes for t in n.inputs}
        contents = {path: data for path, data in hashes.items() if path in used}
        methods.append(replace(method, **{"constants": contents}))
    return replace(model.program, methods=tuple(methods))


def edits(seed: str = "edit", every: int = 1) -> Iterator[Edit]:
    """Yield all edits: of each kind alone, then combined, each with and without constants.

    seed: another one makes others of the same kinds. every: only each n-th of them.
    """
    for number in range(0, 2 * EACH * len(KINDS), every):
        yield edit_of(number, seed)


def edits_of(kind: str, seed: str = "edit") -> Iterator[Edit]:
    """Yield the edits of one kind alone."""
    first = list(KINDS).index(kind)
    for number in range(first, EACH * len(KINDS), len(KINDS)):
        yield edit_of(number, seed)


def edit_of(number: int, seed: str = "edit") -> Edit:
    """Return an edit by its number, of a model that has what it changes."""
    turn, kind = divmod(number, len(KINDS))
    name, dice = list(KINDS)[kind], random.Random(f"{seed} {number}")
    while True:
        kinds = (name,) if turn < EACH else _combined(name, dice)
        for model in dice.sample(MODELS, len(MODELS)):
            base = model(dice)
            base.fresh = dice.random() < 0.5
            base.partition = dice.choice(("portable", "portable", "xnnpack"))
            pair = base, deepcopy(base)
            if all(_applied(change, pair, dice) for change in kinds):
                return Edit(number, kinds, pair, turn % 2 == 0 or "retrain" in kinds)


def _combined(kind: str, dice: random.Random) -> tuple[str, ...]:
    """Two or three kinds that have nothing to do with one another."""
    kinds, count = [kind], dice.randint(2, 3)
    for other in dice.sample(list(KINDS), len(KINDS)):
        if len(kinds) < count and not any(_are_related(other, chosen) for chosen in kinds):
            kinds.append(other)
    return tuple(kinds)


def _are_related(first: str, second: str) -> bool:
    """Whether two kinds undo or repeat one another.

    A batch norm that moves away from its convolution is not folded into it.
    """
    families = {
        next((name for name in _FAMILIES if name in kind), kind) for kind in (first, second)
    }
    return len(families) == 1 or families == {"norm", "reorder"}


def _applied(kind: str, pair: tuple[Model, Model], dice: random.Random) -> bool:
    edit, of_a = KINDS[kind]
    return edit(pair[0 if of_a else 1], dice)
