"""`opscope sizes`: parts, groups, two files, and exit codes."""

import json

import pytest

from tests.paths import DATA
from viewer.cli import main

FILES = DATA / "pte"
A = [str(FILES / "part_x.pte"), str(FILES / "part_x.etrecord")]
B = [str(FILES / "mobile_x.pte"), str(FILES / "mobile_x.etrecord")]


def test_the_parts_of_a_file(capsys):
    assert main(["sizes", *A, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert sum(part["bytes"] for part in facts["parts"]) == facts["files"][0]["bytes"]
    assert main(["sizes", *A]) == 0
    assert "c2.weight" in capsys.readouterr().out


@pytest.mark.parametrize("key", ["kind", "operator", "module", "dtype", "method"])
def test_groups_of_every_key(key, capsys):
    assert main(["sizes", *A, "--by", key, "--json"]) == 0
    (file,) = json.loads(capsys.readouterr().out)["files"]
    assert (file["by"], sum(group["bytes"] for group in file["groups"])) == (key, file["bytes"])


def test_two_files_are_compared(capsys):
    assert main(["sizes", *A, "--with", *B, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["paired_by"], facts["b"]["bytes"]) == ("etrecords", 19988)
    assert main(["sizes", *A, "--with", *B]) == 0
    assert "bytes by module" in capsys.readouterr().out


def test_the_record_of_one_side_is_used_for_the_other_if_it_matches(capsys):
    assert main(["sizes", *A, "--with", A[0], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["b"]["program"] == A[1]
    assert main(["sizes", *A, "--with", B[0], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["b"]["program"] is None


def test_each_side_needs_a_program_file(capsys):
    assert main(["sizes", *A, "--with", A[1]]) == 1
    assert "B needs one program file" in capsys.readouterr().err
    assert main(["sizes", A[1]]) == 1
    assert "no open file is a program file" in capsys.readouterr().err


def test_a_key_and_a_second_file_exclude_each_other(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["sizes", *A, "--by", "kind", "--with", *B])
    assert ended.value.code == 2
    assert "--by cannot be used with --with" in capsys.readouterr().err
