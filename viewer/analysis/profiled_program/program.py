"""The operators that a profile itself records: a program without a model file, and its links.

    PyTorch        operators, kernels, Python functions and calls of modules, per call site
    ExecuTorch     kernels and the types of operators, in a Chrome trace of an ETDump
    ONNX Runtime   the nodes of the model, with their op types and execution providers
    viztracer      Python functions with file and line
    LiteRT, Vela   the nodes of the model, with their operator types
    layer tables   the same, or the nodes in the names of layers

A *call site* of a PyTorch profile is a name, the stack of Python calls and modules around it, and
the shapes and types of the inputs. Such an operator belongs to the innermost module around it, and
to the innermost function that called it and is not torch's own (`viewer.program.frames`). Forward
operators, the backward pass and all else, such as the optimizer, are three methods, so that a
module has one total for each direction. The backward pass runs outside the modules. There the
profile draws a flow from the forward operator to the backward operator ("fwdbwd"), so everything
inside the latter has the stack of the former.

torch.profiler records three kinds of slices that this needs:

    cpu_op           operators, nested as they call each other: aten::conv2d > aten::convolution
    python_function  Python calls (`with_stack`), "train.py(27): forward", and calls of modules
                     (`with_modules`), "nn.Module: Conv2d_0"
    kernel, gpu_...  work of a GPU; its `External id` is that of the operator that started it
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewer.analysis.calls.call_table import numbered
from viewer.analysis.calls.paths import FRAMES, call_paths
from viewer.analysis.links.link_table import Link, LinkTable, Reason
from viewer.analysis.profiled_program.runtime_nodes import (
    ProfiledCall,
    executorch_calls,
    frame_of,
    input_tensors,
    layer_calls,
    module_of,
    onnx_runtime_calls,
    output_tensors,
    runtime_calls,
    settings_of,
    text_at,
)
from viewer.analysis.statistics.group_keys import KeyGroups
from viewer.arrays import Bools, Codes, Ints, lists_by_key, numbers_at
from viewer.dataclasses import replace
from viewer.model.queries import innermost_around, tree
from viewer.model.queries import numbers as numbers_in
from viewer.model.recorded_names import ANNOTATION, CATEGORY, LAYER_TABLE, OF_RUNTIMES
from viewer.model.trace import Column, KeyKind, Keys, Trace
from viewer.model.trace_attributes import CallStacks
from viewer.program.frames import Frame
from viewer.program.module_tree import MOST_MODULES, MOST_PATH
from viewer.program.program import GraphNode, Method, Operator, Program

CPU_OP, PYTHON_FUNCTION = "cpu_op", "python_function"
INPUT_SHAPES, INPUT_TYPES, INPUT_VALUES = "Input Dims", "Input type", "Concrete Inputs"
_EXTERNAL_ID, _SEQUENCE = "External id", "Sequence number"
_ENGINE = "autograd::engine::"
_OF_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
# With more call sites than this, shapes are not told apart: linking takes 5 µs per site.
MOST_SITES = 200_000


def is_pytorch(trace: Trace) -> bool:
    """Return whether a trace has the operators of torch.profiler."""
    category = trace.slices.columns.get(CATEGORY)
    return category is not None and CPU_OP in (category.strings or ())


def with_call_sites(trace: Trace) -> Trace:
    """Return a PyTorch profile whose keys are call sites; any other trace as it is."""
    if not is_pytorch(trace):
        return trace
    slices = trace.slices
    category = trace.slices.columns[CATEGORY]
    is_python = category.is_any((PYTHON_FUNCTION,))
    is_operator = category.is_any((CPU_OP,))
    by_name = KeyGroups(trace.strings, trace.keys.name.astype(np.int64))
    threads = [track.thread for track in trace.tracks]
    paths = call_paths(trace, threads, by_name, ~is_python, merges=False)
    frame = innermost_around(trace.slices, is_python)
    stack = np.where(frame >= 0, paths.node[frame], -1).astype(np.int64)
    forward = _forward_operators(trace, is_operator)
    backward = forward >= 0
    stack[backward] = stack[forward[backward]]
    starter = _starters(trace, category, is_operator)
    started = starter >= 0
    stack[started] = stack[starter[started]]
    backward[started] = backward[starter[started]]
    # Threads and processes are paths too; only frames are stacks.
    of_frames = paths.depth >= FRAMES
    number = np.append(np.where(of_frames, np.cumsum(of_frames) - 1, -1), -1)
    stack = number[stack]
    stack[(trace.keys.kind != KeyKind.PLAIN)[slices.key]] = -1  # steps have one identity
    key, first = _distinct(trace, stack, backward)
    before = slices.key[first]
    keys = Keys(**{name: getattr(trace.keys, name)[before] for name in Keys.__slots__})
    stacks = np.flatnonzero(of_frames)
    names = paths.name[stacks].astype(np.int64)
    calls = CallStacks(names, number[paths.parent[stacks]], stack[first], backward[first], first)
    for array in (key, *(getattr(keys, name) for name in Keys.__slots__)):
        array.flags.writeable = False
    return replace(trace, keys=keys, slices=replace(slices, key=key), calls=calls)


def _forward_operators(trace: Trace, is_operator: Bools) -> Ints:
    """Return per slice of the backward pass the operator of the forward pass behind it, else -1."""
    producers, used = trace.flows.producer, trace.flows.consumer
    # Other flows connect operators with kernels, or start on Python calls.
    ties = is_operator[producers] & is_operator[used]
    # Flows of two processes in a merged file may have the same ids.
    ties &= _process_of(trace, producers) == _process_of(trace, used)
    producers, used = producers[ties], used[ties]
    forward = numbers_at(len(trace.slices), used, producers, -1)
    _tie_callers(trace, forward)
    around = innermost_around(trace.slices, forward >= 0)
    return np.where(around >= 0, forward[around], -1)


def _tie_callers(trace: Trace, forward: Ints) -> None:
    """Tie the engine's call of a backward operator to the same forward operator.

    The flow may end at the operator inside "autograd::engine::evaluate_function"; both have the
    same sequence number.
    """
    index, numbers = numbers_in(trace, _SEQUENCE)
    sequence = numbers_at(len(forward), index, numbers, -1)
    shape = tree(trace.slices)
    inner = np.flatnonzero(shape.parent >= 0)
    outer, inner = shape.index[shape.parent[inner]], shape.index[inner]
    is_same = (forward[inner] >= 0) & (sequence[outer] == sequence[inner]) & (sequence[outer] >= 0)
    is_engine = np.array([name.startswith(_ENGINE) for name in trace.strings])
    is_same &= is_engine[trace.slices.name[outer]]
    forward[outer[is_same]] = forward[inner[is_same]]


def _starters(trace: Trace, category: Column, is_operator: Bools) -> Ints:
    """Return per slice of a device the operator that started it, -1 if that is not known."""
    starters = np.full(len(trace.slices), -1, np.int64)
    external = trace.slices.columns.get(_EXTERNAL_ID)
    if external is None or external.strings is not None:
        return starters
    stated = np.ones(len(starters), np.bool_) if external.valid is None else external.valid
    on_device = np.flatnonzero(category.is_any(_OF_DEVICE) & stated)
    operators = np.flatnonzero(is_operator & stated)
    if not len(on_device) or not len(operators):
        return starters
    ids, process = external.values, _process_of(trace, operators)
    by_id = np.lexsort((process, ids[operators]))
    order, process = operators[by_id], process[by_id]
    first, after = (np.searchsorted(ids[order], ids[on_device], side) for side in ("left", "right"))
    # In a file merged of several processes, each counts from 1: such an id does not say which.
    has_starter = first < after
    has_starter[has_starter] = process[first[has_starter]] == process[after[has_starter] - 1]
    starters[on_device[has_starter]] = order[first[has_starter]]
    return starters


def _process_of(trace: Trace, slices: Ints) -> Ints:
    _, of_track = np.unique([track.process for track in trace.tracks], return_inverse=True)
    return np.asarray(of_track[trace.slices.tracks_of(slices)], np.int64)


def _distinct(trace: Trace, stack: Ints, backward: Bools) -> tuple[Codes, Ints]:
    """Return the number of every slice's call site, and the first slice of each site."""
    slices = trace.slices
    site, _ = numbered((stack + 1) * 2 + backward)
    site, _ = numbered(site * np.int64(len(trace.keys)) + slices.key)
    by_place = site
    for name in (INPUT_SHAPES, INPUT_TYPES):
        column = slices.columns.get(name)
        if column is None or column.strings is None:
            continue
        code = column.values.astype(np.int64) + 1
        if column.valid is not None:
            code[~column.valid] = 0
        site, _ = numbered(site * np.int64(len(column.strings) + 1) + code)
    if site.max(initial=0) >= MOST_SITES:
        site = by_place
    _, first = np.unique(site, return_index=True)
    return site.astype(np.uint32), first.astype(np.int64)


