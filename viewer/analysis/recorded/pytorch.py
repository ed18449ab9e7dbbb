"""The call sites of a PyTorch profile as operators with modules, source lines and input shapes.

An operator belongs to the innermost module around it, and to the innermost function that called it
and is not torch's own (`viewer.program.frames`). Forward operators, the backward pass and all else,
such as the optimizer, are three methods, so that a module has one total for each direction.
"""

from __future__ import annotations

from dataclasses import replace

from viewer.analysis.recorded.call_sites import (
    INPUT_SHAPES,
    INPUT_TYPES,
    INPUT_VALUES,
    OPERATOR,
    PYTHON,
)
from viewer.analysis.recorded.frames import frame_of, module_of
from viewer.analysis.recorded.recorded_call import RecordedCall, text_at
from viewer.analysis.recorded.tensors import input_tensors, output_tensors, settings_of
from viewer.model.names.profilers import ANNOTATION, CATEGORY
from viewer.model.recorded_calls import RecordedCalls
from viewer.model.trace import KeyKind, Trace
from viewer.program.frames import Frame
from viewer.program.node_paths import MOST_MODULES, MOST_PATH
from viewer.program.program import GraphNode

FORWARD, BACKWARD, OUTSIDE, CALLS = "forward", "backward", "outside the modules", "calls"
# Other categories are spans and the arrows between threads. A step covers the whole loop body.
_OPERATORS = frozenset(
    {
        OPERATOR, PYTHON, ANNOTATION, "kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime",
        "cuda_driver", "mtia_ccp_events", "xpu_runtime", "privateuse1_runtime",
        "privateuse1_driver", "glow_runtime",
    }
)  # fmt: skip
_MOST_FRAMES = 256  # the innermost of a stack; a call site holds and compares all of its frames
_Modules = tuple[tuple[str, str], ...]


def pytorch_calls(trace: Trace, calls: RecordedCalls) -> list[RecordedCall | None]:
    """Return the call of every key of a trace with call sites; None for scopes."""
    slices, columns = trace.slices, trace.slices.columns
    category = columns[CATEGORY]
    places = _Places(trace, calls)
    has_modules = any(places.of(stack)[1] for stack in range(len(calls.stack_name)))
    stacks, backward = calls.stack.tolist(), calls.backward.tolist()
    names, kinds = trace.keys.name.tolist(), trace.keys.kind.tolist()
    found: list[RecordedCall | None] = []
    for key, first in enumerate(calls.first.tolist()):
        name = trace.strings[names[key]]
        kind = category.value(first)
        # On a lane of its own, an annotation repeats the time of the calls that it overlaps.
        repeats = kind == ANNOTATION and slices.row_lane[slices.row_of(first)] > 0
        if kind not in _OPERATORS or repeats or kinds[key] != KeyKind.PLAIN:
            found.append(None)
            continue
        frames, modules = places.of(stacks[key])
        shapes, types, values = (
            text_at(columns.get(name), first) for name in (INPUT_SHAPES, INPUT_TYPES, INPUT_VALUES)
        )
        settings, inputs = settings_of(name, values), input_tensors(shapes, types)
        node = GraphNode(
            name,
            name,
            -1,
            frames,
            modules,
            name,
            inputs,
            output_tensors(name, inputs, settings),
            settings=settings,
        )
        found.append(RecordedCall(_method(has_modules, modules, backward[key]), node))
    return found


def _method(has_modules: bool, modules: _Modules, is_backward: bool) -> str:
    if is_backward:
        return BACKWARD
    if not has_modules:
        return CALLS
    return FORWARD if modules else OUTSIDE


class _Places:
    """The frames and modules of every stack, outermost first; each is built from its parent's.

    The first `forward` inside a call of a module is that of its class: "Conv2d.forward". A module
    that is too deep, or whose path is too long, counts as a part of the one around it.
    """

    def __init__(self, trace: Trace, calls: RecordedCalls) -> None:
        self._known: list[tuple[tuple[Frame, ...], _Modules]] = []
        frames: dict[str, Frame | None] = {}
        entered: list[bool] = []  # per stack, whether its innermost module's forward was called
        stacks = zip(calls.stack_name.tolist(), calls.stack_parent.tolist(), strict=True)
        for name, parent in stacks:
            above, modules = self.of(parent)
            has_entered = entered[parent] if parent >= 0 else True
            text = trace.strings[name]
            if module := module_of(text):
                path = f"{modules[-1][0]}.{module[0]}" if modules else module[0]
                if len(path) < MOST_PATH and len(modules) < MOST_MODULES:
                    modules = (*modules, (path, module[1]))
                    has_entered = False
            elif frame := frames.setdefault(text, frame_of(text)):
                if frame.function == FORWARD and not has_entered:
                    frame = replace(frame, function=f"{modules[-1][1]}.{FORWARD}")
                    has_entered = True
                above = (*above, frame)[-_MOST_FRAMES:]
            self._known.append((above, modules))
            entered.append(has_entered)

    def of(self, stack: int) -> tuple[tuple[Frame, ...], _Modules]:
        """Return the frames and modules of a stack; none for -1."""
        return self._known[stack] if stack >= 0 else ((), ())
