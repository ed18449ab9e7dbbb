"""Profiles of exported models: what an ETDump has of them, and the arms of a comparison."""

from __future__ import annotations

import random

import numpy as np

from tests.builders.edits.exported import Exported
from viewer.analysis.comparison.arms import Arm
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind, RunKind, Trace
from viewer.workspace.comparison_arms import arm_of
from viewer.workspace.workspace import Workspace

INFERENCES = 8
_GAP = 100  # ns between calls
_NOISE = 0.02
_CALLS = (KeyKind.OPERATOR_CALL, KeyKind.DELEGATE_CALL)


def trace(model: Exported, path: str) -> Trace:
    """Return inferences of all methods, with a slice per instruction."""
    builder = TraceBuilder(path, "ETDump", "", Clock("ns"))
    dice = random.Random(path)
    now = 0
    for _ in range(INFERENCES):
        for method in model.program.methods:
            scope = builder.scope("Execute", method.name)
            track = builder.track("model.etdp", method.name)
            began, now = now, now + _GAP
            for instruction in method.handles:
                ns = model.times[method.name, instruction]
                end = now + round(ns * dice.uniform(1 - _NOISE, 1 + _NOISE))
                kind = _CALLS[instruction in method.delegates]
                key = builder.key(kind, kind.name, scope=scope, instruction=instruction)
                builder.add(
                    track=track, start=np.array([now]), end=np.array([end]),
                    name=builder.intern(kind.name), key=key, levels=np.ones(1, np.int32),
                )  # fmt: skip
                now = end + _GAP
            builder.run(RunKind.INFERENCE, "Execute", track, scope, began, now)
            builder.add(
                track=track, start=np.array([began]), end=np.array([now]),
                name=builder.intern("Method::execute"),
                key=builder.key(KeyKind.FRAMEWORK, "Method::execute", scope=scope),
                levels=np.zeros(1, np.int32),
            )  # fmt: skip
    return builder.build()


def arm(model: Exported, path: str) -> Arm:
    """Return the arm of one profile of a model, linked to its program."""
    workspace = Workspace()
    workspace.add(trace(model, path))
    workspace.add(model.program)
    return arm_of(workspace)
