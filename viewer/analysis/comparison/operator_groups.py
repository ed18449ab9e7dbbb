"""Groups of operators: what several of one side became in one, or one in several.

* several of a type that take the same, one of that type that computes all of their results: linear
  layers for queries, keys and values in one
* several that together are one operator of another type: attention by hand
* a batch norm that is folded into the convolution or linear layer whose result it takes
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from viewer.analysis.comparison.evidence import FOLDED, Evidence, PairedOperator

_FOLDED_INTO = frozenset(("convolution", "linear"))
_ARITHMETIC = frozenset(("mul", "div", "add", "sub", "neg", "to", "_to_copy", "clone"))
_LAYOUT = frozenset(("transpose", "permute", "view", "reshape", "unsqueeze", "expand", "t"))
# What an operator can be computed with: what that has at least, and what else it may have.
_COMPOSED: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    name: (frozenset(core.split()), _ARITHMETIC | frozenset(more.split()) | layout)
    for name, core, more, layout in (
        ("scaled_dot_product_attention", "softmax matmul",
         "bmm baddbmm masked_fill where dropout softmax_int", _LAYOUT),
        ("layer_norm", "mean", "var pow square sqrt rsqrt", frozenset[str]()),
        ("rms_norm", "mean", "pow square sqrt rsqrt", frozenset[str]()),
        ("softmax", "exp", "sum max amax", frozenset[str]()),
        ("silu", "sigmoid", "", frozenset[str]()),
        ("gelu", "erf", "pow", frozenset[str]()),
        ("gelu", "tanh", "pow", frozenset[str]()),
        ("linear", "matmul", "mm addmm", _LAYOUT),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Group:
    """Operators of A and of B, by place, that are the same together. why: in words."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    why: str


@dataclass(frozen=True)
class _Side:
    """A side of a comparison: its operators, their neighbors, and the partners of some."""

    operators: list[PairedOperator]
    inputs: list[list[int]]
    outputs: list[list[int]]
    partner: dict[int, int]

    @property
    def left(self) -> list[int]:
        """The operators without a partner."""
        return [i for i in range(len(self.operators)) if i not in self.partner]


def grouped(e: Evidence, of_a: dict[int, int], of_b: dict[int, int]) -> Iterator[Group]:
    """Yield the groups of operators without a partner, and of those with a batch norm behind."""
    a = _Side(e.a, e.inputs[0], e.outputs[0], of_a)
    b = _Side(e.b, e.inputs[1], e.outputs[1], of_b)
    for many, one, is_swapped in ((a, b, False), (b, a, True)):
        for several, single, why in (
            *_joined(many, one), *_composed(many, one), *_folded(many, one)
        ):  # fmt: skip
            yield Group((single,), several, why) if is_swapped else Group(several, (single,), why)


def _joined(many: _Side, one: _Side) -> Iterator[tuple[tuple[int, ...], int, str]]:
    """Several of a type that take the same, and one that has their results."""
    several: dict[tuple[str, tuple[int, ...]], list[int]] = defaultdict(list)
    for i in many.left:
        taken = tuple(many.partner.get(j, -1) for j in many.inputs[i])
        if taken and -1 not in taken:
            several[many.operators[i].op, tuple(sorted(taken))].append(i)
    single = Counter((one.operators[j].op, tuple(sorted(one.inputs[j]))) for j in one.left)
    for j in one.left:
        key = one.operators[j].op, tuple(sorted(one.inputs[j]))
        own = several.get(key, [])
        sizes = [_size(many.operators[i]) for i in own]
        fits = sum(sizes) == _size(one.operators[j]) or len(set(sizes)) == 1
        if len(own) > 1 and single[key] == 1 and fits:
            yield tuple(own), j, f"{len(own)} x {one.operators[j].op} in one"


def _size(one: PairedOperator) -> int:
    """The number of elements of its first result; 0 if it is not known."""
    shape = one.shapes[0] if one.shapes else None
    return prod(n for n in shape if isinstance(n, int)) if shape else 0


def _composed(many: _Side, one: _Side) -> Iterator[tuple[tuple[int, ...], int, str]]:
    """Several that together are one operator of another type."""
    for j in one.left:
        op = one.operators[j].op
        core, more = _COMPOSED.get(op, (frozenset[str](), frozenset[str]()))
        if not core:
            continue
        around = {one.partner[k] for k in (*one.inputs[j], *one.outputs[j]) if k in one.partner}
        free = {i for i in many.left if many.operators[i].op in core | more}
        for region in _regions(many, free):
            types = {many.operators[i].op for i in region}
            edge = {k for i in region for k in (*many.inputs[i], *many.outputs[i])} - region
            if core <= types and around & edge:
                yield tuple(sorted(region)), j, f"{len(region)} operators are {op}"
                break


def _regions(side: _Side, free: set[int]) -> Iterator[set[int]]:
    """The connected sets of some operators."""
    free = set(free)
    while free:
        todo, region = [free.pop()], set[int]()
        while todo:
            i = todo.pop()
            region.add(i)
            near = {*side.inputs[i], *side.outputs[i]} & free
            free -= near
            todo += near
        yield region


def _folded(many: _Side, one: _Side) -> Iterator[tuple[tuple[int, ...], int, str]]:
    """A batch norm and what it is folded into, which has a partner."""
    has_other = {one.operators[j].op for j in one.left}
    for i in many.left:
        own = many.operators[i].op
        if own not in FOLDED or own in has_other:
            continue
        into = next((j for j in many.inputs[i] if many.operators[j].op in _FOLDED_INTO), None)
        if into is not None and into in many.partner:
            why = f"{own} is folded into {many.operators[into].op}"
            yield (into, i), many.partner[into], why
