"""The files of a command line: what cannot be opened does not stop the others."""

import json

import pytest

from tests.builders.command_line import run
from tests.paths import DATA
from viewer.cli import main
from viewer.codecs.memory_budget import BUDGET
from viewer.view.sessions import opened_files

DUMP = str(DATA / "etdump" / "cnn_xnnpack_x10.etdp")


def test_an_error_that_no_reader_should_raise_is_one_line_and_the_other_files_are_read(
    monkeypatch, capsys
):
    opened = opened_files.open_file

    def fail_at_first(path, **given):
        if path == "bad.csv":
            raise IndexError("list index out of range")
        return opened(path, **given)

    monkeypatch.setattr(opened_files, "open_file", fail_at_first)
    assert main(["info", "bad.csv", DUMP]) == 1
    said = capsys.readouterr()
    (line,) = said.err.splitlines()
    assert line.startswith("opscope: bad.csv: internal error in Opscope (IndexError(")
    assert "cnn_xnnpack_x10.etdp" in said.out


TABLE = str(DATA / "table_csv" / "two_threads.csv")


def test_a_part_of_one_file_is_opened_and_says_so(capsys):
    assert main(["info", TABLE, DUMP, "--part", "two_threads.csv=50%", "--json"]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    (problem, *_) = next(one for one in files if one["path"].endswith(".csv"))["problems"]
    assert problem["kind"].startswith("Only the first 50% of the file (")
    assert not any(
        "Only the first" in one["kind"] for file in files[1:] for one in file["problems"]
    )


def test_a_format_without_parts_is_refused_with_the_remedy(capsys):
    assert main(["info", DUMP, "--part", "50%"]) == 1
    assert "the format ETDump cannot be opened in part. Open the whole file" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--part", "0%"], "'0%' is not a part: write it as 20%"),
        (["--part", "other.csv=5%"], "other.csv is not one of the files"),
        (["--max-memory", "much"], "'much' is not a size: write it as 512M, 2G or 50%"),
    ],
)
def test_wrong_options_are_usage_errors(options, said, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["info", TABLE, *options])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_the_limit_applies_to_the_process(monkeypatch):
    monkeypatch.setattr(BUDGET, "_limit", None)
    assert main(["info", TABLE, "--max-memory", "3G"]) == 0
    assert BUDGET._limit == 3_000_000_000


def test_an_export_of_a_file_with_nothing_to_show_writes_nothing(tmp_path, capsys):
    path, target = tmp_path / "empty.json", tmp_path / "out.pftrace"
    path.write_text('{"traceEvents": []}')
    code, _, error = run(capsys, "export", str(path), "-o", str(target))
    assert code == 1
    assert "empty.json: this Chrome trace has no event with a time" in error
    assert not target.exists()
