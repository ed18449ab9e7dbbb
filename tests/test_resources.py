"""The bundled samples: found everywhere, complete, and as their texts say."""

import csv
import sys
from pathlib import Path

import pytest

import viewer
from tests.builders.workspaces import workspace_of
from viewer import resources
from viewer.model.trace import Trace
from viewer.program.program import Program
from viewer.resources import SAMPLES, Sample, resource
from viewer.workspace.workspace import Workspace


def opened(sample: Sample) -> Workspace:
    return workspace_of(*sample.paths())


def by_key(key: str) -> Sample:
    return next(s for s in SAMPLES if s.key == key)


def test_a_source_tree_has_its_resources_beside_the_package():
    assert resource("samples") == Path(viewer.__file__).parents[1] / "resources" / "samples"
    assert resource("samples", "README.md").is_file()


def test_a_frozen_bundle_has_its_resources_in_its_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "_MEIPASS", str(tmp_path), raising=False)
    assert resource("samples", "x") == tmp_path / "resources" / "samples" / "x"


def test_a_wheel_has_its_resources_in_the_package(monkeypatch, tmp_path):
    (tmp_path / "viewer" / "_resources").mkdir(parents=True)
    monkeypatch.setattr(resources, "__file__", str(tmp_path / "viewer" / "resources.py"))
    assert resource("samples") == tmp_path / "viewer" / "_resources" / "samples"


def test_the_start_page_shows_every_folder_of_samples_once():
    folders = [p.name for p in resource("samples").iterdir() if p.is_dir()]
    assert sorted(s.key for s in SAMPLES) == sorted(folders)


def test_the_samples_stay_small():
    sizes = [p.stat().st_size for p in resource("samples").rglob("*") if p.is_file()]
    assert sum(sizes) < 1_000_000


def test_the_readme_names_every_sample():
    text = resource("samples", "README.md").read_text(encoding="utf-8")
    assert [s.key for s in SAMPLES if f"`{s.key}/`" not in text] == []


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.key)
def test_a_sample_opens_without_a_problem_and_links(sample):
    workspace = opened(sample)
    assert len(workspace.paths) == len(sample.files)
    for item in (*workspace.traces, *workspace.programs):
        assert item.problems == ()
    for trace in workspace.traces:
        assert workspace.links(trace).program is workspace.programs[0]
        assert workspace.warnings(trace) == []


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.key)
def test_profiles_are_opened_before_programs(sample):
    workspace = Workspace()
    kinds = [type(workspace.open(path)) for path in sample.paths()]
    assert kinds == sorted(kinds, key=[Trace, Program].index)


RECORDS = [s.key for s in SAMPLES if any(f.endswith(".etrecord") for f in s.files)]


@pytest.mark.parametrize("key", RECORDS)
def test_every_recorded_line_is_that_line_of_the_source_beside_it(key):
    source = resource("samples", key, "models.py").read_text(encoding="utf-8").splitlines()
    (program,) = opened(by_key(key)).programs
    frames = {
        frame
        for operator in program.operators
        for node in operator.nodes
        for frame in node.frames
        if frame.path.endswith("/models.py")
    }
    assert frames
    assert [f for f in frames if source[f.line - 1].strip() != f.text] == []


def test_the_source_is_found_beside_the_record():
    workspace = opened(by_key("delegate_handle_map"))
    frame = workspace.programs[0].operators[0].source
    assert frame is not None
    found = workspace.source(frame.path)
    assert found is not None
    assert Path(found.shown) == resource("samples", "delegate_handle_map", "models.py")


def slices_of(key: str) -> list[tuple[str, int, int]]:
    (trace,) = opened(by_key(key)).traces
    slices = trace.slices
    names = [trace.strings[i] for i in slices.name.tolist()]
    rows = zip(names, slices.start.tolist(), slices.end.tolist(), strict=True)
    return sorted(row for row in rows if row[0] != "unattributed")


def test_the_csv_sample_is_the_same_profile_as_the_dump():
    assert slices_of("plain_csv") == slices_of("delegate_handle_map")
    path = resource("samples", "plain_csv", "demo_str_x4.csv")
    with path.open(newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 35