FORWARD, BACKWARD, OUTSIDE, CALLS = "forward", "backward", "outside the modules", "calls"
# Other categories are spans and the arrows between threads. A step covers the whole loop body.
_OPERATORS = frozenset(
    {
        CPU_OP, PYTHON_FUNCTION, ANNOTATION, "kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime",
        "cuda_driver", "mtia_ccp_events", "xpu_runtime", "privateuse1_runtime",
        "privateuse1_driver", "glow_runtime",
    }
)  # fmt: skip
_MOST_FRAMES = 256  # the innermost of a stack; a call site holds and compares all of its frames
_Modules = tuple[tuple[str, str], ...]


def pytorch_calls(trace: Trace, calls: CallStacks) -> list[ProfiledCall | None]:
    """Return the call of every key of a trace with call sites; None for scopes."""

    slices, columns = trace.slices, trace.slices.columns
    category = columns[CATEGORY]
    places = _Places(trace, calls)
    has_modules = any(places.of(stack)[1] for stack in range(len(calls.stack_name)))
    stacks, backward = calls.stack.tolist(), calls.backward.tolist()
    names, kinds = trace.keys.name.tolist(), trace.keys.kind.tolist()
    profiled_calls: list[ProfiledCall | None] = []
    for key, first in enumerate(calls.first.tolist()):
        name = trace.strings[names[key]]
        kind = category.value(first)
        # On a lane of its own, an annotation repeats the time of the calls that it overlaps.
        repeats = kind == ANNOTATION and slices.row_lane[slices.row_of(first)] > 0
        if kind not in _OPERATORS or repeats or kinds[key] != KeyKind.PLAIN:
            profiled_calls.append(None)
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
        profiled_calls.append(ProfiledCall(_method(has_modules, modules, backward[key]), node))
    return profiled_calls


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

    def __init__(self, trace: Trace, calls: CallStacks) -> None:
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


