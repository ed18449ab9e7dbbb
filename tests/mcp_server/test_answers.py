"""The tools as functions: the same data as `--json`, with limited rows."""

import json

import pytest

from tests.builders.command_line import run
from tests.builders.compare_sessions import varied, write_sessions
from tests.builders.open_files import (
    DUMP,
    OTHER,
    RECORD,
    answered,
    as_answered,
    open_files,
    refused,
)
from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.formats import open_file
from viewer.mcp_server.limits import OpenFiles
from viewer.workspace.workspace import Workspace

PTE = DATA / "pte"
SHARES = (0.0, 0.004, 0.008, 0.002)  # of noise between sessions


@pytest.fixture(scope="module")
def opened():
    return open_files(DUMP, RECORD)


@pytest.fixture
def command(capsys):
    """The JSON of a command about the same files."""

    def facts(name: str, *arguments: str) -> dict:
        code, out, _ = run(capsys, name, DUMP, RECORD, *arguments, "--json")
        assert code == 0
        return json.loads(out)

    return facts


def test_files_are_those_of_info(opened, command):
    found, expected = answered(opened, "files"), as_answered(opened, command("info"))
    inferences = expected["files"][0].pop("inferences")
    in_short = found["files"][0].pop("inferences")
    assert {name: found[name] for name in expected} == expected
    assert (in_short["count"], in_short["first"]) == (len(inferences), inferences[0])
    assert (in_short["warm_up"], in_short["methods"]) == (1, ["forward"])
    assert not {"unreadable", "warnings"} & found.keys()
    assert "/home/user/models/models.py" in found["sources"]


def test_files_that_cannot_be_read_and_warnings_are_listed():
    workspace = workspace_of(DUMP, DATA / "etrecord" / "cnn_teal_xnnpack.etrecord")
    found = answered(OpenFiles(workspace, ["x.etdp: it is empty"]), "files")
    assert found["unreadable"] == ["x.etdp: it is empty"]
    assert "does not match" in found["warnings"][0]


def test_summary_has_the_figures_of_an_inference(opened):
    (file,) = answered(opened, "summary")["files"]
    assert file["median"] == {
        "inference": 5, "ns": 51607, "typical_ns": 51207, "inferences": 4
    }  # fmt: skip
    (one,) = answered(opened, "summary", inference=2)["files"]
    assert (one["inference"], one["whole_ns"]) == (2, 55212)
    assert "there is no inference 6" in refused(opened, "summary", inference=6)


def test_stats_are_those_of_the_command(opened, command):
    found, expected = (
        answered(opened, "stats", by="operator", limit=3),
        as_answered(opened, command("stats", "--by", "operator")),
    )
    assert found["rows"] == expected["rows"][:3]
    assert (found["total"], found["shown"]) == (len(expected["rows"]), 3)
    assert found["files"] == expected["files"]


def test_stats_of_one_inference_add_up_to_it(opened):
    found = answered(opened, "stats", by="operator", inference=2, limit=500)
    (file,) = found["files"]
    assert file["whole_ns"] == 55212
    assert sum(row["self_ns"] for row in found["rows"]) + file["ungrouped_ns"] == 55212
    assert {row["inference"] for row in found["rows"]} == {"forward · run 2 of 5"}


def test_stats_that_a_profile_does_not_have_say_which_it_has(opened):
    assert "The keys are operator, node, " in refused(opened, "stats", by="unit")


def test_several_profiles_have_rows_each():
    both = open_files(DUMP, OTHER)
    found = answered(both, "stats", by="name", limit=4)
    assert [row["file"] for row in found["rows"]] == ["p1", "p1", "p2", "p2"]
    assert found["handles"] == {"p1": DUMP, "p2": OTHER}
    (file,) = {row["file"] for row in answered(both, "stats", by="name", profile="p2")["rows"]}
    assert file == "p2"


def test_search_finds_slices_that_slice_explains(opened):
    found = answered(opened, "search", query="op:linear", order="duration", limit=2)
    assert (found["total"], found["shown"]) == (30, 2)
    times = [row["dur_ns"] for row in found["rows"]]
    assert times == sorted(times, reverse=True)
    first = found["rows"][0]
    whole = answered(opened, "slice", slice=first["handle"])
    assert whole == answered(opened, "slice", number=first["slice"], profile=DUMP)
    assert {name: whole[name] for name in first} == first
    assert whole["linked_operators"][0]["source"]["line"] == 48


def test_rows_of_a_search_keep_their_zeros(opened):
    rows = answered(opened, "search", query="method", order="start", limit=200)["rows"]
    assert {"slice", "depth", "start_ns", "dur_ns"} <= set.intersection(*map(set, rows))
    assert 0 in {row["depth"] for row in rows}


def test_a_slice_without_an_operator_says_why(opened):
    found = answered(opened, "search", query="unlinked", limit=1)["rows"][0]
    link = answered(opened, "slice", number=found["slice"])["link"]
    assert (link["state"], link["reason"]) == ("unlinked", "backend wrote no debug handle map")
    assert link["what_to_do"]


def test_a_wrong_query_says_what_is_wrong(opened):
    assert "this parenthesis is not closed" in refused(opened, "search", query="(conv")
    assert "the query is empty" in refused(opened, "search", query=" ")
    assert "Unknown field opp" in answered(opened, "search", query="opp:conv")["note"]


