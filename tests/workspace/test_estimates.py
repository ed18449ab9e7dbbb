"""Estimates of all open files, shared by the panels."""

import gc
from concurrent.futures import ThreadPoolExecutor
from copy import copy

import pytest

from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.workspace import snapshot
from viewer.workspace.snapshot import estimates_of_workspace, shared_estimates
from viewer.workspace.workspace import Workspace

TORQ = ("compile_c3_taskid.csv", "tiny_cnn.mlir")


def test_the_comparison_of_a_workspace_is_computed_once(monkeypatch):
    space, made = Workspace(), []
    for name in TORQ:
        space.open(str(DATA / "torq" / name))
    monkeypatch.setattr(
        snapshot,
        "estimates_of_workspace",
        lambda of: made.append(of) or estimates_of_workspace(of),
    )
    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(shared_estimates, [space] * 8)
    assert all(one is first for one in others)
    assert first.operators == estimates_of_workspace(space).operators
    assert shared_estimates(copy(space)) is not first
    assert len(made) == 2


@pytest.mark.slow
def test_it_is_forgotten_with_the_workspace():
    space = workspace_of(*(DATA / "torq" / name for name in TORQ))
    shared_estimates(space)
    count = len(snapshot._shared)
    del space
    gc.collect()
    assert len(snapshot._shared) < count