PYTORCH, ONNX_RUNTIME, PYTHON = "PyTorch profile", "ONNX Runtime profile", "Python profile"
EXECUTORCH = "ExecuTorch events"
_SCOPE = Link(Reason.FRAMEWORK, "A scope of the profiler or the runtime, not an operator")
_RECORDED = Link(Reason.BY_PROFILE, "The profile itself states its operator")
# Tables of runtimes and compilers that state the operator type of each row.
# A trace of another kind may have a name that looks like a function by chance.
_LEAST_SHARE = 0.5
# Linking takes 5 µs per name, and no program has so many functions.
_MOST_NAMES = 200_000


def recorded_links(trace: Trace) -> LinkTable | None:
    """Return the links of a trace to the operators that it records; None if it records none."""
    if trace.format in OF_RUNTIMES:
        nodes = runtime_calls(trace)
        return _linked(trace, f"{trace.format} profile", nodes) if any(nodes) else None
    if trace.format == LAYER_TABLE:
        layers = layer_calls(trace)
        return _linked(trace, f"{trace.format} profile", layers) if any(layers) else None
    if not trace.format.startswith("Chrome"):
        return None
    # Imports that other profiles do without: a tenth of the time of `opscope info`.

    if trace.calls is not None:
        return _linked(trace, PYTORCH, pytorch_calls(trace, trace.calls))
    nodes = onnx_runtime_calls(trace)
    if any(nodes):
        return _linked(trace, ONNX_RUNTIME, nodes)
    nodes = executorch_calls(trace)
    if any(nodes):
        return _linked(trace, EXECUTORCH, nodes)
    functions = function_calls(trace)
    return _linked(trace, PYTHON, functions) if any(functions) else None


def _linked(trace: Trace, format_: str, calls: Sequence[ProfiledCall | None]) -> LinkTable:
    """Return the links of every key to its call; equal calls are one operator."""
    number: dict[tuple[str, tuple[GraphNode, ...]], int] = {}
    # A node with a deep stack takes long to look up: once per key.
    first_slices_of_calls = [
        -1
        if call is None
        else number.setdefault((call.method, (call.node, *call.fused)), len(number))
        for call in calls
    ]
    by_method = lists_by_key((name, (first, nodes)) for (name, nodes), first in number.items())
    methods = []
    index = [0] * len(number)
    count = 0
    for name, members in by_method.items():
        operators = []
        for first, nodes in members:
            index[first] = count
            operators.append(Operator(count, name, nodes[0].debug_handle, nodes))
            count += 1
        methods.append(Method(name, tuple(operators)))
    # Without modules there is no forward pass to tell from the rest.
    has_modules = format_ == PYTORCH and FORWARD in by_method
    directions = (FORWARD, BACKWARD)[: 1 + (BACKWARD in by_method)] if has_modules else ()
    program = Program(
        trace.path,
        format_,
        "",
        tuple(methods),
        is_recorded=True,
        is_nested=format_ in (PYTORCH, PYTHON),
        directions=directions,
    )
    _ = program.source_lines, program.module_paths  # cached here: the GUI thread shows them
    links = tuple(
        _SCOPE
        if call is None
        else Link(
            _RECORDED.reason,
            _RECORDED.detail,
            (),
            (index[first],),
            backend=call.backend,
        )
        for call, first in zip(calls, first_slices_of_calls, strict=True)
    )
    return LinkTable(trace, program, None, links)


def function_calls(trace: Trace) -> list[ProfiledCall | None]:
    """Return the function of every key; empty unless most names of the trace are functions."""
    if not 0 < len(trace.keys) <= _MOST_NAMES:
        return []
    profiled_calls: list[ProfiledCall | None] = []
    for number in trace.keys.name.tolist():
        name = trace.strings[number]
        frame = frame_of(name)
        node = None
        if frame is not None:
            node = GraphNode(name, name, -1, (replace(frame, is_stated=True),), (), name)
        profiled_calls.append(None if node is None else ProfiledCall(CALLS, node))
    is_function = np.array([call is not None for call in profiled_calls])
    slices = np.bincount(trace.slices.key, minlength=len(profiled_calls))
    enough = slices[is_function].sum() >= _LEAST_SHARE * len(trace.slices)
    return profiled_calls if enough and is_function.any() else []
