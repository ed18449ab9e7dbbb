"""The page *From Python* documents every column of every table, as the tables have them."""

import re

import pytest

from tests.builders.profiles import ATTENTION, CHROME, PROGRAM, TORQ, profile
from viewer.api.schema import ANSWERS, SLICES, TABLES
from viewer.export.tables.slices import COLUMNS
from viewer.gui.window.help.pages import text_of

SECTION = re.compile(r"^### (\w+)\n(.*?)(?=^##)", re.M | re.S)
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| (.*?) ?\| (.*) \|$", re.M)


def test_the_page_lists_every_column():
    documented = {name: ROW.findall(text) for name, text in SECTION.findall(text_of("python"))}
    wanted = {
        name: [(one.name, one.dtype, one.unit, one.meaning) for one in specs]
        for name, specs in (TABLES | ANSWERS).items()
    }
    assert documented == wanted


def test_the_columns_of_slices_are_those_of_the_exported_table():
    assert tuple(spec.name for spec in SLICES) == COLUMNS


@pytest.mark.parametrize("files", [ATTENTION, TORQ, CHROME, PROGRAM, ATTENTION[:1], ATTENTION[1:]])
@pytest.mark.parametrize("table", TABLES)
def test_a_table_has_its_columns_and_dtypes(table, files):
    found = getattr(profile(files), table)
    dtypes = {name: str(dtype) for name, dtype in found.dtypes.items()}
    wanted = {spec.name: spec.dtype for spec in TABLES[table]}
    assert {name: dtypes.get(name) for name in wanted} == wanted
    if table != "slices":
        assert dtypes.keys() == wanted.keys()