def test_findings_are_those_of_the_command(opened, command):
    found = answered(opened, "findings", limit=2)
    expected = as_answered(opened, command("findings"))
    (file,), (whole,) = found["files"], expected["files"]
    assert file == {**whole, "findings": whole["findings"][:2], "total": 7, "shown": 2}


def test_compare_proves_a_change_between_sessions(tmp_path):
    a = write_sessions(tmp_path, "a", *varied({"conv": 50_000, "add": 9_000}, SHARES))
    b = write_sessions(tmp_path, "b", *varied({"conv": 90_000, "add": 9_000}, SHARES))
    opened = open_files(*a, *b)
    found = answered(opened, "compare", a=[p.name for p in a], b=[str(p) for p in b], limit=1)
    assert (found["total"], found["shown"]) == (2, 1)
    (row,) = found["rows"]
    assert ("conv" in row["label"], row["verdict"]) == (True, "slower")
    assert row["change_ns"] == pytest.approx(40_000, rel=0.02)
    assert found["arms"]["a"]["sessions"] == 4


def test_compare_takes_inferences_of_one_profile(opened):
    found = answered(
        opened, "compare", a=[DUMP], b=[DUMP], a_inferences="1", b_inferences="2-5", limit=1
    )
    assert found["arms"]["a"]["choice"] == "inference 1"
    assert found["inference"]["reason"] == "one session"
    assert "is in both arms" in refused(opened, "compare", a=[DUMP], b=[DUMP], a_inferences="1")
    assert "a_inferences: 'x' is not" in refused(
        opened, "compare", a=[DUMP], b=[DUMP], a_inferences="x"
    )


def test_compare_says_which_arm_cannot_be_compared(opened):
    assert "arm b: there is no inference to compare" in refused(
        opened, "compare", a=[DUMP], b=[DUMP], a_inferences="1", b_inferences="9"
    )


def test_source_has_the_lines_around_the_most_expensive_one(opened):
    found = answered(opened, "source", around=2)
    assert (found["line"], found["shown"]) == (52, 5)
    assert found["lines"][2]["text"].strip().startswith("a = torch.nn.functional")
    assert found["lines"][2]["self_ns"] == 60_340
    assert [51, 52] in [one["lines"] for one in found["shared"]]
    named = answered(opened, "source", file="models.py", line=10, around=0)
    assert [line["line"] for line in named["lines"]] == [10]
    assert refused(opened, "source", line=3) == "a line needs a file"


def test_memory_has_the_largest_tensors_first():
    found = answered(open_files(PTE / "part_x.pte", PTE / "part_x.etrecord"), "memory", limit=2)
    (method,) = found["methods"]
    assert (method["peak_bytes"], method["total"], method["shown"]) == (1156, 11, 2)
    sizes = [row["bytes"] for row in method["tensors"]]
    assert sizes == sorted(sizes, reverse=True)
    assert "live" not in method


@pytest.mark.slow
def test_tools_answer_about_files_of_every_kind():
    """None fails because of an error in Opscope, whatever is open."""
    calls = {
        "files": {}, "summary": {}, "stats": {"by": "name"}, "findings": {}, "memory": {},
        "search": {"query": "dur >= 0ns", "limit": 3}, "slice": {"number": 0}, "source": {},
    }  # fmt: skip
    from viewer.mcp_server.server import answer
    from viewer.mcp_server.tools import TOOLS

    names = [
        "torq/compile_c3_taskid.csv", "torq/host_h1_quoted.csv", "torq/tiny_cnn.mlir",
        "chrome_json/torch_training.json.gz", "chrome_json/onnxruntime_profile.json",
        "etdump/SYN_qnn_like.etdp", "etdump/SYN_empty_runs.etdp", "pte/part_x.pte",
        "etrecord/cnn_teal_xnnpack.etrecord",
    ]  # fmt: skip
    for name in names:
        workspace = Workspace()
        workspace.add(open_file(str(DATA / name)))
        opened = OpenFiles(workspace)
        for tool in TOOLS:
            if tool.name in calls:
                text, _ = answer(opened, tool, calls[tool.name])
                assert "error in Opscope" not in text, (name, tool.name, text)


def test_a_query_has_the_rows_of_the_tables(opened):
    facts = answered(opened, "query", sql="SELECT name, dur_ns FROM slices ORDER BY id", limit=3)
    assert [column["name"] for column in facts["columns"]] == ["name", "dur_ns"]
    slices = opened.tables.slices
    assert facts["rows"] == slices[["name", "dur_ns"]][:3].to_numpy().tolist()
    assert (facts["total"], facts["shown"]) == (len(slices), 3)
    sql = "SELECT 'nan'::DOUBLE, [1, 2], DATE '2026-01-01'"
    (odd,) = answered(opened, "query", sql=sql)["rows"]
    assert odd == ["nan", "[1, 2]", "2026-01-01"]
    assert "one SELECT" in refused(opened, "query", sql="DROP VIEW slices")
    assert 'Referenced column "nam"' in refused(opened, "query", sql="SELECT nam FROM slices")


def test_the_schema_names_tables_columns_and_meanings(opened):
    facts = answered(opened, "schema")
    assert {"slices", "operators", "arguments"} <= set(facts["tables"])
    assert "meaning" not in facts["tables"]["slices"][0]
    (table,) = answered(opened, "schema", table="inferences")["tables"].values()
    assert {"name": "dur_ns", "type": "int64", "unit": "ns", "meaning": "Duration"} in table
    assert "no table x" in refused(opened, "schema", table="x")
