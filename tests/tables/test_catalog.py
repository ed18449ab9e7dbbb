"""The page *From Python* documents every column of every table, as the tables have them."""

import re

import pytest

from tests.builders.profiles import ATTENTION, CHROME, PROGRAM, TORQ, profile
from viewer.gui.window.help.pages import text_of
from viewer.tables.catalog import ANSWERS, TABLES

SECTION = re.compile(r"^### (\w+)\n(.*?)(?=^##)", re.M | re.S)
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| (.*?) ?\| (.*) \|$", re.M)


def test_the_page_lists_every_column():
    documented = {name: ROW.findall(text) for name, text in SECTION.findall(text_of("python"))}
    wanted = {
        name: [(one.name, one.dtype, one.unit, one.meaning) for one in table.columns]
        for name, table in (TABLES | ANSWERS).items()
    }
    assert documented == wanted


@pytest.mark.parametrize("files", [ATTENTION, TORQ, CHROME, PROGRAM, ATTENTION[:1], ATTENTION[1:]])
@pytest.mark.parametrize("table", TABLES)
def test_a_table_has_its_columns_and_dtypes(table, files):
    found = getattr(profile(files), table)
    dtypes = {name: str(dtype) for name, dtype in found.dtypes.items()}
    wanted = {spec.name: spec.dtype for spec in TABLES[table].columns}
    assert {name: dtypes.get(name) for name in wanted} == wanted
    if table != "slices":
        assert dtypes.keys() == wanted.keys()
