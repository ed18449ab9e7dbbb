"""The calls around the slices of a profile, as the profile itself records them.

A PyTorch profile records the Python functions and modules that were active around an operator. So
it states, without a model file, which module and line an operator belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass

from viewer.arrays import Bools, Ints


@dataclass(frozen=True, slots=True, eq=False)
class CallStacks:
    """Python call stacks, and the stack that the slices of each key ran in.

    A stack is a frame and the stack that called it. stack_name: the frame's name, an index into
    `Trace.strings`; stack_parent: the calling stack, -1 for an outermost frame; a stack has a
    larger number than its parent. One value per stack.

    stack: the stack of a key, which for a frame ends with the frame itself; -1 if it has none.
    backward: whether it is part of the backward pass; then the stack is that of the forward call.
    first: a slice that has the key. One value per key of the trace. All int64.
    """

    stack_name: Ints
    stack_parent: Ints
    stack: Ints
    backward: Bools
    first: Ints
