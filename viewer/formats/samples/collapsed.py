"""Reads collapsed stacks, the text that flame graphs are made of: `main;load;read 12`.

Brendan Gregg's stackcollapse scripts, py-spy (`--format raw`), inferno and async-profiler write a
line for each stack: its frames, outermost first, joined by ";", then a space and how many samples
it had. Nothing states times: a tick is a sample, the stacks are placed one after another in the
order of the file, and their length on the timeline is an assumption that `--clock` changes. Lines
that begin with "#" are comments.
"""

from __future__ import annotations

import re

import numpy as np

from viewer.codecs.decimal_times import TIME_LIMIT
from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, Progress, stop_if
from viewer.codecs.unpacking import PackedFile
from viewer.formats.samples.speedscope import counted_clock
from viewer.formats.samples.stacks import Frame, SampledSlices, StackTree
from viewer.model.building.builder import TraceBuilder
from viewer.model.timing import Timing

_STACK = re.compile(rb"([^;\n\t]+(?:;[^;\n\t]+)*) ([0-9]{1,18})(?:\.[0-9]*)?")
# As difffolded.pl joins two profiles: the counts of the first and of the second.
_TWO_COUNTS = re.compile(
    rb"(?:#[^\n]*\n)*(?:[^;\n\t]+(?:;[^;\n\t]+)* [0-9]{1,18} [0-9]{1,18}\r?(?:\n|$))+"
)
_FIRST_COUNT = re.compile(rb" [0-9]{1,18}(?= [0-9]{1,18}\r?$)")
_NUMBER = re.compile(rb"[0-9.,]+")
_BLOCK, _HEAD = 1 << 20, 4096
_MOST_IN_A_LINE = 1 << 20
# Bytes of a stack, and of a frame in it, at the peak. Not measured.
_STACK_MEMORY, _FRAME_MEMORY = 200, 60
_NO_STACK = "line that is no stack with a count: left out"


def sniff(data: bytes) -> bool:
    """Whether all lines are frames and a count, most of them of several frames."""
    if b";" not in data:
        return False
    lines = data.split(b"\n")
    if len(data) >= 4096:
        del lines[-1]  # it may be cut
    stacks = []
    for line in lines:
        if not line.strip() or line.startswith(b"#"):
            continue
        match = _STACK.fullmatch(line.strip(b"\r"))
        if match is None:
            return False
        stacks.append(match[1].split(b";"))
    # Two lines of one name and a number are a table, as are cells of numbers.
    return (
        bool(stacks)
        and sum(len(frames) > 1 for frames in stacks) * 2 >= len(stacks)
        and not any(_NUMBER.fullmatch(frame) for frames in stacks for frame in frames)
    )


def read(builder: TraceBuilder, progress: Progress, cancelled: Cancelled) -> None:
    """Read the stacks of a file. Raises UnreadableFile and ReadCancelled."""
    builder.clock = counted_clock("sample")
    tree, names = StackTree(), dict[bytes, int]()
    nodes, weights = list[int](), list[int]()
    left, line_number = b"", 0
    with PackedFile(builder.path) as source:
        head = source.read(_HEAD)
    is_two = _TWO_COUNTS.fullmatch(head[: head.rfind(b"\n") + 1]) is not None
    if is_two:
        builder.state("Counts", "those of the second of two profiles")
    with PackedFile(builder.path) as source:
        while block := source.read(_BLOCK):
            stop_if(cancelled)
            *lines, left = (left + block).split(b"\n")
            if len(left) > _MOST_IN_A_LINE:
                lines, left = [*lines, left], b""
            for line in lines:
                line_number += 1
                line = _FIRST_COUNT.sub(b"", line) if is_two else line
                _add(builder, line, line_number, tree, names, nodes, weights)
            taken = len(nodes) * _STACK_MEMORY + len(tree.parent) * _FRAME_MEMORY
            allowance().expect(taken, source.share, source.unpacked, ratio=source.ratio)
            progress(min(source.done, source.size), source.size)
        left = _FIRST_COUNT.sub(b"", left) if is_two else left
        _add(builder, left, line_number + 1, tree, names, nodes, weights)
        if source.fault:
            builder.problem(f"{source.fault}: the content before it was read")
    weight = np.array(weights, np.int64)
    if weight.sum(dtype=np.float64) > TIME_LIMIT // 10**6:
        builder.problem("counts that do not fit 64 bits: counted as one sample each", len(weight))
        weight = np.minimum(weight, 1)
    end = np.cumsum(weight)
    frames = [Frame(name.decode("utf-8", "replace")) for name in names]
    SampledSlices(builder, frames, tree.parent, tree.frame).add(
        builder.track("samples", "all stacks"),
        np.array(nodes, np.int64),
        end - weight,
        end,
        weight=weight,
        timing=Timing.SAMPLED | Timing.PLACED,
    )


def _add(
    builder: TraceBuilder,
    line: bytes,
    number: int,
    tree: StackTree,
    names: dict[bytes, int],
    nodes: list[int],
    weights: list[int],
) -> None:
    line = line.strip(b"\r")
    if not line.strip() or line.startswith(b"#"):
        return
    match = _STACK.fullmatch(line)
    if match is None:
        builder.problem(_NO_STACK, 1, f"line {number}")
        return
    frames = tuple(names.setdefault(name, len(names)) for name in match[1].split(b";"))
    nodes.append(tree.stack(frames))
    weights.append(int(match[2]))
