"""The whole way of a delegate author: fuse, register, run, log, and see what it was."""

from __future__ import annotations

import pytest

from tests.builders.workspaces import workspace_of
from tests.record import toy_npu
from viewer.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("toy")
    toy_npu.main(made)
    return made


@pytest.fixture(scope="module")
def workspace(folder):
    return workspace_of(folder / toy_npu.DUMP, folder / toy_npu.MAP)


def slices_of(workspace, identifier):
    (trace,) = workspace.traces
    of_key = trace.keys.identifier[trace.slices.key]
    return [
        i for i, own in enumerate(of_key) if own == identifier and type(own) is type(identifier)
    ]


def operators_of(workspace, i):
    (trace,) = workspace.traces
    return workspace.links(trace).operators(int(trace.slices.key[i]))


def test_the_fused_slice_shows_its_three_operators(workspace):
    first, second = slices_of(workspace, "convolution+relu+add")
    for i in (first, second):
        operators = operators_of(workspace, i)
        assert [o.op for o in operators] == ["convolution", "relu", "add"]
        assert [o.module_path for o in operators] == ["features.conv", "features.act", "features"]
        assert [(o.source.path, o.source.line) for o in operators] == [
            ("/home/user/toy_model.py", line) for line in (12, 13, 14)
        ]
    assert workspace.warnings(workspace.traces[0]) == []


@pytest.mark.parametrize(
    ("identifier", "operator"), [("max_pool2d", "max_pool2d"), (0, "mean"), (1, "linear")]
)
def test_each_other_identifier_has_its_one(workspace, identifier, operator):
    found = slices_of(workspace, identifier)
    assert len(found) == 2
    assert {o.op for i in found for o in operators_of(workspace, i)} == {operator}


def test_cycles_and_metadata_are_those_of_the_simulator(workspace):
    (trace,) = workspace.traces
    s = trace.slices
    first, second = slices_of(workspace, "convolution+relu+add")
    # 50 cycles of commands for each call, 2800 fused, 800 pooling, 150 and 151 of the head.
    assert (s.start[first], s.end[first]) == (50, 50 + 2800)
    assert s.start[second] - s.start[first] == 50 + 2800 + 800 + 50 + 150 + 151
    assert s.columns["metadata"].value(first) == "tiles=4"


def test_the_command_line_tells_the_same(folder, capsys):
    dump, told = str(folder / toy_npu.DUMP), str(folder / toy_npu.MAP)
    assert main(["info", "--clock", f"{dump}=800MHz", dump, told]) == 0
    out = capsys.readouterr().out
    assert "12 of 12 linkable slices" in out
    assert "identifier in the delegate's debug handle map (8)" in out
    assert "1 tick = 1.25 ns (chosen)" in out
