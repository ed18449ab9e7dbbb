"""Every kernel has the line and module that the emitter recorded when it made the program."""

import json
from collections import Counter

import numpy as np
import pytest

import viewer
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.linker import link
from viewer.analysis.statistics.grouping import Grouping
from viewer.formats import open_file
from viewer.model.trace import KeyKind

PACKAGE = "/opt/venv/lib/python3.11/site-packages/zoo/net.py"
OWN = "/home/user/models/tiny.py"


def linked(data, model: str) -> LinkTable:
    return link(*(open_file(str(data / "pte" / f"{model}.{end}")) for end in ("etdp", "etrecord")))


@pytest.mark.parametrize("model", ["et_zoo", "et_zoo_wrap", "et_keys"])
def test_lines_and_modules_are_those_of_the_nodes_that_were_emitted(data, model):
    table, compared = linked(data, model), 0
    truth = json.loads((data / "pte" / f"{model}.truth.json").read_text())["forward"]
    keys = table.trace.keys
    for key in np.flatnonzero(keys.kind == KeyKind.KERNEL).tolist():
        for node in table.nodes(key):
            emitted = truth[int(keys.instruction[key])]["nodes"]
            same = [one for one in emitted if one["name"] == node.name]
            assert [node.source.path, node.source.line] == same[0]["line"]
            assert node.module_path == same[0]["module"]
            compared += 1
    assert compared >= 9


def test_a_model_in_an_installed_package_is_the_source(data):
    groups = Grouping(linked(data, "et_zoo")).by("line").groups
    assert {g.label for g in groups if g.label != "(no source line)"} == {
        f"net.py:{line}" for line in (11, 12, 13, 25)
    }


def test_a_wrapper_of_the_users_is_where_the_package_was_called_from(data):
    table = linked(data, "et_zoo_wrap")
    lines, callers = Counter(), Counter()
    for key in table.trace.slices.key.tolist():
        for node in table.nodes(key):
            lines[node.source.path, node.source.line] += 1
            callers[node.caller and (node.caller.path, node.caller.line)] += 1
    of_net = {at: count for at, count in lines.items() if at[0] == PACKAGE}
    assert sum(of_net.values()) == 66
    assert {line for _, line in of_net} == {11, 12, 13, 25}
    assert {at for at in lines if at[0] == OWN} == {(OWN, 105)}
    assert callers == {(OWN, 104): 66, None: lines[OWN, 105]}


def test_time_by_caller_is_on_the_lines_of_the_users_files(data):
    grouping = Grouping(linked(data, "et_zoo_wrap"))
    lines = {g.label: g.self_ticks for g in grouping.by("line").groups}
    callers = {g.label: g.self_ticks for g in grouping.by("caller").groups}
    of_net = sum(ticks for label, ticks in lines.items() if label.startswith("net.py:"))
    assert callers["tiny.py:104"] == of_net > 0
    assert callers["tiny.py:105"] == lines["tiny.py:105"] > 0
    assert sum(callers.values()) == sum(lines.values())


@pytest.mark.parametrize(
    ("model", "key", "why"),
    [
        ("et_zoo", "caller", "No source line is in an installed package that your own files call"),
        ("et_keys", "caller", "No source line is in an installed package that your own files call"),
    ],
)
def test_the_key_is_missing_where_no_package_was_called(data, model, key, why):
    assert Grouping(linked(data, model)).missing(key) == why
    assert not Grouping(linked(data, model)).missing("line")


def test_tables_have_the_line_that_called_a_package(data):
    profile = viewer.open(*(data / "pte" / f"et_zoo_wrap.{end}" for end in ("etdp", "etrecord")))
    slices = profile.slices_with("source", "called_from")
    of_net = slices[slices["source"].astype("str").str.startswith(PACKAGE)]
    assert len(of_net) == 66
    assert set(of_net["called_from"]) == {f"{OWN}:104"}
    assert slices[slices["source"] == f"{OWN}:105"]["called_from"].isna().all()
    for table in (profile.operators, profile.nodes):
        known = table[table["source"].notna()]
        assert len(known) > 5
        assert (known["called_from"].notna() == (known["source"] != f"{OWN}:105")).all()
    assert list(profile.stats("caller")["key"]) == ["tiny.py:104", "tiny.py:105"]


@pytest.mark.parametrize("model", ["et_int8", "et_dynquant_x"])
def test_a_quantized_call_has_the_lines_of_its_own_nodes(data, model):
    """Its quantize and dequantize nodes have the debug handles and stacks of neighbors."""
    table, compared = linked(data, model), 0
    truth = json.loads((data / "pte" / f"{model}.truth.json").read_text())["forward"]
    keys = table.trace.keys
    for key in np.flatnonzero(keys.kind == KeyKind.DELEGATE_CALL).tolist():
        emitted = truth[int(keys.instruction[key])]["nodes"]
        nodes = table.nodes(key)
        assert {n.name for n in nodes} == {
            one["name"] for one in emitted if not one["name"].startswith("getitem")
        }
        assert {(n.source.path, n.source.line) for n in nodes if n.source} == {
            tuple(one["line"]) for one in emitted if one["line"]
        }
        compared += 1
    assert compared == 1
