"""Edits of what runs one after another: insert, remove, duplicate and reorder lines and stages."""

from __future__ import annotations

import random
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

from tests.builders.edits.models import linear, named
from tests.builders.edits.operators import MODULES
from tests.builders.edits.source import (
    RETURN,
    TWIN,
    Block,
    Code,
    Each,
    Layer,
    Line,
    Model,
    line,
    new_uid,
)

Edit = Callable[[Model, random.Random], bool]

_ACTIVATIONS = frozenset(("relu", "relu6", "gelu", "silu", "tanh", "sigmoid", "hardswish"))
_NEW = ("neg", "abs", "hardswish", "exp")
_NORMS = ("batch_norm", "layer_norm")


def _place(count: int, where: str) -> int:
    """The index at the front, in the middle or at the end of so many."""
    return {"front": 0, "middle": count // 2, "end": count}[where]


def _stages(model: Model) -> tuple[Block, list[Block]] | None:
    """The list of stages, and what has it."""
    for block in model.blocks():
        part = block.parts.get(model.stages)
        if isinstance(part, list):
            return block, part
    return None


def _fresh(model: Model, block: Block, dice: random.Random, *, weights: bool = True) -> Block:
    """A copy of a block with another identity, and other weights."""
    copy = deepcopy(block)
    copy.uid = new_uid(dice)
    if weights:
        for inner in copy.blocks():
            for part in inner.parts.values():
                if isinstance(part, Layer):
                    part.weights = ()
        named(copy, copy.uid)
    return copy


def _tops(model: Model) -> list[Code]:
    """The classes of what the methods run."""
    return [model.types[entry.root.type] for entry in model.entries.values()]


def _own_lines(code: Code) -> list[int]:
    """The indexes of lines that only change their variable: `x = relu(x)`."""
    return [
        i
        for i, item in enumerate(code.lines)
        if isinstance(item, Line) and item.arguments == (item.result,)
    ]


def _is_image(model: Model) -> bool:
    return model.name in ("residual", "depthwise", "u_net", "detection")


def _inserted_stages(model: Model, dice: random.Random, where: str) -> bool:
    stages = _stages(model)
    if stages is None:
        return False
    _, elements = stages
    start = _place(len(elements), where)
    new = [_fresh(model, elements[0], dice) for _ in range(dice.randint(1, 2))]
    size = model.stage_size
    if size and dice.random() < 0.7:  # of another width
        width = model.sizes[size] * dice.choice((2, 3))
        if size == "c":
            new = [_fresh(model, elements[0], dice) for _ in range(2)]
            new[0].sizes = {"c": width}
        else:
            for block in new:
                block.sizes = {size: width}
    elements[start:start] = new
    return True


def _inserted_lines(model: Model, dice: random.Random, where: str) -> bool:
    """An operator, or a layer with one behind it."""
    code = dice.choice(_tops(model) if dice.random() < 0.6 else list(model.types.values()))
    candidates = _own_lines(code)
    if not candidates:
        return False
    index = {"front": candidates[0], "middle": candidates[len(candidates) // 2]}.get(
        where, candidates[-1]
    )
    before = code.lines[index]
    assert isinstance(before, Line)
    variable = before.result
    unused = [op for op in _NEW if op not in {item.call for item in code.flat()}]
    if not unused:
        return False
    new = [line(f"{variable} = {dice.choice(unused)}({variable})", new_uid(dice))]
    tops = {entry.root.type: entry.root for entry in model.entries.values()}
    root = next((root for name, root in tops.items() if model.types[name] is code), None)
    if root is not None and dice.random() < 0.6 and not _is_image(model) and "c" in model.sizes:
        name = dice.choice(("adapter", "mix", "extra"))
        if name not in root.parts:
            root.parts[name] = linear(dice.choice(("c", "3c")))
            named(root, new_uid(dice))
            new.insert(0, line(f"{variable} = self.{name}({variable})", new_uid(dice)))
    code.lines[index + 1 : index + 1] = new
    return True


def inserted(where: str) -> Edit:
    def edit(model: Model, dice: random.Random) -> bool:
        first, second = _inserted_stages, _inserted_lines
        if dice.random() < 0.4:
            first, second = second, first
        return first(model, dice, where) or second(model, dice, where)

    return edit


def removed(where: str) -> Edit:
    def edit(model: Model, dice: random.Random) -> bool:
        stages = _stages(model)
        if stages is not None and len(stages[1]) > 1 and dice.random() < 0.6:
            elements = stages[1]
            del elements[min(_place(len(elements), where), len(elements) - 1)]
            return True
        code = dice.choice(list(model.types.values()))
        candidates = [
            i
            for i in _own_lines(code)
            if isinstance(item := code.lines[i], Line) and _keeps_shape(model, code, item)
        ]
        if not candidates:
            return False
        del code.lines[candidates[min(_place(len(candidates), where), len(candidates) - 1)]]
        return True

    return edit


def _keeps_shape(model: Model, code: Code, item: Line) -> bool:
    if item.call in _ACTIVATIONS:
        return True
    parts = [model.part(code, item.attribute)] if item.attribute else []
    return any(isinstance(part, Layer) and part.kind in (*_NORMS, *MODULES) for part in parts)


def duplicated(where: str) -> Edit:
    def edit(model: Model, dice: random.Random) -> bool:
        stages = _stages(model)
        if stages is not None and dice.random() < 0.7:
            elements = stages[1]
            index = min(_place(len(elements), where), len(elements) - 1)
            copy = _fresh(model, elements[index], dice, weights=dice.random() < 0.5)
            elements.insert(index + 1, copy)
            return True
        # A layer of its own, with the same class and size.
        code = dice.choice(_tops(model))
        candidates = [i for i in _own_lines(code) if _is_layer(model, code, code.lines[i])]
        if not candidates:
            return False
        index = candidates[min(_place(len(candidates), where), len(candidates) - 1)]
        item = code.lines[index]
        assert isinstance(item, Line)
        root = next(b for b in model.blocks() if model.types[b.type] is code)
        name = f"{item.attribute}_again"
        if name in root.parts:
            return False
        layer = deepcopy(root.parts[item.attribute])
        assert isinstance(layer, Layer)
        layer.weights = (new_uid(dice),) if dice.random() < 0.5 else layer.weights
        if layer.settings.get("stride"):
            layer.settings["stride"] = 1
        root.parts[name] = layer
        uid = f"{item.uid}{TWIN}{dice.getrandbits(60)}"
        again = replace(item, uid=uid, call=f"self.{name}", origins=())
        code.lines.insert(index + 1, again)
        return True

    return edit


def _is_layer(model: Model, code: Code, item: Line | Each) -> bool:
    return isinstance(item, Line) and isinstance(model.part(code, item.attribute), Layer)


def reordered(where: str) -> Edit:
    def edit(model: Model, dice: random.Random) -> bool:
        stages = _stages(model)
        if stages is not None and len(stages[1]) > 1 and dice.random() < 0.5:
            elements = stages[1]
            i = min(_place(len(elements) - 1, where), len(elements) - 2)
            elements[i], elements[i + 1] = elements[i + 1], elements[i]
            return True
        pairs = [
            (code, i)
            for code in model.types.values()
            for i in range(len(code.lines) - 1)
            if _may_swap(model, code, code.lines[i], code.lines[i + 1])
        ]
        if not pairs:
            return False
        code, i = pairs[min(_place(len(pairs), where), len(pairs) - 1)]
        code.lines[i], code.lines[i + 1] = code.lines[i + 1], code.lines[i]
        return True

    return edit


def _may_swap(model: Model, code: Code, x: Line | Each, y: Line | Each) -> bool:
    if isinstance(x, Each) or isinstance(y, Each) or RETURN in (x.result, y.result):
        return False
    is_free = not set(x.results) & {*y.arguments, *y.results} and not set(y.results) & {
        *x.arguments
    }
    both = (x, y)
    is_chain = all(o.arguments == (o.result,) == (x.result,) for o in both) and all(
        _keeps_shape(model, code, o) for o in both
    )
    return is_free or is_chain
