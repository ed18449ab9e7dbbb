"""Reads the test cases of a bundled program (.bpte): the outputs that each input should give.

Specified by devtools/bundled_program/schema/bundled_program_schema.fbs of ExecuTorch. The values
are in the flatbuffer: they are read when they are needed. Inputs are not read.
"""

from __future__ import annotations

import numpy as np

from viewer.arrays import Ints, groups_of
from viewer.codecs.file_bytes import FileBytes, LazyBytes
from viewer.codecs.flatbuffer import (
    Buffer,
    Malformed,
    Tables,
    damage_of,
    distinct_texts,
    elements,
    numbers_in,
)
from viewer.codecs.reading import UnreadableFile
from viewer.codecs.tensor_values import TensorLayout
from viewer.dataclasses import dataclass
from viewer.formats import head_of
from viewer.formats.executorch.pte.program_file import BUNDLED, DAMAGED
from viewer.formats.executorch.schema import MOST_DIMENSIONS, decoded, scalar_type

SUFFIX = ".bpte"
_SUITES, _NAME, _CASES, _OUTPUTS = 1, 0, 1, 1  # slots
_TYPE, _VALUE = 0, 1  # of the union in a value
_TENSOR, _INT, _BOOL, _DOUBLE = 1, 2, 3, 4
_DTYPE, _SIZES, _DATA, _ORDER = 0, 1, 2, 3  # slots of a tensor
_MOST_VALUES = 1 << 16
_LEAST = 8  # bytes of a table and the offset to it


@dataclass(frozen=True, slots=True)
class ExpectedValue:
    """One expected output: a tensor and where its bytes are in the file, or a number.

    layout: of the tensor, or of the number alone. fault: why it cannot be read.
    """

    layout: TensorLayout
    offset: int = 0
    number: float | None = None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class BundledCase:
    """The expected outputs of one input of a method. number: of the input, from 0."""

    method: str
    number: int
    outputs: tuple[ExpectedValue, ...]


@dataclass(frozen=True, eq=False)
class BundledCases:
    """The test cases of a bundled program, and the file that has their bytes."""

    path: str
    file: FileBytes
    cases: tuple[BundledCase, ...]


def is_bundled(path: str) -> bool:
    """Whether a file is a bundled program."""
    try:
        return head_of(path)[4:8] == BUNDLED
    except UnreadableFile:
        return False


def read_bundled_cases(path: str) -> BundledCases:
    """Read the expected outputs of all test cases. Raises UnreadableFile."""
    if not is_bundled(path):
        raise UnreadableFile(path, "this is not a bundled program (.bpte)")
    try:
        with damage_of(path, DAMAGED):
            file = FileBytes(path)
            return BundledCases(path, file, tuple(_cases(LazyBytes(file))))
    except (OSError, ValueError) as error:
        raise UnreadableFile(path, f"it cannot be read ({error})") from error


def _cases(content: LazyBytes) -> list[BundledCase]:
    buffer = Buffer(content)
    start = int.from_bytes(content.raw(0, 4), "little")
    root = Tables(buffer, np.array([start]), "bundled program")
    suites, _ = _children(buffer, root, _SUITES, "test suites")
    codes, raw = distinct_texts(buffer, suites.targets(_NAME), "names of methods")
    names = [*decoded(raw, lambda *_: None), ""]
    cases, of_suite = _children(buffer, suites, _CASES, "test cases")
    values, of_case = _children(buffer, cases, _OUTPUTS, "expected outputs")
    expected_values = [ExpectedValue(TensorLayout("", ()))] * len(values)
    kinds = values.numbers(_TYPE, np.uint8, 0).astype(np.int64)
    positions = values.targets(_VALUE)
    kinds[positions == 0] = 0
    for kind, here in groups_of(kinds):
        for i, value in zip(here.tolist(), _values(buffer, kind, positions[here]), strict=True):
            expected_values[i] = value
    ends = np.searchsorted(of_case, np.arange(len(cases) + 1)).tolist()
    first = np.searchsorted(of_suite, np.arange(len(suites)))
    return [
        BundledCase(
            names[codes[suite]],
            number - int(first[suite]),
            tuple(expected_values[ends[number] : ends[number + 1]]),
        )
        for number, suite in enumerate(of_suite.tolist())
    ]


def _children(buffer: Buffer, tables: Tables, slot: int, what: str) -> tuple[Tables, Ints]:
    """The tables in the vectors of a slot, and the number of the parent of each."""
    first, length = buffer.vectors(tables.targets(slot), 4, what)
    if int(length.sum()) > _MOST_VALUES:
        raise Malformed(int(first[0]), f"more than {_MOST_VALUES:,} {what}")
    positions = elements(buffer, first, length, what, _LEAST)
    return Tables(buffer, positions, what), np.repeat(np.arange(len(length)), length)


def _values(buffer: Buffer, kind: int, positions: Ints) -> list[ExpectedValue]:
    if kind == _TENSOR:
        return _tensors(buffer, positions)
    if kind not in (_INT, _BOOL, _DOUBLE):
        return [ExpectedValue(TensorLayout("value of an unknown type", ()))] * len(positions)
    tables = Tables(buffer, positions, "expected number")
    if kind == _INT:
        return [_number("i64", number) for number in tables.numbers(0, np.int64, 0).tolist()]
    if kind == _BOOL:
        return [_number("bool", number != 0) for number in tables.numbers(0, np.uint8, 0).tolist()]
    return [_number("f64", number) for number in tables.numbers(0, np.float64, 0).tolist()]


def _number(dtype: str, value: float) -> ExpectedValue:
    return ExpectedValue(TensorLayout(dtype, ()), number=value)


def _tensors(buffer: Buffer, positions: Ints) -> list[ExpectedValue]:
    tables = Tables(buffer, positions, "expected tensor")
    dtypes = tables.numbers(_DTYPE, np.uint8, 0).tolist()
    first, rank = buffer.vectors(tables.targets(_SIZES), 4, "sizes of an expected tensor")
    sizes = numbers_in(buffer, first, rank, np.int32, "sizes of expected tensors")
    starts = (np.cumsum(rank) - rank).tolist()
    data, length = buffer.vectors(tables.targets(_DATA), 1, "data of an expected tensor")
    order, count = buffer.vectors(tables.targets(_ORDER), 1, "dimensions of an expected tensor")
    expected_values = []
    for i, (dtype, n) in enumerate(zip(dtypes, rank.tolist(), strict=True)):
        tensor_sizes = tuple(sizes[starts[i] : starts[i] + n].tolist())
        dimensions = buffer.u1(order[i] + np.arange(count[i])).tolist()
        if n > MOST_DIMENSIONS:
            layout = TensorLayout(f"tensor of {n} dimensions", ())
        else:
            layout = TensorLayout(
                scalar_type(dtype)[0], tensor_sizes, _strides(tensor_sizes, dimensions)
            )
        is_short = not layout.fault and layout.extent > int(length[i])
        fault = "tensor that ends early" if is_short else layout.fault
        expected_values.append(ExpectedValue(layout, int(data[i]), fault=fault))
    return expected_values


def _strides(sizes: tuple[int, ...], order: list[int]) -> tuple[int, ...]:
    """The strides of a tensor whose dimensions are stored in an order, outermost first."""
    if order == sorted(order) or sorted(order) != list(range(len(sizes))):
        return ()
    strides, step = [0] * len(sizes), 1
    for dimension in reversed(order):
        strides[dimension] = step
        step *= sizes[dimension]
    return tuple(strides)
