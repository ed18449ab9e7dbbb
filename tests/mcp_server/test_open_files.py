"""Tools read the files that were named at start, and nothing else."""

import os
import shutil
from pathlib import Path

import pytest

from tests.builders.open_files import DUMP, OTHER, RECORD, answered, open_files, refused
from tests.paths import DATA
from viewer.mcp_server.limits import WrongArgument


@pytest.fixture(scope="module")
def opened():
    return open_files(DUMP, RECORD, OTHER)


def test_a_profile_has_its_path_and_its_file_name(opened):
    assert opened.profile(DUMP) is opened.profile("attn_xnnpack_x5.etdp")
    assert [one.trace.path for one in opened.chosen(OTHER)] == [OTHER]
    assert [trace.path for trace in opened.only(OTHER).traces] == [OTHER]
    assert [trace.path for trace in opened.workspace.traces] == [DUMP, OTHER]


def test_one_of_several_profiles_must_be_named(opened):
    with pytest.raises(WrongArgument, match="several profiles are open, name one: "):
        opened.profile(None)
    assert open_files(DUMP).profile(None).path == DUMP
    with pytest.raises(WrongArgument, match="no profile is open"):
        open_files(RECORD).profile(None)


def test_two_files_of_one_name_are_told_apart_by_their_paths(tmp_path):
    twin = str(tmp_path / Path(DUMP).name)
    shutil.copy(DUMP, twin)
    opened = open_files(DUMP, twin)
    assert opened.profile(twin).path == twin
    with pytest.raises(WrongArgument, match="2 open profiles are named"):
        opened.profile(Path(DUMP).name)


def test_no_other_path_is_read(opened, tmp_path, monkeypatch):
    """Not one that leads to an open file either: a name is compared as a text."""
    folder = os.path.dirname(DUMP)
    link = tmp_path / "link.etdp"
    link.symlink_to(DUMP)
    copied = tmp_path / "copied.etdp"
    shutil.copy(DUMP, copied)
    names = [
        str(link), str(copied), f"{folder}/../attention_xnnpack/{Path(DUMP).name}", "/etc/passwd",
        "../../etc/passwd", RECORD, f"file://{DUMP}", f"{DUMP}/", "~/.ssh/id_rsa", "C:\\x",
        "\x00", "//host/share/x.etdp",
    ]  # fmt: skip
    monkeypatch.setattr(os, "open", _never)
    monkeypatch.setattr("builtins.open", _never)
    monkeypatch.setattr(os, "stat", _never)
    message = "is not an open profile"
    for name in names:
        assert message in refused(opened, "summary", profile=name), name
        assert message in refused(opened, "search", query="x", profile=name), name
        assert message in refused(opened, "slice", number=0, profile=name), name
        assert message in refused(opened, "compare", a=[name], b=[DUMP]), name
        assert "records a source" in refused(opened, "source", file=name), name


def _never(*arguments: object, **options: object) -> None:
    raise AssertionError(f"a tool reads {arguments}")


def test_a_source_that_no_file_records_is_not_read(opened):
    """It is next to the samples, and would be found by its name."""
    beside = str(Path(OTHER).parent / "models.py")
    assert os.path.exists(beside)
    assert "no open file records a source" in refused(opened, "source", file=beside)


def test_a_record_cannot_name_a_file_of_another_kind(tmp_path):
    """The rules about sources that a profile names hold here, too."""
    secret = tmp_path / "passwords.txt"
    secret.write_text("secret")
    profile = tmp_path / "profile.csv"
    recorded = (DATA / "torq" / "compile_c3_taskid.csv").read_text()
    assert "tiny_cnn.mlir" in recorded
    profile.write_text(recorded.replace("tiny_cnn.mlir", str(secret)))
    opened = open_files(profile)
    assert str(secret) in opened.recorded_paths
    found = answered(opened, "source", file=str(secret), line=1)
    assert not {"lines", "shown_from"} & found.keys()
