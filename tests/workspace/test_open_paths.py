"""An open file is found by its path in any spelling, or by its name alone."""

import pytest

from viewer.workspace.open_paths import find_path


@pytest.mark.parametrize("typed", ["/runs/a/run.etdp", "/runs/b/../a/run.etdp"])
def test_by_its_path_however_it_is_spelled(typed):
    assert find_path(["/runs/a/run.etdp", "/runs/b/run.etdp"], typed) == "/runs/a/run.etdp"


def test_by_its_name_if_no_other_has_it():
    assert find_path(["/runs/a/run.etdp", "/runs/a/model.etrecord"], "run.etdp") == (
        "/runs/a/run.etdp"
    )


def test_the_path_goes_before_the_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here = str(tmp_path / "run.etdp")
    assert find_path(["/other/run.etdp", here], "run.etdp") == here


def test_a_name_of_two_files_is_refused():
    with pytest.raises(ValueError, match="2 open files are named"):
        find_path(["/runs/a/run.etdp", "/runs/b/run.etdp"], "run.etdp")


@pytest.mark.parametrize("typed", ["gone.etdp", "a/run.etdp", "un.etdp", ""])
def test_anything_else_is_not_open(typed):
    assert find_path(["/runs/a/run.etdp"], typed) is None
