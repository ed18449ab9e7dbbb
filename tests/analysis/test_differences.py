"""What differs between two program files, as rows."""

import pytest

from tests.builders.pte_writer import DELEGATE, KERNEL, Method, write_program
from tests.paths import DATA
from viewer.analysis.program_differences import Row, program_differences
from viewer.analysis.sizes.file_parts import file_parts
from viewer.formats import open_file

FILES = DATA / "pte"
TABLES = ("methods", "instructions", "kernels", "delegates", "nodes", "memory", "kinds",
          "operators", "modules")  # fmt: skip


def real(name):
    return file_parts(
        open_file(str(FILES / f"{name}.pte")), open_file(str(FILES / f"{name}.etrecord"))
    )


def written(path, *methods, **given):
    return file_parts(open_file(str(write_program(path, *methods, **given))))


@pytest.mark.parametrize("name", ["part_x", "multi3", "quant_p"])
def test_a_file_does_not_differ_from_itself(name):
    found = program_differences(real(name), real(name))
    for table in TABLES:
        assert all(row.a == row.b and not row.label_b for row in getattr(found, table)), table


@pytest.mark.parametrize("table", ["kinds", "operators"])
@pytest.mark.parametrize("names", [("part_x", "mobile_x"), ("multi3", "llama"), ("cond", "custom")])
def test_the_bytes_of_both_files_are_in_the_rows(names, table):
    a, b = map(real, names)
    rows = getattr(program_differences(a, b), table)
    assert sum(row.a or 0 for row in rows) == a.size
    assert sum(row.b or 0 for row in rows) == b.size


def test_what_one_file_alone_has_has_no_number_on_the_other_side(tmp_path):
    operators = (("aten::add", "out"), ("aten::mul", "out"))
    a = written(
        tmp_path / "a.pte",
        Method(instructions=[(KERNEL, 0, []), (KERNEL, 0, []), (KERNEL, 1, [])],
               operators=operators, memories=[0, 64]),
    )  # fmt: skip
    b = written(
        tmp_path / "b.pte",
        Method(instructions=[(KERNEL, 0, []), (DELEGATE, 0, [])], operators=operators,
               delegates=[("Own", True, 0)], memories=[0, 96]),
        segments=[bytes(10)],
    )  # fmt: skip
    found = program_differences(a, b)
    assert found.kernels == (Row("aten::add.out", 2, 1), Row("aten::mul.out", 1, None))
    assert found.delegates == (Row("Own", None, 1),)
    assert found.instructions == (Row("kernel call", 3, 1), Row("delegate call", None, 1))
    assert found.methods == (Row("forward", 3, 2),)
    assert found.memory == (Row("forward · peak", 0, 0), Row("forward · arena", 64, 96))
    assert found.modules == ()


def test_methods_without_a_partner_are_in_one_file_only(tmp_path):
    a = written(tmp_path / "a.pte", Method(name="encode"), Method(name="decode"))
    b = written(tmp_path / "b.pte", Method(name="decode"))
    assert program_differences(a, b).methods == (Row("encode", 0, None), Row("decode", 0, 0))


def test_methods_of_other_names_are_shown_with_both(tmp_path):
    a = written(tmp_path / "a.pte", Method(name="forward", memories=[0, 8]))
    b = written(tmp_path / "b.pte", Method(name="run", memories=[0, 9]))
    assert program_differences(a, b).memory[1] == Row("forward · arena", 8, 9, "run · arena")


def test_modules_have_the_bytes_of_both():
    rows = program_differences(real("mobile_x"), real("part_x")).modules
    of_label = {row.label: row for row in rows}
    assert of_label["stem"].a == 896
    assert of_label["stem"].b is None
