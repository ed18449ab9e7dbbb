"""Every list of rows that a command prints with --json is a table of the Python API."""

import json
import math

import pandas as pd
import pytest

import viewer
from tests.builders.command_line import run
from tests.builders.profiles import ATTENTION, CHROME, PROGRAM, TORQ, profile
from tests.paths import DATA


def answer(capsys, *arguments):
    """What a command prints with --json."""
    code, out, _ = run(capsys, *arguments, "--json")
    assert code == 0
    return json.loads(out)


def records(frame, without=()):
    """The rows of a table without its missing values, as JSON has them."""
    rows = frame.drop(columns=list(without)).to_dict("records")
    return [{name: value for name, value in row.items() if not missing(value)} for row in rows]


def missing(value):
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def known(rows):
    """The rows of JSON without nulls."""
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


FILES = pytest.mark.parametrize("files", [ATTENTION, TORQ, CHROME, PROGRAM])


@FILES
def test_info(capsys, files):
    found, made = answer(capsys, "info", *files), profile(files)
    assert made.info() == found
    for table in ("inferences", "problems"):
        rows = [row for file in found["files"] for row in file[table]]
        assert records(getattr(made, table), ["file"]) == known(rows)
    assert records(made.links) == known(found["links"])


@pytest.mark.parametrize(
    ("files", "by"),
    [
        (ATTENTION, "operator"),
        (ATTENTION, "module"),
        (ATTENTION, "line"),
        (ATTENTION, "inference"),
        (TORQ, "unit"),
        (TORQ, "operator"),
        (CHROME, "name"),
        (CHROME, "thread"),
    ],
)
def test_stats(capsys, files, by):
    rows = answer(capsys, "stats", *files, "--by", by)["rows"]
    assert rows
    assert records(profile(files).stats(by)) == known(rows)


def test_stats_of_an_inference_and_of_a_range(capsys):
    rows = answer(capsys, "stats", *ATTENTION, "--by", "operator", "--inference", "2")["rows"]
    assert rows
    assert records(profile().stats("operator", inference=2)) == known(rows)
    rows = answer(capsys, "stats", *ATTENTION, "--by", "name", "--range", "0:1ms")["rows"]
    assert records(profile().stats("name", span=(0, 1_000_000))) == known(rows)


@pytest.mark.parametrize("files", [ATTENTION, CHROME])
def test_calls(capsys, files):
    rows = answer(capsys, "calls", *files)["rows"]
    assert records(profile(files).calls()) == known(rows)
    rows = answer(capsys, "calls", *files, "--bottom-up", "--depth", "2", "--min", "1")["rows"]
    found = profile(files).calls(bottom_up=True, depth=2, min_percent=1)
    assert records(found) == known(rows)


@FILES
def test_findings(capsys, files):
    found = answer(capsys, "findings", *files)
    rows = [row for file in found["files"] for row in file["findings"]]
    assert records(profile(files).findings, ["file"]) == known(rows)


@pytest.mark.parametrize("files", [ATTENTION, TORQ])
def test_delegation(capsys, files):
    found, made = answer(capsys, "delegation", *files), profile(files).delegation()
    assert json.loads(made.to_json()) == found
    for table in ("delegates", "stayed_outside", "unlinked", "handle_map"):
        rows = [row for file in found["files"] for row in file[table]]
        assert records(getattr(made, table), ["file"] if rows else []) == known(rows)
    heads = [{k: v for k, v in file.items() if not isinstance(v, list)} for file in found["files"]]
    assert records(made.files) == known(heads)


def test_memory(capsys):
    found, made = answer(capsys, "memory", *PROGRAM), profile(PROGRAM).memory()
    rows = [row for method in found["methods"] for row in method["tensors"]]
    assert rows
    assert records(made.tensors, ["file", "method"]) == known(rows)
    own = [{k: v for k, v in one.items() if k != "tensors"} for one in found["methods"]]
    assert records(made.methods) == known(own)


def test_sizes(capsys):
    found, made = answer(capsys, "sizes", *PROGRAM, "--by", "kind"), profile(PROGRAM).sizes("kind")
    assert records(made.parts) == known(found["parts"])
    rows = [row for file in found["files"] for row in file["groups"]]
    assert rows
    assert records(made.groups, ["file"]) == known(rows)
    rows = [row for file in found["files"] for row in file["duplicates"]["groups"]]
    assert records(made.duplicates, ["file"] if rows else []) == known(rows)


def test_estimates(capsys):
    found, made = answer(capsys, "estimates", *TORQ), profile(TORQ).estimates()
    assert found["actions"]
    for table in ("actions", "operators", "sources"):
        assert records(made.tables[table]) == known(found[table])


def test_numbers(capsys):
    dump = str(DATA / "numbers" / "portable.etdp")
    found = answer(capsys, "numbers", dump)
    assert found["rows"]
    assert records(viewer.open(dump).numbers().rows) == known(found["rows"])


@pytest.mark.parametrize("by", ["operator", "name", "inference"])
def test_compare(capsys, by):
    a, b = (str(DATA / "etdump" / f"attn_{kind}_x5.etdp") for kind in ("portable", "xnnpack"))
    found = answer(capsys, "compare", a, "--with", b, "--by", by)
    made = viewer.compare(a, b, by)
    assert json.loads(made.to_json()) == found
    assert records(made.table, ["a_ns", "b_ns"]) == known(found["rows"])
    assert made.verdict == found["inference"]["verdict"]
