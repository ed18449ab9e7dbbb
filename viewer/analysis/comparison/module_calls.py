"""The operators of a method by module, in the order in which they run, for pairing two programs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from viewer.program.program import Operator, Tensor

Shape = tuple[int | str, ...] | None
# In names of calls that PyTorch records: "<built-in method dim of Tensor object at 0x7f0e>", and
# "train.py(27): forward".
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_LINE = re.compile(r"\(\d+\): ")
MODULE = "nn.Module: "
# Modules are walked recursively. Real models nest 10 to 20 deep.
_DEEPEST = 100


def without_address(name: str) -> str:
    """Return a name without the address of an object, which is another one in each process."""
    return _ADDRESS.sub("", name) if " at 0x" in name else name


def _what(op: str) -> str:
    """What a recorded call is: without the name of its module, and the line of its function."""
    if op.startswith(MODULE):
        return MODULE
    return _LINE.sub(": ", without_address(op), count=1)


@dataclass(frozen=True)
class PairedOperator:
    """What of an operator is compared. Computed once, because each is compared with many.

    op: the source call, "convolution", without what differs between recordings. shapes: of its
    results and of its parameters. dtypes: of its results. text: of its source line, without what
    follows it.
    """

    operator: Operator
    op: str
    shapes: tuple[Shape, ...]
    dtypes: tuple[str, ...]
    text: str

    @classmethod
    def of(cls, operator: Operator) -> PairedOperator:
        """Return what is compared of an operator."""
        results = operator.nodes[-1].outputs
        parameters = [t for node in operator.nodes for t in node.inputs if t.parameter]
        distinct: dict[str, Tensor] = {t.parameter: t for t in parameters}
        source = operator.source
        return cls(
            operator,
            _what(operator.op),
            (*(t.shape for t in results), *(t.shape for t in distinct.values())),
            tuple(t.dtype for t in results),
            " ".join(source.text.split()) if source else "",
        )


@dataclass(eq=False)
class ModuleCalls:
    """A module and what ran in it.

    name: its path below the module around it, "layers.0". type: its class. own: the operators that
    ran in it and in no module inside. children: the modules inside, in the order of their first
    operator. An operator of a module that is called several times is there once per call.
    """

    name: str
    path: str
    type: str
    own: list[PairedOperator] = field(default_factory=list)
    children: list[ModuleCalls] = field(default_factory=list)

    @cached_property
    def everything(self) -> tuple[PairedOperator, ...]:
        """All operators that ran in it, in the order of the graph."""
        found = [*self.own, *(op for child in self.children for op in child.everything)]
        return tuple(sorted(found, key=lambda one: one.operator.index))

    @cached_property
    def content(self) -> tuple[object, ...]:
        """What ran in it, with all shapes; modules with equal contents cannot be told apart."""
        return tuple((one.op, one.shapes) for one in self.everything)

    @cached_property
    def structure(self) -> tuple[str, ...]:
        """What ran in it, without shapes."""
        return tuple(one.op for one in self.everything)

    @cached_property
    def places(self) -> frozenset[tuple[str, str]]:
        """Every operator in it by its path below this module, and what it is."""
        start = len(self.path) + 1 if self.path else 0
        return frozenset((one.operator.module_path[start:], one.op) for one in self.everything)

    @property
    def pattern(self) -> str:
        """Its name without indexes: "layers.#" for every element of a list."""
        return ".".join("#" if part.isdecimal() else part for part in self.name.split("."))

    @property
    def is_element(self) -> bool:
        """Whether it is an element of a list of modules."""
        return self.pattern != self.name

    def within(self) -> Iterator[ModuleCalls]:
        """It and all modules inside."""
        yield self
        for child in self.children:
            yield from child.within()


def module_calls(operators: Sequence[Operator]) -> ModuleCalls:
    """Return the outermost module of a method, with what ran in it."""
    root = ModuleCalls("", "", "")
    modules: dict[tuple[str, ...], ModuleCalls] = {(): root}
    for operator in operators:
        chain = next((node.modules for node in operator.nodes if node.modules), ())
        here: tuple[str, ...] = ()
        for path, kind in chain[:_DEEPEST]:
            if not path:
                root.type = root.type or kind
                continue
            outer, here = modules[here], (*here, path)
            if here not in modules:
                start = f"{outer.path}."
                name = path.removeprefix(start) if outer.path else path
                modules[here] = ModuleCalls(name, path, kind)
                outer.children.append(modules[here])
        modules[here].own.append(PairedOperator.of(operator))
    return root
