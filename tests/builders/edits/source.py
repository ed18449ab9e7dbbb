"""A small language for models: classes with the lines of a forward method, and their instances.

A line is written as Python, with operators as functions: `y = self.conv(x)`, `y = relu(y)`,
`return add(x, y)`. It has an identity that survives every edit, so the truth of an edit needs no
similarity: what two models do in lines of one identity is the same.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

_LINE = re.compile(r"(?:(?P<result>[\w, ]+?) = |return )(?P<call>[\w.]+)\((?P<arguments>[^)]*)\)")
_EACH = re.compile(r"for (\w+) in ([\w.]+)")
_SIZE = re.compile(r"(\d*)([a-z]\w*)")

Size = int | str  # a number, or a size of the model with a factor: "2c"
RETURN = "return"
TWIN = "~"  # between the identity of a line and the number of its copy


@dataclass(frozen=True)
class Line:
    """One call in a forward method.

    uid: what it is, through all edits; "" for a call that edits added around others. result: the
    variables that it assigns, `RETURN` for the last line. call: an operator, "self.<attribute>", or
    the variable of an element of a list. origins: the lines that it stands for.
    """

    uid: str
    result: str
    call: str
    arguments: tuple[str, ...]
    settings: tuple[tuple[str, Size], ...] = ()
    origins: tuple[str, ...] = ()

    @property
    def attribute(self) -> str:
        """The attribute that it calls, or ""."""
        return self.call.removeprefix("self.") if self.call.startswith("self.") else ""

    @property
    def results(self) -> tuple[str, ...]:
        """The variables that it assigns."""
        return tuple(self.result.split(", "))

    @property
    def stands_for(self) -> tuple[str, ...]:
        """The identities of the lines that it stands for."""
        return self.origins or (self.uid,)


@dataclass(frozen=True)
class Each:
    """A loop. over: a list, "self.blocks", or a size of the model: so many times."""

    element: str
    over: str
    body: tuple[Line, ...]


@dataclass
class Layer:
    """An instance of a class of torch. out: its results per position, None: as many as it takes.

    weights: what its values are drawn from; several: those of layers that were fused.
    """

    kind: str
    weights: tuple[str, ...] = ()
    out: Size | None = None
    settings: dict[str, int] = field(default_factory=dict)


@dataclass
class Block:
    """An instance of a class of the model. sizes: overrule those of the model."""

    type: str
    parts: dict[str, Layer | Block | list[Block]]
    uid: str = ""
    sizes: dict[str, int] = field(default_factory=dict)

    def blocks(self) -> Iterator[Block]:
        """It and all instances inside."""
        yield self
        for part in self.parts.values():
            for inner in part if isinstance(part, list) else [part]:
                if isinstance(inner, Block):
                    yield from inner.blocks()


@dataclass
class Code:
    """A class of the model: the file with it, and its forward method."""

    arguments: tuple[str, ...]
    lines: list[Line | Each]
    file: str = "/home/user/models/net.py"

    def flat(self) -> Iterator[Line]:
        """All lines, also those in loops."""
        for item in self.lines:
            yield from item.body if isinstance(item, Each) else (item,)


@dataclass
class Entry:
    """A method of a model: what it runs, and the shapes of its inputs, by name."""

    root: Block
    inputs: dict[str, tuple[Size, ...]]


@dataclass
class Model:
    """A model before export. stages: the list of equal parts in it, if it has one.

    stage_size: the size in which parts of the list may differ. fresh: whether norms and biases are
    as they are before training. training: which training its weights are of.
    """

    name: str
    types: dict[str, Code]
    entries: dict[str, Entry]
    sizes: dict[str, int]
    stages: str = ""
    stage_size: str = ""
    fresh: bool = False
    training: str = "first"
    dtype: str = "f32"
    quantized: bool = False
    partition: str = "portable"

    def blocks(self) -> Iterator[Block]:
        """All instances of classes of the model."""
        for entry in self.entries.values():
            yield from entry.root.blocks()

    def part(self, code: Code, attribute: str) -> Layer | Block | list[Block] | None:
        """What an attribute of a class is, in the first instance that has it."""
        for block in self.blocks():
            if self.types[block.type] is code and attribute in block.parts:
                return block.parts[attribute]
        return None

    def of_type(self, name: str) -> list[Block]:
        """The instances of a class."""
        return [block for block in self.blocks() if block.type == name]


def new_uid(dice: random.Random) -> str:
    """Return an identity that nothing has."""
    return f"new{dice.getrandbits(60)}"


def size_of(size: Size, sizes: dict[str, int]) -> int:
    """Return a size as a number."""
    if isinstance(size, int):
        return size
    match = _SIZE.fullmatch(size)
    assert match is not None, size
    return int(match[1] or 1) * sizes[match[2]]


def line(text: str, uid: str) -> Line:
    """Return a line from its text: `y = conv(x)`, `y = scale(x, factor=2)`, `return add(x, y)`."""
    match = _LINE.fullmatch(text)
    assert match is not None, text
    words = [word.strip() for word in match["arguments"].split(",") if word.strip()]
    settings = tuple(
        (name, int(value) if value.lstrip("-").isdecimal() else value)
        for name, _, value in (word.partition("=") for word in words if "=" in word)
    )
    arguments = tuple(word for word in words if "=" not in word)
    return Line(uid, match["result"] or RETURN, match["call"], arguments, settings)


def code(type_: str, arguments: str, *texts: str | tuple[str, ...]) -> Code:
    """Return a class from the texts of its lines; a loop is a tuple: its head, and its lines."""
    lines: list[Line | Each] = []
    for text in texts:
        uid = f"{type_}:{len(lines)}"
        if isinstance(text, str):
            lines.append(line(text, uid))
            continue
        match = _EACH.fullmatch(text[0])
        assert match is not None, text[0]
        body = (line(inner, f"{uid}.{i}") for i, inner in enumerate(text[1:]))
        lines.append(Each(match[1], match[2], tuple(body)))
    return Code(tuple(arguments.split(", ")), lines)


def with_variable(item: Line, old: str, new: str) -> Line:
    """Return a line in which a variable has another name."""
    results = tuple(new if name == old else name for name in item.results)
    arguments = tuple(new if name == old else name for name in item.arguments)
    return replace(item, result=", ".join(results), arguments=arguments)
