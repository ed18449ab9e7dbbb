"""Which open ETRecord describes an open program file."""

import pytest

from tests.builders.pte_cases import MODELS
from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.workspace.program_of_executable import program_of_executable

FILES = DATA / "pte"


def found(program_file, *others):
    workspace = workspace_of(program_file, *others)
    program = program_of_executable(workspace, workspace.executables[0])
    return None if program is None else program.path


@pytest.mark.parametrize("name", [name for name in MODELS if name != "cond"])
def test_the_record_of_a_program_is_found_among_all(name):
    records = [FILES / f"{one}.etrecord" for one in MODELS]
    assert found(FILES / f"{name}.pte", *records) == str(FILES / f"{name}.etrecord")


def test_the_record_that_a_profile_is_linked_to_decides():
    files = FILES / "cond.etrecord", FILES / "cond.etdp"
    assert found(FILES / "cond.pte", *files) == str(FILES / "cond.etrecord")


def test_two_records_that_match_equally_well_decide_nothing(tmp_path):
    copy = tmp_path / "copy.etrecord"
    copy.write_bytes((FILES / "part_x.etrecord").read_bytes())
    assert found(FILES / "part_x.pte", FILES / "part_x.etrecord", copy) is None
