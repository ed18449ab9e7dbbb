"""Reads the methods of a program: their instructions, operators and memory sizes.

All methods are read at once as columns; objects are made at the end, one per instruction.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints, numbers_at
from viewer.codecs.flatbuffer import Tables
from viewer.formats.executorch.pte.delegates import Delegates, References
from viewer.formats.executorch.pte.program_tables import Children, ProgramTables
from viewer.formats.executorch.pte.tensors import read_values
from viewer.program.executable.executable import ExecutableMethod, Instruction, InstructionKind

_NAME, _CHAINS, _OPERATORS, _BUFFER_SIZES = 0, 5, 6, 8  # slots of a method
_INSTRUCTIONS = 2  # slot of a chain
_NONE = -1
_KERNEL, _DELEGATE, _MOVE, _JUMP, _FREE = (
    InstructionKind.KERNEL_CALL,
    InstructionKind.DELEGATE_CALL,
    InstructionKind.MOVE_CALL,
    InstructionKind.JUMP_FALSE_CALL,
    InstructionKind.FREE_CALL,
)


def read_methods(
    tables: ProgramTables, methods: Tables, delegates: Delegates, references: References
) -> tuple[ExecutableMethod, ...]:
    """Read all methods. Raises Malformed."""
    codes, texts = tables.texts(methods.targets(_NAME), "names of methods")
    names = [*texts, ""]
    values = read_values(tables, methods, references)
    chains = tables.children(methods, _CHAINS, "list of chains")
    instructions = _Instructions(tables, methods, chains, values.all.count, delegates).made()
    sizes = tables.long_numbers(methods, _BUFFER_SIZES, "sizes of planned memory")
    tables.problems.count_rows(
        "planned memory with a negative size",
        np.flatnonzero(sizes.values < 0),
        lambda row: f"size {row} of all methods",
    )
    executable_methods = []
    for i in range(len(methods)):
        method_chains = instructions[chains.bounds[i] : chains.bounds[i + 1]]
        executable_methods.append(
            ExecutableMethod(
                name=names[codes[i]],
                instructions=method_chains[0] if method_chains else (),
                delegates=delegates.of(i),
                tensors=values.tensors[i],
                value_count=values.count(i),
                inputs=values.inputs.of(i),
                outputs=values.outputs.of(i),
                lists=values.lists[i],
                buffer_sizes=tuple(max(size, 0) for size in sizes.of(i)),
                more_chains=tuple(method_chains[1:]),
            )
        )
    return tuple(executable_methods)


@dataclass(slots=True)
class _Columns:
    """The instructions of all chains as columns. called: operator or delegate, -1 if none."""

    kind: Ints
    called: Ints
    target: Ints
    values: NDArray[np.int64]
    bounds: Ints  # instructions + 1 positions in `values`


class _Instructions:
    """Reads the instructions of all chains of all methods."""

    def __init__(
        self,
        tables: ProgramTables,
        methods: Tables,
        chains: Children,
        value_count: Ints,
        delegates: Delegates,
    ) -> None:
        self._tables = tables
        self._problems = tables.problems
        self._value_count = value_count
        self._delegates = delegates
        self._operators = tables.children(methods, _OPERATORS, "list of operators")
        self._found = tables.children(chains.tables, _INSTRUCTIONS, "list of instructions")
        self._method = chains.parent[self._found.parent]
        self._position = self._found.position

    def _place(self, row: int) -> str:
        return f"instruction {self._position[row]} of method {self._method[row]}"

    def made(self) -> list[tuple[Instruction, ...]]:
        """The instructions of each chain. Raises Malformed."""
        columns = self._columns()
        names = self._names(columns)
        kinds = {kind.value: kind for kind in InstructionKind}
        values, bounds = columns.values.tolist(), columns.bounds.tolist()
        instructions = [
            Instruction(
                number,
                kinds[kind],
                name,
                tuple(values[low:high]),
                target,
                called if kind == _DELEGATE else _NONE,
            )
            for number, kind, name, low, high, target, called in zip(
                self._position.tolist(),
                columns.kind.tolist(),
                names,
                bounds[:-1],
                bounds[1:],
                columns.target.tolist(),
                columns.called.tolist(),
                strict=True,
            )
        ]
        ends = self._found.bounds.tolist()
        return [tuple(instructions[a:b]) for a, b in pairwise(ends)]

    def _columns(self) -> _Columns:
        """Read the tables of all instructions."""
        tables, problems = self._tables, self._problems
        stated = self._found.tables.numbers(0, np.uint8, 0).astype(np.int64)
        contents = self._found.tables.targets(1)
        is_known = (stated >= 1) & (stated <= _FREE + 1) & (contents > 0)
        problems.count_rows(
            "instruction of an unknown kind", np.flatnonzero(~is_known), self._place
        )
        kind = np.where(is_known, stated - 1, InstructionKind.UNKNOWN)
        called, target = np.full(len(kind), _NONE), np.full(len(kind), _NONE)
        length = np.zeros(len(kind), np.int64)

        calls = np.flatnonzero((kind == _KERNEL) | (kind == _DELEGATE))
        call_tables = tables.of(contents[calls], "call")
        called[calls] = call_tables.numbers(0, np.int32, 0)
        arguments = tables.numbers(call_tables, 1, "arguments of calls")
        length[calls] = np.diff(arguments.bounds)
        others = {each: np.flatnonzero(kind == each) for each in (_MOVE, _JUMP, _FREE)}
        for each, rows in others.items():
            length[rows] = 2 if each is _MOVE else 1
        bounds = np.append(0, np.cumsum(length))
        values = numbers_at(
            int(bounds[-1]),
            np.repeat(np.isin(kind, (_KERNEL, _DELEGATE)), length),
            arguments.values,
        )
        for each, rows in others.items():
            kind_tables = tables.of(contents[rows], each.name.lower().replace("_", " "))
            values[bounds[rows]] = kind_tables.numbers(0, np.int32, 0)
            if each is _MOVE:
                values[bounds[rows] + 1] = kind_tables.numbers(1, np.int32, 0)
            elif each is _JUMP:
                target[rows] = kind_tables.numbers(1, np.int32, 0)
        columns = _Columns(kind, called, target, values, bounds)
        self._check(columns, length)
        return columns

    def _check(self, columns: _Columns, length: Ints) -> None:
        """Count references to values, delegates and instructions that do not exist."""
        method = np.repeat(self._method, length)
        outside = (columns.values < 0) | (columns.values >= self._value_count[method])
        self._problems.count_rows(
            "instruction uses a value that its method does not have",
            np.repeat(np.arange(len(length)), length)[outside],
            self._place,
        )
        jumps = columns.kind == _JUMP
        count = self._found.count[self._found.parent]
        self._problems.count_rows(
            "jump to a missing instruction",
            np.flatnonzero(jumps & ((columns.target < 0) | (columns.target > count))),
            self._place,
        )
        delegated = columns.kind == _DELEGATE
        delegate_count = np.diff(self._delegates.bounds)[self._method]
        lost = delegated & ((columns.called < 0) | (columns.called >= delegate_count))
        self._problems.count_rows(
            "call of a delegate that its method does not have",
            np.flatnonzero(lost),
            self._place,
        )
        columns.called[lost] = _NONE

    def _names(self, columns: _Columns) -> list[str]:
        """The operator or backend of each instruction."""
        operators = self._operators
        in_method = operators.count[self._method]
        kernels = columns.kind == _KERNEL
        lost = kernels & ((columns.called < 0) | (columns.called >= in_method))
        self._problems.count_rows(
            "call of an operator that its method does not have", np.flatnonzero(lost), self._place
        )
        operator = operators.bounds[self._method] + columns.called
        used, code = np.unique(operator[kernels & ~lost], return_inverse=True)
        tables = self._tables.of(operators.at[used], "operator")
        base, bases = self._tables.texts(tables.targets(0), "names of operators")
        overload, overloads = self._tables.texts(tables.targets(1), "overloads of operators")
        parts = zip(base.tolist(), overload.tolist(), strict=True)
        bases, overloads = [*bases, ""], [*overloads, ""]
        full = [f"{bases[a]}.{overloads[b]}" if overloads[b] else bases[a] for a, b in parts]
        names = [""] * len(columns.kind)
        for row, c in zip(
            np.flatnonzero(kernels & ~lost).tolist(), code.reshape(-1).tolist(), strict=True
        ):
            names[row] = full[c]
        first = self._delegates.bounds[self._method]
        calls = np.flatnonzero((columns.kind == _DELEGATE) & (columns.called >= 0))
        for row, d in zip(calls.tolist(), (first + columns.called)[calls].tolist(), strict=True):
            names[row] = self._delegates.all[d].backend
        return names
