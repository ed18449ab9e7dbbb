"""The Python functions and modules that profilers name their slices after.

    torch/nn/modules/conv.py(564): forward    torch.profiler: file, line, function
    nn.Module: Conv2d_1                       torch.profiler: a call of the second Conv2d
    leaf.<locals>.<genexpr> (sums.py:5)       viztracer: function, file, line

The line is that of the function's definition: these profilers do not record which of its lines ran.
"""

from __future__ import annotations

import re

from viewer.program.frames import Frame

MODULE = "nn.Module: "
# Names are untrusted: numbers of more digits are not lines.
_PYTORCH = re.compile(r"(.+)\(([0-9]{1,9})\): (.+)", re.DOTALL)
# In the path no " (" starts, so that a long name is read once, not once per " (".
_VIZTRACER = re.compile(r"(.+) \(((?:(?! \().)+):([0-9]{1,9})\)", re.DOTALL)
_NUMBERED = re.compile(r"(.+)_([0-9]+)", re.DOTALL)


def frame_of(name: str) -> Frame | None:
    """Return the function that a slice is named after, or None if its file is not stated."""
    if found := _PYTORCH.fullmatch(name):
        path, line, function = found.groups()
    elif found := _VIZTRACER.fullmatch(name):
        function, path, line = found.groups()
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
    found = _NUMBERED.fullmatch(module)
    return module, found[1] if found else module
