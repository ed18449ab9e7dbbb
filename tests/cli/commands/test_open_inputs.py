"""The files of a command line: what cannot be opened does not stop the others."""

from tests.paths import DATA
from viewer.cli.main import main
from viewer.workspace import workspace

DUMP = str(DATA / "etdump" / "cnn_xnnpack_x10.etdp")


def test_an_error_that_no_reader_should_raise_is_one_line_and_the_other_files_are_read(
    monkeypatch, capsys
):
    opened = workspace.open_file

    def fail_at_first(path, *given):
        if path == "bad.csv":
            raise IndexError("list index out of range")
        return opened(path, *given)

    monkeypatch.setattr(workspace, "open_file", fail_at_first)
    assert main(["info", "bad.csv", DUMP]) == 1
    said = capsys.readouterr()
    (line,) = said.err.splitlines()
    assert line.startswith("opscope: bad.csv: internal error in Opscope (IndexError(")
    assert "cnn_xnnpack_x10.etdp" in said.out
