"""Edits of models: each changes a model in place, and tells whether it could."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
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
    Entry,
    Layer,
    Line,
    Model,
    line,
    with_variable,
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
    copy.uid = f"new{dice.getrandbits(60)}"
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


def _new_uid(dice: random.Random) -> str:
    return f"new{dice.getrandbits(60)}"


def _is_image(model: Model) -> bool:
    return model.name in ("residual", "depthwise", "u_net", "detection")


# -- insert, remove, duplicate, reorder ------------------------------------------------------


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
    new = [line(f"{variable} = {dice.choice(unused)}({variable})", _new_uid(dice))]
    tops = {entry.root.type: entry.root for entry in model.entries.values()}
    root = next((root for name, root in tops.items() if model.types[name] is code), None)
    if root is not None and dice.random() < 0.6 and not _is_image(model) and "c" in model.sizes:
        name = dice.choice(("adapter", "mix", "extra"))
        if name not in root.parts:
            root.parts[name] = linear(dice.choice(("c", "3c")))
            named(root, f"{_new_uid(dice)}")
            new.insert(0, line(f"{variable} = self.{name}({variable})", _new_uid(dice)))
    code.lines[index + 1 : index + 1] = new
    return True


def _inserted(where: str) -> Edit:
    def edit(model: Model, dice: random.Random) -> bool:
        first, second = _inserted_stages, _inserted_lines
        if dice.random() < 0.4:
            first, second = second, first
        return first(model, dice, where) or second(model, dice, where)

    return edit


def _removed(where: str) -> Edit:
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
    parts = [_part(model, code, item.attribute)] if item.attribute else []
    return any(isinstance(part, Layer) and part.kind in (*_NORMS, *MODULES) for part in parts)


def _part(model: Model, code: Code, attribute: str) -> Layer | Block | list[Block] | None:
    for block in model.blocks():
        if model.types[block.type] is code and attribute in block.parts:
            return block.parts[attribute]
    return None


def _duplicated(where: str) -> Edit:
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
        layer.weights = (_new_uid(dice),) if dice.random() < 0.5 else layer.weights
        if layer.settings.get("stride"):
            layer.settings["stride"] = 1
        root.parts[name] = layer
        uid = f"{item.uid}{TWIN}{dice.getrandbits(60)}"
        code.lines.insert(index + 1, replace(item, uid=uid, call=f"self.{name}"))
        return True

    return edit


def _is_layer(model: Model, code: Code, item: Line | Each) -> bool:
    return isinstance(item, Line) and isinstance(_part(model, code, item.attribute), Layer)


def _reordered(where: str) -> Edit:
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


# -- names and places ------------------------------------------------------------------------

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
    kept = {name for name in sorted(_OTHER_NAMES) if dice.random() < 0.4}
    changed = False
    for name, code in model.types.items():
        new = {
            old: _OTHER_NAMES[old]
            for block in model.of_type(name)
            for old in block.parts
            if old in _OTHER_NAMES and old not in kept and _OTHER_NAMES[old] not in block.parts
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
        return replace(item, over=over, body=tuple(_called(one, new) for one in item.body))
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
            lines.append(line(f"{arguments[0]} = scale({arguments[0]}, factor=7)", _new_uid(dice)))
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
        kept = {key: part for key, part in block.parts.items() if key not in used}
        block.parts = {**kept, attribute: Block(type_, parts)}
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
            replace(item, body=tuple(with_variable(one, old, name) for one in item.body))
            if isinstance(item, Each)
            else with_variable(item, old, name)
            for item in code.lines
        ]
        code.arguments = tuple(name if a == old else a for a in code.arguments)


# -- sizes, fusing, kinds of export ----------------------------------------------------------


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
                Line(_new_uid(dice), "fused", f"self.{fused}", lines[0].arguments, (), origins),
                Line(_new_uid(dice), results, "chunk", ("fused",), (("parts", len(lines)),)),
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
            Line(_new_uid(dice), last.result, "attention", arguments, (), origins)
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
            part = _part(model, code, item.attribute)
            behind = _part(model, code, after.attribute)
            if (
                not isinstance(part, Layer) or not isinstance(behind, Layer)
                or part.kind != "conv" or behind.kind != "batch_norm"
                or after.arguments != item.results
            ):  # fmt: skip
                continue
            for block in model.of_type(name):
                layer = block.parts[item.attribute]
                assert isinstance(layer, Layer)
                layer.weights = tuple(f"=folded {weights}" for weights in layer.weights)
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
    model.training = _new_uid(dice)
    return True


_PLACES = ("front", "middle", "end")

# Kind -> the edit, and whether it is A that it changes: what is inserted there is removed in B.
KINDS: dict[str, tuple[Edit, bool]] = {
    **{f"insert {where}": (_inserted(where), False) for where in _PLACES},
    **{f"remove {where}": (_removed(where), False) for where in _PLACES},
    **{f"duplicate {where}": (_duplicated(where), False) for where in _PLACES},
    **{f"reorder {where}": (_reordered(where), False) for where in _PLACES},
    "rename": (rename, False),
    "nest": (renest, False),
    "unnest": (renest, True),
    "refactor": (refactor, False),
    "inline": (refactor, True),
    "move file": (move_file, False),
    "widen": (widen, False),
    "fuse linear": (fuse_linear, False),
    "split linear": (fuse_linear, True),
    "fuse attention": (fuse_attention, False),
    "split attention": (fuse_attention, True),
    "fold norm": (fold_norm, False),
    "unfold norm": (fold_norm, True),
    "loop": (loop, False),
    "data type": (data_type, False),
    "partition": (partition, False),
    "retrain": (retrain, False),
}
