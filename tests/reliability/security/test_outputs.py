"""What a spreadsheet or a browser would run in an export."""

import pytest

from tests.reliability.security.outputs import faults_of, is_formula, svg_faults

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("cell", ["=1", "+cmd", "-a", "@SUM(1)", "\t=1", " =1", "＝1", "\u200b=1"])
def test_formulas(cell):
    assert is_formula(cell)


@pytest.mark.parametrize("cell", ["", "-5", "+1.5e3", "'=1", "conv", "a=1"])
def test_other_cells(cell):
    assert not is_formula(cell)


@pytest.mark.parametrize(
    "inner",
    ["<script>x</script>", "<g onload='x'/>", "<a href='x'/>", "<g a='JavaScript:x'/>", "\x08"],
)
def test_active_parts_of_a_picture(inner):
    assert svg_faults(f"<svg>{inner}</svg>") != []


def test_a_plain_picture():
    assert svg_faults("<svg><text x='1'>&lt;script&gt;</text></svg>") == []


def test_files_by_their_suffix(tmp_path):
    table, text = tmp_path / "a.csv", tmp_path / "a.txt"
    table.write_text('name,value\n"=1",-5\n')
    text.write_text("a\x1b[31m")
    assert faults_of(table) == ["formula '=1'"]
    assert faults_of(text) == ["escape '\\x1b'"]
