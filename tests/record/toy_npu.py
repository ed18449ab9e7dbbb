"""A toy NPU: a compiler that fuses operators, and a simulator that logs what it runs.

It is the whole way of a delegate author, in one file without torch. Ahead of time, the compiler
decides what runs as one, and registers it in a debug handle map. At run time, `ToyNpu` logs the
same identifiers with the cycles that each took. The two files are opened together:

    python -m tests.record.toy_npu out
    opscope --clock out/run.etdp=800MHz out/run.etdp out/model.opscope_map.json

A real delegate gets its nodes from the partition that `preprocess()` is given. Here they are made
by hand, with the same `meta`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewer.record import (
    DelegateInstance,
    DelegateMappingBuilder,
    EventTracer,
    write_debug_handle_map,
)

DUMP, MAP = "run.etdp", "model.opscope_map.json"
FUSED = ("convolution", "relu", "add")  # what the toy can do in one pass over the data


@dataclass(frozen=True)
class Node:
    """An operator of the model, as torch.fx has it."""

    name: str
    target: str
    meta: dict[str, Any]

    @property
    def op(self) -> str:
        return self.target.split(".")[1]


@dataclass(frozen=True)
class Step:
    """What the NPU does at once: the identifier to log, and what it costs."""

    identifier: int | str
    cycles: int
    tiles: int


def node(handle: int, target: str, module: str, line: int) -> Node:
    trace = f'  File "/home/user/toy_model.py", line {line}, in forward\n    ...\n'
    stack = {module: (module, "torch.nn.Module")}
    meta = {"debug_handle": handle, "stack_trace": trace, "nn_module_stack": stack}
    return Node(f"aten_{handle}", target, meta)


# Two parts of one model, each a delegate's call: instructions 0 and 1.
FEATURES = (
    node(1, "aten.convolution.default", "features.conv", 12),
    node(2, "aten.relu.default", "features.act", 13),
    node(3, "aten.add.Tensor", "features", 14),
    node(4, "aten.max_pool2d.default", "features.pool", 15),
)
HEAD = (
    node(5, "aten.mean.dim", "head", 20),
    node(6, "aten.linear.default", "head.fc", 21),
)


def compile_features(nodes: Sequence[Node]) -> tuple[list[Step], DelegateMappingBuilder]:
    """Fuse what the NPU can do in one pass; every step is called by what it does."""
    builder = DelegateMappingBuilder()
    steps = []
    while nodes:
        fits = tuple(n.op for n in nodes[: len(FUSED)]) == FUSED
        together, nodes = (nodes[:3], nodes[3:]) if fits else (nodes[:1], nodes[1:])
        called = "+".join(n.op for n in together)
        identifier = builder.insert_delegate_mapping_entry(list(together), called)
        steps.append(Step(identifier, cycles=1000 * len(together) - 200, tiles=4))
    return steps, builder


def compile_head(nodes: Sequence[Node]) -> tuple[list[Step], DelegateMappingBuilder]:
    """One step for each operator, numbered by the builder."""
    builder = DelegateMappingBuilder(generated_identifiers=True)
    numbers = [builder.insert_delegate_mapping_entry(n) for n in nodes]
    return [Step(number, cycles=150 + number, tiles=1) for number in numbers], builder


class ToyNpu:
    """Counts cycles, and logs what they went into."""

    def __init__(self, calls: Sequence[Sequence[Step]]) -> None:
        self._calls = calls
        self._cycles = 0

    def cycles(self) -> int:
        """The NPU's own clock."""
        return self._cycles

    def run(self, tracer: EventTracer) -> None:
        """One inference."""
        with tracer.create_event_block("Execute"), tracer.start_profiling("Method::execute"):
            for instruction, steps in enumerate(self._calls):
                with tracer.start_profiling("DELEGATE_CALL", 0, instruction):
                    self._cycles += 50  # to load the commands
                    for step in steps:
                        with tracer.start_profiling_delegate(
                            delegate_debug_id=step.identifier
                        ) as entry:
                            self._cycles += step.cycles
                            entry.metadata = f"tiles={step.tiles}"


def main(folder: Path, inferences: int = 2) -> None:
    """Write the map of the compiled model and the dump of some inferences."""
    folder.mkdir(exist_ok=True)
    features, features_map = compile_features(FEATURES)
    head, head_map = compile_head(HEAD)
    write_debug_handle_map(
        folder / MAP,
        DelegateInstance(features_map, "ToyNpu", instruction=0),
        DelegateInstance(head_map, "ToyNpu", instruction=1),
    )
    npu = ToyNpu([features, head])
    with EventTracer(folder / DUMP, clock=npu.cycles, unit="cycles") as tracer:
        for _ in range(inferences):
            npu.run(tracer)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
