"""`opscope report`: a page or Markdown, with one line for what goes wrong."""

from pathlib import Path

import pytest

from tests.analysis.comparison.test_comparison import BASE, NOISE
from tests.builders.compare_sessions import varied, write_sessions
from viewer.cli import main
from viewer.resources import SAMPLES

ATTENTION = SAMPLES[0].paths()


def test_a_page_is_written(tmp_path, capsys):
    out = tmp_path / "report.html"
    assert main(["report", *ATTENTION, "-o", str(out), "--title", "My <model>"]) == 0
    text = out.read_text(encoding="utf-8")
    assert "<h1>My &lt;model&gt;</h1>" in text
    assert capsys.readouterr() == ("", "")


def test_markdown_is_printed_or_written(tmp_path, capsys):
    assert main(["report", *ATTENTION, "--markdown"]) == 0
    printed = capsys.readouterr().out
    assert "**Findings**" in printed
    out = tmp_path / "report.md"
    assert main(["report", *ATTENTION, "-o", str(out)]) == 0
    assert out.read_text(encoding="utf-8") == printed


@pytest.mark.parametrize("form", ["html", "md"])
def test_two_arms_are_compared(tmp_path, form):
    a = write_sessions(tmp_path / "a", "a", *varied(BASE, NOISE))
    b = write_sessions(tmp_path / "b", "b", *varied({**BASE, "add.out": 26_000}, NOISE))
    out = tmp_path / f"report.{form}"
    assert main(["report", *map(str, a), "--with", *map(str, b), "-o", str(out)]) == 0
    assert "slower" in out.read_text(encoding="utf-8")


def test_an_arm_without_a_profile_is_one_line(tmp_path, capsys):
    out = tmp_path / "report.html"
    assert main(["report", ATTENTION[0], "--with", ATTENTION[1], "-o", str(out)]) == 1
    assert capsys.readouterr().err.startswith("opscope: arm B: ")
    assert not out.exists()


def test_what_cannot_be_written_is_one_line(tmp_path, capsys):
    out = tmp_path / "none" / "report.html"
    assert main(["report", ATTENTION[0], "-o", str(out)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"opscope: {out}: it cannot be written (No such file or directory)"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_one_line(tmp_path, capsys):
    out = tmp_path / "report.html"
    out.symlink_to("/dev/full")
    assert main(["report", ATTENTION[0], "-o", str(out)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"opscope: {out}: it cannot be written (No space left on device)"


@pytest.mark.parametrize(
    "arguments",
    [
        [ATTENTION[0]],
        [ATTENTION[0], "-o", "report.pdf"],
        [ATTENTION[0], "--markdown", "-o", "report.html"],
        [ATTENTION[0], "-o", ATTENTION[0]],
    ],
)
def test_wrong_usage(arguments, capsys):
    with pytest.raises(SystemExit) as usage:
        main(["report", *arguments])
    assert usage.value.code == 2
    assert "opscope report: error" in capsys.readouterr().err


def test_a_missing_file_is_said_and_others_are_reported(tmp_path, capsys):
    out = tmp_path / "report.html"
    assert main(["report", "none.etdp", ATTENTION[0], "-o", str(out)]) == 1
    assert "none.etdp" in capsys.readouterr().err
    assert out.exists()
