"""Lines of a source with their costs, of files that the open files record and no others."""

import shutil

import pytest

from tests.builders.workspaces import TORQ, workspace_of
from tests.paths import SAMPLES
from viewer.analysis.cost.costs import Costs
from viewer.model.figures import STEADY
from viewer.reports.slices import NoSource, recorded_path, recorded_paths, source_facts
from viewer.workspace.workspace import Workspace

MODEL = "/home/user/models/models.py"


@pytest.fixture
def workspace(tmp_path):
    """A profile and its ETRecord, without the source next to them."""
    space = Workspace()
    for name in ("attn_xnnpack_x5.etdp", "attn_teal_xnnpack.etrecord"):
        shutil.copy(SAMPLES / "attention_xnnpack" / name, tmp_path / name)
        space.open(str(tmp_path / name))
    return space


def with_source(workspace, tmp_path, change=lambda text: text):
    text = (SAMPLES / "attention_xnnpack" / "models.py").read_text()
    (tmp_path / "models.py").write_text(change(text))
    return source_facts(workspace, workspace.traces[0], around=500)


def test_times_of_lines_are_the_costs_of_the_operators(workspace, tmp_path):
    facts = with_source(workspace, tmp_path)
    assert facts["shown_from"] == str(tmp_path / "models.py")
    assert (facts["file"], facts["line"], facts["shown"]) == (MODEL, 52, facts["total"])
    assert sum(line["self_ns"] for line in facts["lines"]) == facts["file_self_ns"]
    assert sum(one["ns"] for one in facts["shared"]) == facts["file_shared_ns"]
    costs = Costs(workspace.links(workspace.traces[0])).table(STEADY)
    assert facts["file_self_ns"] + facts["file_shared_ns"] == costs.single + costs.shared
    assert facts["differs_from_record"] == []


def test_another_version_of_the_file_is_reported(workspace, tmp_path):
    facts = with_source(workspace, tmp_path, lambda text: "# new\n" + text)
    assert {"line": 52, "recorded": facts["lines"][52]["text"].strip()} in facts[
        "differs_from_record"
    ]


def test_a_missing_file_has_the_lines_that_the_record_quotes(workspace):
    facts = source_facts(workspace, workspace.traces[0], (MODEL, 52), around=1)
    assert facts["shown_from"] is None
    assert [line["line"] for line in facts["lines"]] == [51, 52, 53]
    assert facts["lines"][1]["text"].startswith("a = torch.nn.functional")
    assert facts["lines"][1]["self_ns"] > 0
    assert facts["total"] > 3


def test_one_inference_has_its_own_times(workspace):
    every = source_facts(workspace, workspace.traces[0])
    one = source_facts(workspace, workspace.traces[0], number=2)
    assert one["inference"] == 2
    assert 0 < one["file_self_ns"] < every["file_self_ns"]


def test_only_a_recorded_path_is_found(workspace):
    paths = recorded_paths(workspace)
    assert recorded_path(paths, "models.py") == recorded_path(paths, MODEL) == MODEL
    for name in ("/etc/passwd", "../models.py", "./models.py", "", "home/user/models/models.py"):
        with pytest.raises(NoSource, match="no open file records"):
            recorded_path(paths, name)
    with pytest.raises(NoSource, match="2 recorded source files are named"):
        recorded_path(["/x/a.py", "/y/a.py"], "a.py")


def test_an_mlir_text_is_a_source_of_its_own():
    space = workspace_of(*(TORQ / name for name in ("compile_c3_taskid.csv", "tiny_cnn.mlir")))
    assert str(TORQ / "tiny_cnn.mlir") in recorded_paths(space)
    facts = source_facts(space, space.traces[0], around=0)
    assert facts["lines"][0]["self_ns"] > 0
    assert "tosa." in facts["lines"][0]["text"]


def test_files_without_lines_say_so():
    space = workspace_of(TORQ / "compile_c1_css_cdma.csv")
    with pytest.raises(NoSource, match="record no source lines"):
        source_facts(space, space.traces[0])
