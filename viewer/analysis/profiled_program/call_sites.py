"""Gives the slices of a PyTorch profile their call sites as identities.

torch.profiler records three kinds of slices that this needs:

    cpu_op           operators, nested as they call each other: aten::conv2d > aten::convolution
    python_function  Python calls (`with_stack`), "train.py(27): forward", and calls of modules
                     (`with_modules`), "nn.Module: Conv2d_0"
    kernel, gpu_...  work of a GPU; its `External id` is that of the operator that started it

A *call site* is a name, the stack of Python calls and modules around it, and the shapes and types
of the inputs. The backward pass runs outside the modules. There the profile draws a flow from the
forward operator to the backward operator ("fwdbwd"), so everything inside the latter has the
stack of the former.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from viewer.analysis.calls.call_table import numbered
from viewer.analysis.calls.paths import FRAMES, call_paths
from viewer.analysis.statistics.group_keys import KeyGroups
from viewer.arrays import Bools, Codes, Ints
from viewer.model.call_stacks import CallStacks
from viewer.model.names.profilers import CATEGORY
from viewer.model.queries import innermost_around, tree
from viewer.model.queries import numbers as numbers_in
from viewer.model.trace import Column, KeyKind, Keys, Trace

OPERATOR, PYTHON = "cpu_op", "python_function"
INPUT_SHAPES, INPUT_TYPES, INPUT_VALUES = "Input Dims", "Input type", "Concrete Inputs"
_EXTERNAL_ID, _SEQUENCE = "External id", "Sequence number"
_ENGINE = "autograd::engine::"
_OF_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
# With more call sites than this, shapes are not told apart: linking takes 5 µs per site.
MOST_SITES = 200_000


def is_pytorch(trace: Trace) -> bool:
    """Return whether a trace has the operators of torch.profiler."""
    category = trace.slices.columns.get(CATEGORY)
    return category is not None and OPERATOR in (category.strings or ())


def with_call_sites(trace: Trace) -> Trace:
    """Return a PyTorch profile whose keys are call sites; any other trace as it is."""
    if not is_pytorch(trace):
        return trace
    slices = trace.slices
    category = trace.slices.columns[CATEGORY]
    is_python = category.is_any((PYTHON,))
    is_operator = category.is_any((OPERATOR,))
    paths = call_paths(
        trace, [track.thread for track in trace.tracks], _by_name(trace), ~is_python, merges=False
    )
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


def _by_name(trace: Trace) -> KeyGroups:
    return KeyGroups(trace.strings, trace.keys.name.astype(np.int64))


def _forward_operators(trace: Trace, is_operator: Bools) -> Ints:
    """Return per slice of the backward pass the operator of the forward pass behind it, else -1."""
    producers, used = trace.flows.producer, trace.flows.consumer
    # Other flows connect operators with kernels, or start on Python calls.
    ties = is_operator[producers] & is_operator[used]
    # Flows of two processes in a merged file may have the same ids.
    ties &= _process_of(trace, producers) == _process_of(trace, used)
    producers, used = producers[ties], used[ties]
    forward = np.full(len(trace.slices), -1, np.int64)
    forward[used] = producers
    _tie_callers(trace, forward)
    around = innermost_around(trace.slices, forward >= 0)
    return np.where(around >= 0, forward[around], -1)


def _tie_callers(trace: Trace, forward: Ints) -> None:
    """Tie the engine's call of a backward operator to the same forward operator.

    The flow may end at the operator inside "autograd::engine::evaluate_function"; both have the
    same sequence number.
    """
    index, numbers = numbers_in(trace, _SEQUENCE)
    sequence = np.full(len(forward), -1, np.int64)
    sequence[index] = numbers
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
    """Return the number of the process of each of some slices."""
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
