"""Python files are opened to be shown, and nothing else is taken for one."""

import pytest

from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.codecs.reading import UnreadableFile
from viewer.formats import choose, open_file
from viewer.formats.python_source import FORMAT, sniff
from viewer.formats.table.stated_columns import ColumnsNeeded
from viewer.model.trace import Trace
from viewer.resources import SAMPLES


@pytest.mark.parametrize(
    "text",
    [b"import torch\n", b"from torch import nn\n", b'"""Models."""\n', b"#!/usr/bin/env python3\n",
     b"# weights\n\nclass Net(nn.Module):\n", b"\xef\xbb\xbfimport torch\n", b"def f(x):\n",
     b"# weights\n#\n\n'''Models.'''\n", b'r"""Models."""\n'],
)  # fmt: skip
def test_what_begins_a_line_of_python(text):
    assert sniff(text)
    assert choose(text, "unknown").name == FORMAT.name


@pytest.mark.parametrize(
    "text", [b"a,b\n1,2\n", b"hello\n", b"\xff\xd8\xff import x\n", b"import torch\n\0", b""]
)
def test_what_is_no_python(text):
    assert not sniff(text)


def test_a_cell_that_begins_with_a_quote_is_no_docstring(tmp_path):
    table = tmp_path / "names.csv"
    table.write_text('name,start_us,dur_us\n"""a"" of b",1,2\nc,3,4\n')
    trace = open_file(str(table))
    assert isinstance(trace, Trace)
    assert [trace.name(i) for i in range(2)] == ['"a" of b', "c"]


STATEMENTS = ("import x", "from a import b", "def f(a)", "class A:", "@torch.compile", "#!python",
              '"""a"""', "\'\'\'a\'\'\'")  # fmt: skip


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("row", range(4))
def test_a_table_with_a_name_like_a_statement_is_no_python(statement, separator, row, tmp_path):
    """In the header or in a row."""
    cells = [["start_us", "dur_us"], ["0", "5"], ["5", "7"], ["12", "9"]]
    names = ["name", "a", "b", "c"]
    names[row] = statement
    meant = [name.replace('"""', '"') for name in names]  # a cell in quotes
    lines = [separator.join([name, *rest]) for name, rest in zip(names, cells, strict=True)]
    path = tmp_path / "unknown"
    path.write_text("\n".join([*lines, ""]))
    trace = open_file(str(path), columns="" if row else f"name={meant[0]}")
    assert [trace.name(i) for i in range(len(trace.slices))] == meant[1:]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_table_without_a_header_is_no_python(statement, tmp_path):
    path = tmp_path / "unknown"
    path.write_text(f"{statement},0,5\nb,5,7\n@c,12,9\n")
    with pytest.raises(ColumnsNeeded):
        open_file(str(path))


def test_python_with_rows_of_names_stays_python():
    words = b"words = (\n    'from', 'to', 'end',\n    'start', 'stop', 'dur',\n)\n"
    numbers = b"table = [\n    [1, 2, 3],\n    [4, 5, 6],\n    [7, 8, 9],\n]\n"
    for text in (words, numbers, words + numbers, b"name, start, dur = 1, 2, 3\n"):
        assert sniff(b"import x\n\n" + text)
        assert sniff(b"import a, b, c\n" + text)


def test_no_other_sample_is_taken_for_python():
    for path in DATA.rglob("*"):
        if path.is_file() and path.suffix != ".py":
            assert not sniff(path.read_bytes()[:4096]), path


def test_a_source_has_lines_and_neither_methods_nor_slices(tmp_path):
    path = tmp_path / "unknown"
    path.write_text("import torch\n\nclass Net:\n    pass\n")
    program = open_file(str(path))
    assert (program.methods, len(program.text_lines)) == ((), 4)


def test_an_endless_source_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("viewer.program.source_files.MAX_SOURCE", 8)
    path = tmp_path / "big.py"
    path.write_text("import torch\n")
    with pytest.raises(UnreadableFile, match="plain text"):
        open_file(str(path))


def test_an_opened_source_is_shown_for_the_path_that_was_recorded(tmp_path):
    sample = next(s for s in SAMPLES if s.key == "delegate_handle_map")
    mine = tmp_path / "elsewhere" / "models.py"
    mine.parent.mkdir()
    mine.write_text("import torch\n# mine\n")
    workspace = workspace_of(*[*sample.paths(), str(mine)])
    shown = workspace.source("/home/user/models/models.py")
    assert shown is not None
    assert (shown.shown, shown.line(2)) == (str(mine), "# mine")
    assert workspace.links(workspace.traces[0]).program is not None
    other = workspace.source("/home/user/models/other.py")
    assert other is None
