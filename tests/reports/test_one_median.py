"""Every face prints the median of `statistics.median`: of 1, 2, 3, 4 and 25 inferences."""

import json
import statistics
from math import floor

import numpy as np
import pytest

import viewer
from tests.builders.command_line import run
from tests.builders.etdump_writer import Run, framework, operator, write_dump
from viewer.gui.panels.details.sections import spread_text
from viewer.model.times import format_time, plain_spaces
from viewer.model.warm_up import counted_inferences
from viewer.reports.summary import summary_facts
from viewer.workspace.workspace import Workspace

COUNTS = (1, 2, 3, 4, 25)


def dump_of(path, methods):
    """A dump whose inferences have a call of their own length. methods: their lengths, in ticks.

    Each method is loaded, and has a kernel of its own, by which they are told apart.
    """
    blocks, at = [], 0
    for method, lengths in enumerate(methods):
        blocks.append(Run("Default", [framework("Program::load_method", at, at + 500)]))
        at += 1000
        for length in lengths:
            kernel = f"native_call_{('relu', 'gelu')[method]}.out"
            own = [
                operator(kernel, 0, at, at + length),
                operator("OPERATOR_CALL", 0, at, at + length),
            ]
            blocks.append(Run("Execute", [*own, framework("Method::execute", at, at + length)]))
            at += length + 1000
    return write_dump(path, blocks)


def lengths_of(count, seed):
    return np.random.default_rng(seed).integers(2_000, 90_000_000, count).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("count", COUNTS)
def test_all_faces_print_the_same_median(tmp_path, capsys, count):
    lengths = lengths_of(count, count)
    path = str(dump_of(tmp_path / "a.etdp", [lengths]))
    space = Workspace()
    trace = space.open(path)
    steady = [one.end - one.start for one in counted_inferences(trace, warm_up=False)]
    every, after = floor(statistics.median(lengths)), floor(statistics.median(steady))

    rows = json.loads(run(capsys, "stats", "--by", "name", "--json", path)[1])["rows"]
    assert {row["p50_ns"] for row in rows if "load" not in row["label"]} == {every}
    printed = plain_spaces(format_time(every))
    lines = run(capsys, "stats", "--by", "name", path)[1].splitlines()
    assert any(printed in line for line in lines if line.endswith("Method::execute"))
    frame = viewer.open(path).stats("name").set_index("label")
    assert frame["p50_ns"]["Method::execute"] == every

    compared = json.loads(run(capsys, "compare", path, "--with", path, "--json")[1])
    assert compared["inference"]["a_ns"] == round(statistics.median(steady))
    runs = list(trace.inferences())
    spread = plain_spaces(spread_text(runs, [one.end - one.start for one in runs]))
    assert f"p50 {plain_spaces(format_time(statistics.median(steady)))} " in spread

    code, out, _ = run(capsys, "report", "--markdown", path)
    assert code == 0
    if count > 1:
        assert f"median of {len(steady)} inferences: **{plain_spaces(format_time(after))}**" in out
        assert f"slowest inference: **{plain_spaces(format_time(max(lengths)))}**" in out
        (file,) = summary_facts(space)["files"]
        assert file["median"]["ns"] == after
        middle = statistics.median(steady)
        nearest = min(abs(one - middle) for one in steady)
        assert abs(file["median"]["typical_ns"] - middle) == nearest


@pytest.mark.slow
@pytest.mark.parametrize("counts", [(3, 60), (1, 4), (2, 25)])
def test_methods_share_no_median_and_the_slowest_is_that_of_all(tmp_path, capsys, counts):
    methods = [lengths_of(counts[0], 1), [length // 50 for length in lengths_of(counts[1], 2)]]
    path = str(dump_of(tmp_path / "a.etdp", methods))
    trace = Workspace().open(path)
    _, out, _ = run(capsys, "report", "--markdown", path)
    for scope, count in enumerate(counts):
        steady = [
            one.end - one.start
            for one in counted_inferences(trace, warm_up=False)
            if one.scope == scope
        ]
        printed = plain_spaces(format_time(floor(statistics.median(steady))))
        what = f"median of {len(steady)} inferences of" if count > 1 else "the inference of"
        assert f"{what} Execute {scope + 1}: **{printed}**" in out
    longest = max(max(lengths) for lengths in methods)
    assert f"slowest inference: **{plain_spaces(format_time(longest))}**" in out
    assert "inferences: **" not in out.replace("inferences of", "")
