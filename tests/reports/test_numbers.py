"""What `opscope numbers` says, as data and as text."""

import json

import numpy as np
import pytest

from tests.builders.logged_runs import LoggedRun, floats
from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.analysis.numbers.compared import compared, paired_runs
from viewer.formats.executorch.logged_profile import logged_profile
from viewer.reports.numbers import (
    GapReport,
    gap_text,
    reference_facts,
    values_facts,
    values_text,
)

FOLDER = DATA / "numbers"


def opened(path, *more):
    workspace = workspace_of(*more)
    return logged_profile(workspace.links(workspace.open(str(path))))


def real(name):
    return opened(FOLDER / f"{name}.etdp", FOLDER / f"{name}.etrecord")


def gap(profile, reference):
    report = GapReport(profile, reference_facts(reference.table.trace.path, "profile"))
    (one,), (other,) = profile.chosen(None), reference.chosen(None)
    pairs = paired_runs(profile.side(one), reference.side(other))
    report.add(one, compared(pairs, profile.table.program), other)
    return report.facts()


@pytest.fixture(scope="module")
def values():
    return values_facts([real("xnnpack")])


@pytest.fixture(scope="module")
def gaps():
    return gap(real("xnnpack"), real("portable"))


def test_values_have_their_place_and_their_figures(values):
    first, second = values["rows"][:2]
    assert (first["label"], first["handles"]) == ("XnnpackBackend · 4 ops", [1, 2, 3, 4])
    assert (first["number"], first["is_result"], second["is_result"]) == (0, False, True)
    assert (second["dtype"], second["shape"], second["bytes"]) == ("f32", [1, 16, 8], 512)
    stored = np.fromfile(FOLDER / "xnnpack.bin", "<f4", 128, offset=second["offset"])
    assert (second["min"], second["max"]) == (stored.min(), stored.max())
    assert second["mean"] == pytest.approx(stored.astype(float).mean())
    assert sum(second["histogram"]) == 128
    assert values["files"] == [
        {"path": str(FOLDER / "xnnpack.etdp"), "buffer": str(FOLDER / "xnnpack.bin")}
    ]


def test_values_as_text(values):
    lines = values_text(values).splitlines()
    assert lines[0] == "xnnpack.etdp · forward inference 1 · debug buffer xnnpack.bin"
    assert lines[3].startswith("  XnnpackBackend · 4 ops [0] argument  f32 1 × 3 × 4 × 4")
    assert lines[5].startswith("  norm · layer_norm [0]")


def test_the_gap_has_a_row_per_value(gaps):
    assert (gaps["compared"], len(gaps["rows"])) == (11, 11)
    row = gaps["rows"][0]
    assert (row["label"], row["label_with"]) == ("XnnpackBackend · 4 ops", "transpose")
    assert row["mse"] > 0
    assert row["snr"] == pytest.approx(-20 * np.log10(row["error"]))
    assert (row["nan"], row["inf"], row["exact"]) == (0, 0, False)
    assert gaps["grows_most"]["label"] == "XnnpackBackend · 4 ops"
    json.dumps(gaps, allow_nan=False)


def test_the_gap_as_text(gaps):
    lines = gap_text(gaps).splitlines()
    assert lines[:2] == [
        "xnnpack.etdp · forward inference 1 · debug buffer xnnpack.bin",
        "with portable.etdp as the reference · inference 1",
    ]
    assert "11 values compared" in lines
    assert any(line.startswith("the error starts at XnnpackBackend · 4 ops: ") for line in lines)


def test_what_is_not_known_is_null_and_problems_are_counted(tmp_path):
    a, b = LoggedRun(), LoggedRun()
    a.inference(
        ("a.out", [floats(1, np.nan)]), ("b.out", [floats(1, np.inf)]), ("c.out", [floats(1, 2)]),
        ("d.out", [floats(0)]), ("e.out", [floats(2)]), ("lost.out", [floats(7)]),
    )  # fmt: skip
    b.inference(
        ("a.out", [floats(1, 2)]), ("b.out", [floats(1, 2)]), ("c.out", [floats(1, 2, 3)]),
        ("d.out", [floats(0)]), ("e.out", [floats(1)]), ("f.out", [floats(3)]),
    )  # fmt: skip
    path, buffer = a.write(tmp_path, "a")
    with open(buffer, "r+b") as file:
        file.truncate(82)
    facts = gap(opened(path), opened(b.write(tmp_path, "b")[0]))
    rows = {row["label"]: row for row in facts["rows"]}
    assert (rows["a.out"]["nan"], rows["a.out"]["mse"]) == (1, 2.0)
    assert (rows["b.out"]["inf"], rows["b.out"]["mse"], rows["b.out"]["max_abs"]) == (1, None, None)
    assert (rows["c.out"]["fault"], rows["c.out"]["mse"]) == ("the shapes differ", None)
    assert (rows["d.out"]["exact"], rows["d.out"]["snr"]) == (True, None)
    assert facts["problems"] == ["the shapes differ"]
    text = gap_text(facts)
    assert "1 NaN" in text
    assert "only in the profile: lost.out" in text
    assert "only in the reference: f.out" in text
    assert "the error grows most" in text or "the error starts at" in text
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts

    values = values_facts([opened(path)])
    assert values["problems"] == ["tensor outside its buffer"]
    assert values["rows"][-1]["min"] is None
    assert "tensor outside its buffer" in values_text(values)


def test_an_error_that_grows_is_named(tmp_path):
    a, b = LoggedRun(), LoggedRun()
    errors = {"a": 0.0, "b": 1e-4, "c": 4e-3}
    a.inference(*((f"{name}.out", [floats(1 + e, 1)]) for name, e in errors.items()))
    b.inference(*((f"{n}.out", [floats(1, 1)]) for n in "abc"))
    facts = gap(opened(a.write(tmp_path, "a")[0]), opened(b.write(tmp_path, "b")[0]))
    assert facts["grows_most"]["growth"] == pytest.approx(40, rel=1e-3)
    assert "the error grows most at c.out: 40 ×, from 7.072e-05 to 0.002828 of the signal" in (
        gap_text(facts)
    )


def test_equal_values_are_said_to_be(tmp_path):
    run = LoggedRun()
    run.inference(("a.out", [floats(1, 2)]))
    path, _ = run.write(tmp_path)
    text = gap_text(gap(opened(path), opened(path)))
    assert "1 value compared, all are equal" in text


def test_long_tables_are_cut(tmp_path):
    a, b = LoggedRun(), LoggedRun()
    a.inference(*((f"k{i}.out", [floats(i + 1)]) for i in range(60)))
    b.inference(*((f"k{i}.out", [floats(i + 1 + (i == 57))]) for i in range(60)))
    profile = opened(a.write(tmp_path, "a")[0])
    text = values_text(values_facts([profile]))
    assert "and 20 rows (--all prints all)" in text
    assert "k59.out" in values_text(values_facts([profile]), everything=True)
    facts = gap(profile, opened(b.write(tmp_path, "b")[0]))
    assert "k57.out" in gap_text(facts)
    assert "k59.out" not in gap_text(facts)
    assert "k59.out" in gap_text(facts, everything=True)
