"""A stranger adds a column: one `ColumnSpec` with its value, and every face includes it."""

import csv
import importlib.util
import json
import sys

import pytest
from pyarrow import parquet

import viewer
from tests.builders.command_line import run
from tests.builders.profiles import ATTENTION
from tests.builders.workspaces import export, workspace_of
from tests.paths import ROOT
from viewer.fleet import schemas
from viewer.fleet.rows import ProfileRows, arrow_table
from viewer.gui.panels.base.group_rows import group_contents
from viewer.gui.panels.base.table import ColumnKind
from viewer.tables.catalog import ANSWERS, TABLES
from viewer.tables.columns import ColumnSpec

sys.path.insert(0, str(ROOT / "packaging"))
import api_reference

sys.path.remove(str(ROOT / "packaging"))

pytestmark = pytest.mark.slow

NAME, TITLE = "letters", "Letters"
MEANING = "How many letters its name has"
# What a stranger writes, by table: the value is of a row of it.
NEW = {
    "operators": ColumnSpec(
        NAME, "Int64", MEANING, lambda row: len(row.operator.op), title=TITLE, lake=3
    ),
    "stats": ColumnSpec(NAME, "Int64", MEANING, lambda group: len(group.label), title=TITLE),
    "findings": ColumnSpec(NAME, "Int64", MEANING, lambda row: len(row.finding.title), lake=2),
    "inferences": ColumnSpec(NAME, "Int64", MEANING, lambda row: len(row.label)),
}
# What its name is made of, where the tables are compared.
NAMED = {"operators": "operator", "stats": "label", "findings": "title", "inferences": "label"}


@pytest.fixture(params=NEW)
def table(request, monkeypatch):
    """The name of a table with the new column, which is at its end."""
    name = request.param
    spec = (TABLES | ANSWERS)[name]
    columns = spec.columns
    object.__setattr__(spec, "columns", (*columns, NEW[name]))
    yield name
    object.__setattr__(spec, "columns", columns)


def started_again(module):
    """The module as the next process has it."""
    spec = importlib.util.find_spec(module.__name__)
    found = importlib.util.module_from_spec(spec)
    # Its classes look up their module.
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, module.__name__, found)
        spec.loader.exec_module(found)
    return found


def frame(table):
    """The table as a DataFrame."""
    profile = viewer.open(*ATTENTION)
    return profile.stats() if table == "stats" else getattr(profile, table)


def checked(rows, table):
    """Check the values of the column in rows of dicts."""
    assert rows
    assert [int(row[NAME]) for row in rows] == [len(row[NAMED[table]]) for row in rows]


def test_a_dataframe_and_arrow_have_it(table):
    found = frame(table)
    assert str(found[NAME].dtype) == "Int64"
    checked(found.to_dict("records"), table)
    if table != "stats":
        assert viewer.open(*ATTENTION).to_arrow(table)[NAME].to_pylist() == list(found[NAME])


def test_the_help_has_it(table):
    made = api_reference.pages()[ROOT / "resources" / "help" / "python.md"]
    section = made.partition(f"### {table}\n")[2].partition("\n### ")[0]
    assert f"| `{NAME}` | Int64 |  | {MEANING} |" in section


@pytest.mark.parametrize("table", ["stats", "findings", "inferences"], indirect=True)
def test_json_has_it(capsys, table):
    by = ("--by", "operator") if table == "stats" else ()
    command = "info" if table == "inferences" else table
    code, out, _ = run(capsys, command, *ATTENTION, *by, "--json")
    facts = json.loads(out)
    rows = facts["rows"] if table == "stats" else facts["files"][0][table]
    assert code == 0
    # Texts have plain spaces in JSON, each as long as those of the window.
    checked(rows, table)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
@pytest.mark.parametrize("table", ["stats", "operators"], indirect=True)
def test_exported_tables_have_it(tmp_path, table, suffix):
    workspace = workspace_of(*ATTENTION)
    out = tmp_path / f"table.{suffix}"
    export(workspace, str(out), table={"stats": "statistics"}.get(table, table))
    if suffix == "parquet":
        rows = parquet.read_table(out).to_pylist()
    else:
        with out.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, delimiter="," if suffix == "csv" else "\t"))
    rows = [row for row in rows if row[NAMED[table]] != "(no operator)"]
    checked(rows, table)


@pytest.mark.parametrize("table", ["stats"], indirect=True)
def test_texts_and_reports_have_it(capsys, tmp_path, table):
    _, out, _ = run(capsys, "stats", *ATTENTION, "--by", "operator")
    assert f"{TITLE}  " in out
    for suffix in ("html", "md"):
        report = tmp_path / f"report.{suffix}"
        assert run(capsys, "report", *ATTENTION, "-o", str(report))[0] == 0
        text = report.read_text(encoding="utf-8")
        assert f">{TITLE}</th>" in text or f" {TITLE} |" in text


@pytest.mark.parametrize("table", ["stats"], indirect=True)
def test_the_panel_of_groups_has_it(opened, table):
    shown = opened(*ATTENTION).traces[0]
    groups = shown.grouping.by("operator")
    contents = group_contents(shown, groups, "Operator")
    heading = contents.headings[-1]
    assert (heading.title, heading.tip, heading.kind) == (TITLE, f"{MEANING}.", ColumnKind.NUMBER)
    assert [row.keys[-1] for row in contents.rows] == [len(group.label) for group in groups.groups]
    assert contents.rows[0].texts[-1] == str(contents.rows[0].keys[-1])


@pytest.mark.parametrize("table", ["operators", "findings"], indirect=True)
def test_a_lake_has_it_in_the_next_schema(monkeypatch, table):
    lake = started_again(schemas).TABLES[table]
    assert (lake.columns[-1].name, schemas.lake_type(lake.columns[-1])) == (NAME, schemas.INT)
    assert lake.schema == NEW[table].lake
    page = (ROOT / "resources" / "help" / "fleets.md").read_text(encoding="utf-8")
    assert f"| `{NAME}` | int64 |  | {MEANING} |" in api_reference.tables_page(page, {table: lake})
    monkeypatch.setitem(schemas.TABLES, table, lake)
    workspace = workspace_of(*ATTENTION)
    rows = ProfileRows(workspace).of(table)
    checked(arrow_table(lake, [({"key": "k"}, rows)]).to_pylist(), table)
