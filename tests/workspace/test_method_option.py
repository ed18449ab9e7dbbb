"""`--method` options: which runs of which file they mean, whatever the names have in them."""

import shutil
from pathlib import Path

import pytest

from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.workspace.link_choices import apply_methods
from viewer.workspace.workspace import Workspace

PTE = DATA / "pte"
RECORD = str(PTE / "multi3.etrecord")


def opened(*paths: Path | str) -> Workspace:
    return workspace_of(*paths, RECORD)


def methods(space: Workspace, number: int = 0) -> list[str | None]:
    """The methods of the inferences of Execute 1 of a profile."""
    trace = space.traces[number]
    found = [space.links(trace).method_of_scope(run.scope) for run in trace.inferences()]
    return found[::2]


ALTERNATING = ["prefill", "forward", "prefill", "forward"]


def test_inferences_by_number_for_all_profiles(tmp_path):
    other = shutil.copy(PTE / "multi3.etdp", tmp_path / "other.etdp")
    space = opened(PTE / "multi3.etdp", other)
    texts = ["Execute 1:1,3=prefill", "Execute 1:2,4=forward"]
    assert apply_methods(texts, space) == []
    assert methods(space) == methods(space, 1) == ALTERNATING


@pytest.mark.parametrize("name", ["a.etdp", "a:b.etdp", "a=b.etdp", "Execute 1:1=b:c.etdp"])
def test_of_one_file_by_name_or_path_whatever_is_in_its_name(tmp_path, name):
    one = shutil.copy(PTE / "multi3.etdp", tmp_path / name)
    for typed in (name, str(one)):
        space = opened(PTE / "multi3.etdp", one)
        assert apply_methods([f"{typed}:Execute 1:1,3=prefill"], space) == []
        assert methods(space) == [None] * 4
        assert methods(space, 1) == ["prefill", None, "prefill", None]


def test_what_is_for_fewer_inferences_comes_last():
    space = opened(PTE / "multi3.etdp")
    texts = ["Execute 1:3=prefill", "multi3.etdp:Execute 1:4=prefill", "Execute 1:4=forward",
             "Execute 1=forward"]  # fmt: skip
    assert apply_methods(texts, space) == []
    assert methods(space) == ["forward", "forward", "prefill", "prefill"]


def test_one_inference_has_one_method():
    space = opened(PTE / "multi3.etdp")
    texts = ["Execute 1:1,3=prefill", "Execute 1:1=prefill", "Execute 1:3-4=forward"]
    assert apply_methods(texts, space) == [
        "--method Execute 1:3-4=forward: inference 3 of Execute 1 is prefill by another --method"
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Execute 1:1,9=prefill", "there is no inference 9: they are numbered 1-4"),
        ("Execute 1:0=prefill", "has no inference 0: they are numbered 1-4"),
        ("Execute 1:first=prefill", "'first' is not a list of inference numbers"),
        ("Execute 1:=prefill", "'' is not a list of inference numbers"),
        ("Execute 1:3-1=prefill", "'3-1' is not a range"),
        ("Execute 1:1=encode", "has no method 'encode'; it has decode, forward, prefill"),
        (
            "Execute 9:1=prefill",
            "no inferences have this name; the names are Execute 1, Execute 2, load",
        ),
        ("closed.etdp:Execute 1:1=prefill", "no inferences have this name; the names are"),
        ("load:1=prefill", "has no inferences"),
    ],
)
def test_what_is_wrong_is_said(text, why):
    space = opened(PTE / "multi3.etdp")
    (told,) = apply_methods([text], space)
    assert told.startswith(f"--method {text}: ")
    assert why in told
    assert methods(space) == [None] * 4


def test_a_name_of_several_files_is_no_file(tmp_path):
    other = shutil.copy(PTE / "multi3.etdp", tmp_path / "multi3.etdp")
    space = opened(PTE / "multi3.etdp", other)
    (told,) = apply_methods(["multi3.etdp:Execute 1:1=prefill"], space)
    assert "2 open files are named multi3.etdp: give the path of one" in told
