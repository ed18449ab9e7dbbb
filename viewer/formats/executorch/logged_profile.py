"""The values that an open profile logged: finds its debug buffer, and what can be compared with.

A buffer states nothing about its profile. One that the user gives is taken; else one next to the
profile with its name. Of several, the one of the size that the offsets need; if several fit, the
user must choose.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import numpy as np

from viewer.analysis.links.labels import HOW_TO_LOG
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.numbers.compared import ArrayKey, Side
from viewer.analysis.numbers.logged_values import (
    LoggedCalls,
    LoggedInference,
    LoggedValues,
    Value,
    logged_inferences,
    number,
    unreadable,
    value_of,
)
from viewer.codecs.reading import UnreadableFile
from viewer.codecs.tensor_values import StoredTensor, TensorLayout
from viewer.dataclasses import dataclass
from viewer.formats.executorch.debug_buffer import (
    buffers_next_to,
    open_debug_buffer,
    read_debug_tensors,
)
from viewer.formats.executorch.etdump.reader import FORMAT
from viewer.formats.executorch.pte.bundled_outputs import BundledCase, BundledCases
from viewer.formats.npz import NpzFile
from viewer.model.text import bytes_text, display_name
from viewer.model.times import plain_spaces

PICKLED = (
    "an ETRecord has its reference outputs as a pickle, which is never loaded. Save them as .npz: "
    "see Numbers in the help"
)
_HANDLES = re.compile(r"[\[(]? *([0-9]{1,9}(?: *, *[0-9]{1,9})*) *,? *[\])]?")


@dataclass(frozen=True, eq=False)
class LoggedProfile:
    """A profile with logged values. buffer: path of its debug buffer, None if it needs none."""

    table: LinkTable
    values: LoggedValues
    buffer: str | None
    inferences: tuple[LoggedInference, ...]

    def chosen(self, inference: int | None) -> list[LoggedInference]:
        """Return the inferences with a number; None: the first of each method that has values.

        Raises ValueError if none has that number.
        """
        if inference is None:
            first: dict[str, LoggedInference] = {}
            for logged_inference in self.inferences:
                first.setdefault(logged_inference.method, logged_inference)
            return list(first.values())
        inferences = [
            logged_inference
            for place, logged_inference in enumerate(self.inferences, 1)
            if inference
            == (logged_inference.run.number if logged_inference.run is not None else place)
        ]
        if not inferences:
            raise ValueError(f"{self.table.trace.path}: inference {inference} logged no values")
        return inferences

    def side(self, inference: LoggedInference) -> Side:
        """Return what an inference logged."""
        return Side(self.table, inference.method, tuple(self.values.of(inference)))


def logged_profile(table: LinkTable, buffers: Sequence[str] = ()) -> LoggedProfile:
    """Return a profile with its values. buffers: paths that the user gave for it or for others.

    Raises UnreadableFile if it logged no values, or if its debug buffer is not known.
    """
    trace = table.trace
    inferences = logged_inferences(table) if trace.format == FORMAT.name else ()
    if not inferences:
        raise UnreadableFile(trace.path, "it has no logged values", remedy=HOW_TO_LOG)
    tensors = read_debug_tensors(trace.path)
    calls = LoggedCalls(table)
    if tensors.end <= 0:
        values = LoggedValues(calls, tensors, np.empty(0, np.uint8))
        return LoggedProfile(table, values, None, inferences)
    path = _buffer_of(trace.path, tensors.end, buffers)
    buffer = open_debug_buffer(path)
    values = LoggedValues(calls, tensors, buffer)
    return LoggedProfile(table, values, path, inferences)


def _buffer_of(path: str, end: int, paths: Sequence[str]) -> str:
    """Return the debug buffer of a dump whose tensors end at a byte. Raises UnreadableFile."""
    buffers = buffers_next_to(path)
    if paths:
        named = {os.path.realpath(file) for file in (buffers[0] if buffers else ())}
        mine = tuple(file for file in paths if os.path.realpath(file) in named)
        return _fitting(path, end, mine or tuple(paths))
    if buffers and len(buffers[0]) == 1 and _is_named_after(buffers[0][0], path):
        return buffers[0][0]  # its end may be missing
    for files in buffers:
        fitting = tuple(file for file in files if _size(file) >= end)
        if fitting:
            return _fitting(path, end, fitting)
    raise UnreadableFile(
        path,
        f"its values are in a debug buffer of at least {_bytes(end)}, and none is next to it",
        remedy=f"Name it: {display_name(path)} BUFFER.bin",
    )


def _fitting(path: str, end: int, files: Sequence[str]) -> str:
    """Return the file of the size that the tensors need. Raises UnreadableFile."""
    if len(files) == 1:
        return files[0]
    fitting = [file for file in files if _size(file) >= end]
    exact = [file for file in fitting if _size(file) == end]
    if len(exact) == 1 or len(fitting) == 1:
        return (exact if len(exact) == 1 else fitting)[0]
    names = ", ".join(display_name(file) for file in (fitting or files)[:4])
    reason = "may all be its debug buffer" if fitting else f"are all smaller than {_bytes(end)}"
    raise UnreadableFile(
        path, f"{names} {reason}", remedy=f"Name one: {display_name(path)} BUFFER.bin"
    )


def _is_named_after(buffer: str, path: str) -> bool:
    stem = os.path.splitext(os.path.basename(path))[0]
    return os.path.basename(buffer).startswith(stem)


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return -1


def _bytes(size: int) -> str:
    return plain_spaces(bytes_text(size))


# -- references ------------------------------------------------------------------------------------


def array_values(file: NpzFile) -> dict[ArrayKey, Value]:
    """Return the arrays of an `.npz` by debug handles or name; opened when they are compared."""

    def opened(name: str, layout: TensorLayout) -> Value:
        def tensor() -> StoredTensor:
            data, start = file.stored(name)
            return StoredTensor(layout, data, start)

        return Value(layout, tensor, fault=layout.fault)

    values = {array_key(name): opened(name, layout) for name, layout in file.layouts.items()}
    for name, fault in file.faults.items():
        values[array_key(name)] = unreadable(TensorLayout("", ()), fault)
    return values


def array_key(name: str) -> ArrayKey:
    """Return the debug handles that a name of an array has ("8", "1,2,3", "(8,)"), or the name."""
    handles = _HANDLES.fullmatch(name.strip())
    return tuple(map(int, handles[1].split(","))) if handles else name


def expected_values(bundle: BundledCases, case: BundledCase) -> list[Value]:
    """Return the expected outputs of a test case."""
    return [
        unreadable(expected_value.layout, expected_value.fault)
        if expected_value.fault
        else number(expected_value.layout.dtype, expected_value.number)
        if expected_value.number is not None
        else value_of(expected_value.layout, bundle.file, expected_value.offset)
        for expected_value in case.outputs
    ]


def case_of(bundle: BundledCases, inference: LoggedInference, number: int | None) -> BundledCase:
    """Return the test case that an inference ran on. number: the user's choice, from 0.

    The profile may state it. Raises UnreadableFile if it does not and there are several.
    """
    cases = [case for case in bundle.cases if case.method == inference.method]
    cases = cases or list(bundle.cases if len({c.method for c in bundle.cases}) == 1 else ())
    stated = inference.run.bundled_input if inference.run is not None else -1
    wanted = stated if number is None and stated >= 0 else number
    bundled_cases = cases if wanted is None else [case for case in cases if case.number == wanted]
    if len(bundled_cases) == 1:
        return bundled_cases[0]
    if not bundled_cases:
        what = f"test case {wanted}" if wanted is not None else "test case"
        raise UnreadableFile(bundle.path, f"it has no {what} of {inference.method}")
    raise UnreadableFile(
        bundle.path,
        f"the profile does not state which of {len(bundled_cases)} test cases it ran",
        remedy="Choose one: opscope numbers --case 0",
    )
