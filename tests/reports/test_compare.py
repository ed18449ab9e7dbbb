"""The data of a comparison: its form is a contract for scripts."""

import json

import pytest

from tests.analysis.comparison.test_comparison import BASE, sessions
from tests.analysis.comparison.test_rows import arms
from tests.builders.compare_sessions import arm, write_session
from tests.paths import DATA
from viewer.analysis.comparison.arms import Noise
from viewer.analysis.comparison.comparison import Comparison
from viewer.codecs.reading import UnreadableFile
from viewer.reports.compare import compare_facts, noise_facts, read_noise


@pytest.fixture
def slower(tmp_path):
    a = sessions(tmp_path, "a", BASE)
    return Comparison(a, sessions(tmp_path, "b", {**BASE, "add.out": 26_000}))


def test_the_form_of_a_comparison(slower):
    facts = json.loads(json.dumps(compare_facts(slower, ["B: a warning"])))
    assert list(facts) == [
        "schema", "method", "arms", "inference", "detectable", "waterfall", "rows", "pairing",
        "problems",
    ]  # fmt: skip
    assert facts["schema"] == "opscope-compare/1"
    assert facts["arms"]["a"]["runs"] == [9, 9, 9, 9]
    assert facts["problems"] == ["B: a warning"]
    (row,) = [row for row in facts["rows"] if row["label"] == "add.out"]
    assert row["verdict"] == "slower"
    assert row["reason"] is None
    assert row["a"] == {
        "handles": [], "instructions": [[None, 1]], "event": None, "ns": row["a"]["ns"],
        "sessions": row["a"]["sessions"],
    }  # fmt: skip
    assert row["change_ns"] == row["b"]["ns"] - row["a"]["ns"]
    assert row["change"] == pytest.approx(row["b"]["ns"] / row["a"]["ns"] - 1, abs=1e-4)
    assert len(row["b"]["sessions"]) == 4


def test_times_are_whole_ns_and_the_waterfall_adds_up_exactly():
    for edit in ("06_portable_vs_xnnpack", "12_wrapped"):
        facts = compare_facts(Comparison(*arms(edit)))
        fall = facts["waterfall"]
        *parts, total = fall.values()
        assert all(isinstance(part, int) for part in fall.values())
        assert sum(parts) == total == facts["inference"]["b_ns"]


def test_handles_and_methods_are_those_of_the_record():
    facts = compare_facts(Comparison(*arms("16_methods_swapped")))
    row = facts["rows"][0]
    assert row["a"]["handles"] == ["encode:1"]
    assert row["a"]["instructions"] == [["encode", 0], ["encode", 1]]
    assert ["decode:4", "decode:4", "same"] in facts["pairing"]["pairs"]
    assert facts["pairing"]["only_a"] == facts["pairing"]["only_b"] == []


def test_what_is_only_in_b_has_no_side_in_a():
    facts = compare_facts(Comparison(*arms("12_wrapped")))
    assert len(facts["pairing"]["only_b"]) == 3
    only = [row for row in facts["rows"] if row["a"] is None]
    assert len(only) == 3
    assert {(row["grade"], row["verdict"], row["reason"]) for row in only} == {
        ("only_b", "cannot_tell", "only in one arm")
    }


def test_every_row_and_the_inference_have_a_drift(tmp_path):
    times = {"add.out": [20_000] * 8 + [30_000] * 4, "mul.out": [30_000] * 12}
    one = arm(write_session(tmp_path / "a.etdp", times))
    facts = compare_facts(Comparison(one, one))
    assert [(row["drift"], row["note"]) for row in facts["rows"]] == [
        (0.5, "drift within sessions"), (0, None)
    ]  # fmt: skip
    assert facts["inference"]["drift"] == pytest.approx(10 / 54, abs=1e-6)


def test_relative_times_are_stated_and_the_waterfall_adds_up(slower):
    relative = Comparison(slower.a, slower.b, relative=True)
    facts = compare_facts(relative)
    assert facts["method"]["times"] == "relative to the inference"
    assert facts["method"]["common_factor"] == pytest.approx(1 + slower.inference.change, abs=1e-5)
    *parts, total = facts["waterfall"].values()
    assert sum(parts) == total
    assert compare_facts(slower)["method"]["times"] == "absolute"
    assert compare_facts(slower)["waterfall"]["common_ns"] == 0


def test_different_clocks_have_no_difference_and_no_waterfall():
    estimated, measured = (
        arm(DATA / "torq" / f"{name}.csv")
        for name in ("compile_c2_actionindex_callsite", "host_h4_latest")
    )
    facts = compare_facts(Comparison(estimated, measured))
    assert facts["waterfall"] is None
    assert facts["method"]["common_factor"] is None
    one = facts["inference"]
    assert (one["change_ns"], one["change"], one["reason"]) == (None, None, "different clocks")


NOISE = Noise(7, 0.06, {"convolution": 0.02})


def test_what_is_written_is_read_back(tmp_path):
    path = tmp_path / "noise.json"
    facts = noise_facts(NOISE, [str(tmp_path)])
    path.write_text(json.dumps(facts))
    assert read_noise(str(path)) == NOISE
    (date,) = facts["dates"]
    assert len(date) == len("2026-11-24")


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", "1e999",
        json.dumps(noise_facts(NOISE, []) | {"schema": "opscope-noise/9"}),
        json.dumps(noise_facts(NOISE, []) | {"sessions": 1}),
        json.dumps(noise_facts(NOISE, []) | {"types": {"a": -1.0}}),
        json.dumps(noise_facts(NOISE, []) | {"types": {"a": "x"}}),
    ],
)  # fmt: skip
def test_other_files_are_refused_with_what_to_do(tmp_path, text):
    path = tmp_path / "noise.json"
    path.write_text(text)
    with pytest.raises(UnreadableFile, match=r"not the noise of a device.*compare --null"):
        read_noise(str(path))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UnreadableFile, match="No such file"):
        read_noise(str(tmp_path / "noise.json"))
