"""Edits of sizes, of what is fused, of loops, and of how a model is exported."""

from __future__ import annotations

import random
from dataclasses import replace

from tests.builders.edits.constants import FOLDED
from tests.builders.edits.source import RETURN, Layer, Line, Model, new_uid


def widen(model: Model, dice: random.Random) -> bool:
    """Make all layers of one size wider."""
    names = [name for name in ("c", "h") if name in model.sizes]
    name = dice.choice(names)
    model.sizes[name] *= dice.choice((2, 3))
    return True


_FUSED = ({"q", "k", "v"}, {"wq", "wk", "wv"}, {"gate", "up"})


def fuse_linear(model: Model, dice: random.Random) -> bool:
    """Compute several linear layers of one input as one."""
    changed = False
    for name, code in model.types.items():
        blocks = model.of_type(name)
        for names in _FUSED:
            lines = [
                item for item in code.lines
                if isinstance(item, Line) and item.attribute in names and item.results != (RETURN,)
            ]  # fmt: skip
            inputs = {item.arguments for item in lines}
            if len(lines) != len(names) or len(inputs) != 1 or not blocks:
                continue
            fused = "_".join(item.attribute for item in lines)
            for block in blocks:
                layers = [block.parts.pop(item.attribute) for item in lines]
                weights = [w for part in layers if isinstance(part, Layer) for w in part.weights]
                assert isinstance(layers[0], Layer)
                out = f"{len(lines)}{layers[0].out}"
                block.parts[fused] = Layer("linear", tuple(weights), out)
            start = code.lines.index(lines[0])
            results = ", ".join(item.result for item in lines)
            origins = tuple(o for item in lines for o in item.stands_for)
            code.lines = [item for item in code.lines if item not in lines]
            code.lines[start:start] = [
                Line(new_uid(dice), "fused", f"self.{fused}", lines[0].arguments, (), origins),
                Line(new_uid(dice), results, "chunk", ("fused",), (("parts", len(lines)),)),
            ]
            changed = True
    return changed


def fuse_attention(model: Model, dice: random.Random) -> bool:
    """Replace attention by hand with one operator."""
    changed = False
    for code in model.types.values():
        calls = [item.call if isinstance(item, Line) else "" for item in code.lines]
        if "softmax" not in calls or calls.count("matmul") != 2 or "transpose" not in calls:
            continue
        start = calls.index("transpose")
        end = len(calls) - calls[::-1].index("matmul")
        span = [item for item in code.lines[start:end] if isinstance(item, Line)]
        if len(span) != end - start or any(item.attribute for item in span):
            continue
        first = next(item for item in span if item.call == "matmul")
        last = span[-1]
        arguments = (first.arguments[0], span[0].arguments[0], last.arguments[1])
        origins = tuple(o for item in span for o in item.stands_for)
        code.lines[start:end] = [
            Line(new_uid(dice), last.result, "attention", arguments, (), origins)
        ]
        changed = True
    return changed


def fold_norm(model: Model, dice: random.Random) -> bool:
    """Fold batch norms into the convolutions before them."""
    changed = False
    for name, code in model.types.items():
        for item, after in list(zip(code.lines, code.lines[1:], strict=False)):
            if not (isinstance(item, Line) and isinstance(after, Line)):
                continue
            part = model.part(code, item.attribute)
            behind = model.part(code, after.attribute)
            if (
                not isinstance(part, Layer) or not isinstance(behind, Layer)
                or part.kind != "conv" or behind.kind != "batch_norm"
                or after.arguments != item.results
            ):  # fmt: skip
                continue
            for block in model.of_type(name):
                layer = block.parts[item.attribute]
                assert isinstance(layer, Layer)
                layer.weights = tuple(f"{FOLDED}{weights}" for weights in layer.weights)
                del block.parts[after.attribute]
            folded = replace(
                item, result=after.result, origins=(*item.stands_for, *after.stands_for)
            )
            code.lines[code.lines.index(item)] = folded
            code.lines.remove(after)
            changed = True
    return changed


def loop(model: Model, dice: random.Random) -> bool:
    """Run a loop more often, or less."""
    if "steps" not in model.sizes:
        return False
    steps = model.sizes["steps"]
    model.sizes["steps"] = dice.choice([n for n in range(1, 8) if n != steps])
    return True


def data_type(model: Model, dice: random.Random) -> bool:
    """Export with another data type, or quantized."""
    choice = dice.choice(("f16", "bf16", "int8"))
    if choice == "int8":
        model.quantized = not model.quantized
    else:
        model.dtype = choice
    return True


def partition(model: Model, dice: random.Random) -> bool:
    """Export for another backend."""
    choices = [name for name in ("portable", "xnnpack", "layers") if name != model.partition]
    model.partition = dice.choice(choices)
    return True


def retrain(model: Model, dice: random.Random) -> bool:
    """Train again: all weights are others."""
    model.training = new_uid(dice)
    return True
