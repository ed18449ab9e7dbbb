"""Reads the tensors of one operation of an MLIR text from the types in its text.

For any dialect, this reads:

* a function type at the end: `: (tensor<1x4xf32>, tensor<4xi8>) -> tensor<1xf32>`, in generic and
  custom assembly;
* destinations as in linalg: `ins(%a, %b : T, T) outs(%c : T)`, with or without a result;
* one type for all: `arith.addf %a, %b : T`, `arith.constant dense<0> : T`; two types with a word in
  between: `tensor.cast %a : T to T`.

A dynamic size ("?") stays a string, so that nothing is computed from it; an unranked tensor has no
shape. For a quantized element, the storage type counts: `!quant.uniform<i8:f32, 0.1>` is an i8.
Integer arrays in attributes become settings: `kernel = array<i64: 2, 2>`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from viewer.analysis.workload.mlir_flop_rules import INDEXING_MAPS
from viewer.program.mlir.locations import STRING_CONTENT
from viewer.program.mlir.operations import operations
from viewer.program.program import GraphNode, Operator, Program, Setting, Tensor

_STRING = re.compile(rf'"{STRING_CONTENT}"?')
_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
_SHAPED = re.compile(r"(?:tensor|memref|vector)<(?P<inner>.*)>", re.DOTALL)
_SIZE = re.compile(r"(\d{1,18}|\?|\*)x")
_QUANTIZED = re.compile(r"!quant\.[\w.]+<\s*([a-z]\w*)")
_COMPLEX = {"complex<f16>": "c32", "complex<f32>": "c64", "complex<f64>": "c128"}
_INS = re.compile(r"\bins\s*\(")
_OUTS = re.compile(r"\bouts\s*\(")
_ARRAY = re.compile(r"\b(\w+)\s*=\s*(?:array<i\d+:\s*([-\d, ]*)>|\[([-\d, ]*)\])")
_SHAPE = "!tosa.shape"
_LOCATION = re.compile(r"\s*\bloc\(.*\Z", re.DOTALL)
_OPENERS, _CLOSERS = "([{<", ")]}>"
# A longer statement, such as one with the weights of a layer, is not read.
_LONGEST = 1 << 16  # characters
_MOST_LINES = 64


def with_tensors(program: Program, operator: Operator) -> Operator:
    """Return an operator of a text with the tensors in its statement; others unchanged.

    Reads only the lines of the statement, so the cost does not depend on the text's length.
    """
    if not program.text_lines or not operator.nodes:
        return operator
    node = operator.nodes[0]
    first = int(operator.place.removeprefix("L") or 0) - 1
    lines: list[str] = []
    length = 0
    for line in program.text_lines[max(first, 0) : first + _MOST_LINES]:
        length += len(line)
        if length > _LONGEST:
            break
        lines.append(line)
    same = (f for f in operations(lines) if (f.name, f.result) == (node.op, node.name))
    operation_text = next(same, None)
    if operation_text is None:
        return operator
    return replace(operator, nodes=(_with_types(node, operation_text.text), *operator.nodes[1:]))


def _with_types(node: GraphNode, text: str) -> GraphNode:
    settings = _settings(text)
    # Strings may contain anything, including brackets.
    plain = _STRING.sub(lambda match: '"' + "_" * (len(match[0]) - 2) + '"', text)
    head, _, rest = plain.partition("=") if plain.startswith("%") else ("", "", plain)
    results = [name.partition(":")[0].strip() for name in head.split(",")] if head else []
    ins, outs = _inside(_INS, rest), _inside(_OUTS, rest)
    if ins is not None or outs is not None:
        # A destination is written; that some ops add to its previous value is not counted.
        taken, (names, output_types) = _side(ins or ""), _side(outs or "")
        if results:
            names = results
        return replace(
            node,
            inputs=_named(taken[1], taken[0]),
            outputs=_named(output_types, names),
            settings=settings,
        )
    colon = _last_colon(rest)
    if colon < 0:
        return replace(node, settings=settings)
    stated = _LOCATION.sub("", rest[colon + 1 :]).strip()
    operands = _VALUE.findall(rest[:colon])
    types = _signature(stated, len(operands), len(results))
    if types is None:
        return replace(node, settings=settings)
    taken_types, made_types = types
    return replace(
        node,
        inputs=_named(taken_types, operands),
        outputs=_named(made_types, results),
        settings=settings,
    )


def _signature(stated: str, operands: int, results: int) -> tuple[list[str], list[str]] | None:
    """Return the types of operands and results from the text after the colon."""
    before, arrow, after = _cut_at_arrow(stated)
    if arrow:
        return _types(before), _types(after)
    if " to " in stated:
        source, _, target = stated.partition(" to ")
        return [source.strip()], [target.strip()]
    types = _types(stated)
    return (types * operands, types * results) if len(types) == 1 else None


def _side(text: str) -> tuple[list[str], list[str]]:
    """Parse "%a, %b : T, T" to its names and types."""
    names, _, types = text.partition(":")
    return _VALUE.findall(names), _types(types)


def _named(types: Sequence[str], names: Sequence[str]) -> tuple[Tensor, ...]:
    fits = len(names) == len(types)
    return tuple(
        _tensor(stated, names[i] if fits else f"value {i + 1}")
        for i, stated in enumerate(types)
        if not stated.startswith(_SHAPE)  # a compile-time shape, not data
    )


def _tensor(stated: str, name: str) -> Tensor:
    """Parse "tensor<1x?xi8>" to a tensor; a type that is not shaped is a scalar."""
    shaped = _SHAPED.fullmatch(stated)
    if shaped is None:
        return Tensor(name, _dtype(stated), () if _dtype(stated) else None)
    rest, sizes = shaped["inner"].strip(), []
    while (size := _SIZE.match(rest)) is not None:
        sizes.append(size[1])
        rest = rest[size.end() :]
    dtype = _dtype(_split(rest)[0] if rest else "")
    if "*" in sizes:
        return Tensor(name, dtype, None)
    return Tensor(name, dtype, tuple(int(s) if s.isdecimal() else s for s in sizes))


def _dtype(stated: str) -> str:
    quantized = _QUANTIZED.match(stated)
    if quantized is not None:
        return quantized[1]
    name = _COMPLEX.get(stated, stated)
    return name if re.fullmatch(r"(?:[su]?i|bf|f|c)\d\w*|index", name) else ""


def _settings(text: str) -> tuple[tuple[str, Setting], ...]:
    settings: list[tuple[str, Setting]] = []
    for name, array, other in _ARRAY.findall(text):
        numbers = [part.strip() for part in (array or other).split(",")]
        if all(re.fullmatch(r"-?\d{1,18}", number) for number in numbers):
            settings.append((name, tuple(map(int, numbers))))
    if "indexing_maps" in text:
        settings.append((INDEXING_MAPS, True))
    return tuple(settings)


# -- brackets ("->" is not one) -------------------------------------------------------------------


def _depths(text: str) -> list[int]:
    """Return per character the number of open brackets before it."""
    depth, depths = 0, []
    for i, mark in enumerate(text):
        if mark in _CLOSERS and not (mark == ">" and text[i - 1 : i] == "-"):
            depth -= 1
        depths.append(depth)
        if mark in _OPENERS:
            depth += 1
    return depths


def _last_colon(text: str) -> int:
    depths = _depths(text)
    colons = [i for i, mark in enumerate(text) if mark == ":" and depths[i] == 0]
    return colons[-1] if colons else -1


def _cut_at_arrow(text: str) -> tuple[str, bool, str]:
    depths = _depths(text)
    arrow = next((i for i, d in enumerate(depths) if d == 0 and text.startswith("->", i)), -1)
    return (text[:arrow], True, text[arrow + 2 :]) if arrow >= 0 else (text, False, "")


def _split(text: str) -> list[str]:
    """Split a list at the commas outside brackets."""
    depths, parts, start = _depths(text), [], 0
    for i, mark in enumerate(text):
        if mark == "," and depths[i] == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [*parts, text[start:].strip()]


def _types(text: str) -> list[str]:
    """Parse "(T, T)" or "T, T" to its types; "()" has none."""
    text = text.strip()
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    return _split(text) if text.strip() else []


def _inside(opening: re.Pattern[str], text: str) -> str | None:
    """Return the text inside the bracket that the pattern opens, or None."""
    match = opening.search(text)
    if match is None:
        return None
    inner = text[match.end() :]
    depths = _depths(inner)
    end = next((i for i, d in enumerate(depths) if d < 0), len(inner))
    return inner[:end]
