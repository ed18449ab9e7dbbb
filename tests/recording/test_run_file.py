"""How a session ran, from the file next to its profile; others say nothing."""

import json

import pytest

from viewer.analysis.comparison.sessions import Conditions
from viewer.recording.run_file import SCHEMA, conditions_in, conditions_of

FACTS = {
    "schema": SCHEMA,
    "recording": "r",
    "order": 3,
    "started": "1970-01-01T00:01:00.500Z",
    "frequency_khz": 1_800_000,
    "before": {"temperature_c": 41.2, "temperature_of": "cpu"},
}


def test_what_is_stated(tmp_path):
    (tmp_path / "003.run.json").write_text(json.dumps(FACTS))
    expected = Conditions("r", 3, 60.5, 41.2, "cpu", 1_800_000.0)
    assert conditions_of(str(tmp_path / "003.etdp")) == expected


@pytest.mark.parametrize(
    "change",
    [
        {"order": None, "started": None, "frequency_khz": None, "before": None, "recording": None},
        {"order": 0, "started": "then", "frequency_khz": True, "before": [], "recording": ""},
        {"order": "3", "started": 5, "frequency_khz": "fast", "before": {"temperature_c": "warm"}},
        {"order": True, "started": "", "frequency_khz": float("nan"), "before": 7},
    ],
)
def test_what_is_not_known_stays_unknown(change):
    found = conditions_in({**FACTS, "recording": "", **change})
    assert found == Conditions()


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"schema": "other"}', "\xff", "[" * 9999])
def test_files_of_others(tmp_path, text):
    (tmp_path / "x.run.json").write_text(text, encoding="latin-1")
    assert conditions_of(str(tmp_path / "x.etdp")) == Conditions()
    assert conditions_of(str(tmp_path / "none.etdp")) == Conditions()


def test_a_file_that_is_too_large(tmp_path):
    (tmp_path / "x.run.json").write_text(json.dumps({**FACTS, "more": "x" * 70_000}))
    assert conditions_of(str(tmp_path / "x.etdp")) == Conditions()
