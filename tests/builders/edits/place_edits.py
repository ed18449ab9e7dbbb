"""Edits of names and places: rename, nest, refactor, and move to other files."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from tests.builders.edits.operators import MODULES
from tests.builders.edits.source import (
    RETURN,
    Block,
    Code,
    Each,
    Entry,
    Layer,
    Line,
    Model,
    line,
    new_uid,
    with_variable,
)

_OTHER_NAMES = {
    "blocks": "layers", "stages": "features", "layers": "encoder_layers", "experts": "mlps",
    "middle": "bottleneck", "conv1": "first", "conv2": "last", "bn1": "norm1", "bn2": "norm2",
    "dw": "depthwise", "pw": "pointwise", "stem": "entry", "fc": "classifier", "head": "output",
    "attn": "self_attn", "q": "query", "k": "key", "v": "value", "ln1": "norm_before",
    "ln2": "norm_after", "fc1": "up_proj", "fc2": "down_proj", "wq": "q_proj", "wk": "k_proj",
    "wv": "v_proj", "wo": "o_proj", "attention": "mixer", "feed_forward": "mlp", "cell": "unit",
    "inp": "project_in", "rec": "recurrent", "norm": "final_norm", "out": "to_out",
    "conv": "body", "cls": "scores", "box": "boxes", "first": "conv_a", "second": "conv_b",
    "down1": "contract1", "down2": "contract2", "up1": "expand1", "up2": "expand2",
    "refine": "step", "up": "widen", "fc3": "neck", "shared": "tower",
}  # fmt: skip


def rename(model: Model, dice: random.Random) -> bool:
    """Give other names to attributes and classes."""
    unchanged = {name for name in sorted(_OTHER_NAMES) if dice.random() < 0.4}
    changed = False
    for name, code in model.types.items():
        new = {
            old: _OTHER_NAMES[old]
            for block in model.of_type(name)
            for old in block.parts
            if old in _OTHER_NAMES and old not in unchanged and _OTHER_NAMES[old] not in block.parts
        }
        changed |= bool(new)
        for block in model.of_type(name):
            block.parts = {new.get(old, old): part for old, part in block.parts.items()}
        code.lines = [_with_calls(item, new) for item in code.lines]
        model.stages = new.get(model.stages, model.stages)
    if dice.random() < 0.5:
        classes = [name for name in model.types if name not in _roots(model)]
        for name in classes[:1]:
            _rename_class(model, name, f"Fast{name}")
            changed = True
    return changed


def _roots(model: Model) -> list[str]:
    return [entry.root.type for entry in model.entries.values()]


def _with_calls(item: Line | Each, new: dict[str, str]) -> Line | Each:
    if isinstance(item, Each):
        attribute = item.over.removeprefix("self.")
        over = f"self.{new[attribute]}" if attribute in new and "self." in item.over else item.over
        return replace(item, over=over, body=tuple(_called(inner, new) for inner in item.body))
    return _called(item, new)


def _called(item: Line, new: dict[str, str]) -> Line:
    attribute = item.attribute
    return replace(item, call=f"self.{new[attribute]}") if attribute in new else item


def _rename_class(model: Model, old: str, new: str) -> None:
    blocks = model.of_type(old)
    model.types = {new if name == old else name: code for name, code in model.types.items()}
    for block in blocks:
        block.type = new


def renest(model: Model, dice: random.Random) -> bool:
    """Put the model, or the lines at its start, into a module of their own."""
    if dice.random() < 0.4:
        return _nested_lines(model, dice, _roots(model)[0], at_start=True)
    for name, entry in model.entries.items():
        outer = "Deploy" if len(model.entries) == 1 else f"Deploy{name.title()}"
        if outer in model.types:
            return False
        arguments = tuple(entry.inputs)
        lines: list[Line | Each] = []
        if dice.random() < 0.5 and len(arguments) == 1 and arguments[0] != "tokens":
            lines.append(line(f"{arguments[0]} = scale({arguments[0]}, factor=7)", new_uid(dice)))
        lines.append(Line("", RETURN, "self.model", arguments))
        model.types[outer] = Code(arguments, lines)
        model.entries[name] = Entry(Block(outer, {"model": entry.root}), entry.inputs)
    return True


def refactor(model: Model, dice: random.Random) -> bool:
    """Move lines of a class into a class of their own, or make operators modules."""
    if dice.random() < 0.3 and _made_modules(model):
        return True
    names = [name for name, code in model.types.items() if len(code.lines) > 3]
    dice.shuffle(names)
    return any(_nested_lines(model, dice, name, at_start=False) for name in names)


def _made_modules(model: Model) -> bool:
    changed = False
    for name, code in model.types.items():
        for i, item in enumerate(code.lines):
            if isinstance(item, Line) and item.call in MODULES:
                for block in model.of_type(name):
                    block.parts[f"act{i}"] = Layer(item.call)
                code.lines[i] = replace(item, call=f"self.act{i}")
                changed = True
    return changed


def _nested_lines(model: Model, dice: random.Random, name: str, *, at_start: bool) -> bool:
    code = model.types[name]
    spans = [
        (start, end)
        for start in range(1 if at_start else len(code.lines))
        for end in range(start + 2, len(code.lines))
        if _result(code, start, end) is not None
    ]
    if not spans:
        return False
    start, end = dice.choice(spans)
    moved = code.lines[start:end]
    result = _result(code, start, end)
    assert result is not None
    taken = _taken(moved)
    attribute = dice.choice(("core", "body", "inner"))
    type_ = f"{name}{attribute.title()}"
    if type_ in model.types or any(attribute in b.parts for b in model.of_type(name)):
        return False
    used = {item.attribute for item in Code((), moved).flat() if item.attribute}
    used |= {i.over.removeprefix("self.") for i in moved if isinstance(i, Each)}
    elsewhere = {i.attribute for i in Code((), [*code.lines[:start], *code.lines[end:]]).flat()}
    if used & elsewhere:
        return False
    for block in model.of_type(name):
        parts = {key: part for key, part in block.parts.items() if key in used}
        unchanged = {key: part for key, part in block.parts.items() if key not in used}
        block.parts = {**unchanged, attribute: Block(type_, parts)}
    last = moved[-1]
    if isinstance(last, Line):
        moved[-1] = replace(last, result=RETURN)
    else:
        moved.append(Line("", RETURN, "outputs", (result,)))
    model.types[type_] = Code(taken, moved, code.file)
    call = Line("", result, f"self.{attribute}", taken)
    code.lines[start:end] = [call]
    return True


def _taken(items: Sequence[Line | Each]) -> tuple[str, ...]:
    """The variables that lines take from before."""
    taken: dict[str, None] = {}
    known: set[str] = set()
    for item in Code((), list(items)).flat():
        taken.update(dict.fromkeys(n for n in item.arguments if n not in known and "." not in n))
        known.update(item.results)
    return tuple(taken)


def _result(code: Code, start: int, end: int) -> str | None:
    """The only variable that lines leave for those behind them."""
    moved, behind = code.lines[start:end], code.lines[end:]
    if any("self.gain" in item.arguments for item in Code((), moved).flat()):
        return None
    made = {name for item in Code((), moved).flat() for name in item.results}
    left = made & set(_taken(behind))
    last = moved[-1]
    results = last.body[-1].results if isinstance(last, Each) else last.results
    if len(left) != 1 or results != tuple(left) or not _taken(moved):
        return None
    # What is changed inside and used behind under the name of before must be that result.
    return next(iter(left))


def move_file(model: Model, dice: random.Random) -> bool:
    """Move classes to other files, in another order, with other names of variables."""
    files = dice.sample(["parts.py", "layers.py", "common.py"], 2)
    names = list(model.types)
    dice.shuffle(names)
    model.types = {name: model.types[name] for name in names}
    for code in model.types.values():
        code.file = f"/home/user/project/model/{dice.choice(files)}"
        if dice.random() < 0.5:
            _with_other_variables(code)
    return True


def _with_other_variables(code: Code) -> None:
    new = {"x": "features", "y": "branch", "z": "hidden", "a": "left"}
    for old, name in new.items():
        code.lines = [
            replace(item, body=tuple(with_variable(inner, old, name) for inner in item.body))
            if isinstance(item, Each)
            else with_variable(item, old, name)
            for item in code.lines
        ]
        code.arguments = tuple(name if a == old else a for a in code.arguments)
