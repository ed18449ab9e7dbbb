"""What a profile records about the slices of one key, and how it is looked up.

Profilers name slices after Python functions and modules:

    torch/nn/modules/conv.py(564): forward    torch.profiler: file, line, function
    nn.Module: Conv2d_1                       torch.profiler: a call of the second Conv2d
    leaf.<locals>.<genexpr> (sums.py:5)       viztracer: function, file, line

The line is that of the function's definition: these profilers do not record which of its lines ran.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from viewer.arrays import Ints
from viewer.model.trace import Column, Trace
from viewer.program.frames import Frame
from viewer.program.program import GraphNode


@dataclass(frozen=True, slots=True)
class ProfiledCall:
    """An operator, kernel, function or module call.

    method: the part of the program that it belongs to. node: what it is and where it was called.
    backend: the execution provider that ran it, "" if none is stated. fused: the other nodes that
    it ran.
    """

    method: str
    node: GraphNode
    backend: str = ""
    fused: tuple[GraphNode, ...] = ()


def text_at(column: Column | None, slice_: int) -> str:
    """Return the text of a slice in a column; "" without one, for a number, and for slice -1."""
    value = None if column is None or slice_ < 0 else column.value(slice_)
    return value if isinstance(value, str) else ""


def first_slices(trace: Trace) -> Ints:
    """Return the first slice of every key, -1 for a key without one."""
    first_slice = np.full(len(trace.keys), -1, np.int64)
    key = trace.slices.key
    first_slice[key[::-1]] = np.arange(len(key))[::-1]
    return first_slice


MODULE = "nn.Module: "
# Names are untrusted: numbers of more digits are not lines.
_PYTORCH = re.compile(r"(.+)\(([0-9]{1,9})\): (.+)", re.DOTALL)
# In the path no " (" starts, so that a long name is read once, not once per " (".
_VIZTRACER = re.compile(r"(.+) \(((?:(?! \().)+):([0-9]{1,9})\)", re.DOTALL)
_NUMBERED = re.compile(r"(.+)_([0-9]+)", re.DOTALL)


def frame_of(name: str) -> Frame | None:
    """Return the function that a slice is named after, or None if its file is not stated."""
    if match := _PYTORCH.fullmatch(name):
        path, line, function = match.groups()
    elif match := _VIZTRACER.fullmatch(name):
        function, path, line = match.groups()
    else:
        return None
    return None if path.startswith("<") else Frame(path, int(line), function, "")


def module_of(name: str) -> tuple[str, str] | None:
    """Return the name and class of the module that a slice is a call of, or None.

    The profiler numbers the modules of each class: "Conv2d_1" is the second Conv2d that it saw.
    """
    if not name.startswith(MODULE):
        return None
    module = name.removeprefix(MODULE)
    match = _NUMBERED.fullmatch(module)
    return module, match[1] if match else module
