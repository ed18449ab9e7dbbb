"""Inferences per second of wall time in the arms of a comparison."""

import json

import pytest

from tests.paths import DATA
from viewer.cli import main


def compared(capsys, a: str, b: str, *options: str) -> str:
    main(["compare", str(DATA / a), "--with", str(DATA / b), *options])
    return capsys.readouterr().out


LLM, STEPS = "phases/llm_200.etdp", "phases/sus_steps.etdp"


def test_arms_have_the_rate_and_the_time_between_their_inferences(capsys):
    arms = json.loads(compared(capsys, LLM, STEPS, "--json"))["arms"]
    for arm in arms.values():
        busy = (1 - arm["idle_share"]) * 1e9 / arm["per_second"]
        idle = arm["idle_share"] * 1e9 / arm["per_second"]
        assert idle == pytest.approx(arm["gap_ns"], rel=0.001)
        assert busy > idle
    assert (arms["a"]["gap_ns"], arms["b"]["gap_ns"]) == (1_500_000, 5_000_000)
    assert arms["a"]["idle_share"] == pytest.approx(0.218, abs=0.001)


def test_a_good_part_between_inferences_is_in_the_text(capsys):
    text = compared(capsys, LLM, LLM)
    assert "Wall time: 145.4 → 145.4 inferences per second; 1.500 ms → 1.500 ms" in text


def test_two_methods_have_no_rate_together(capsys):
    name = "phases/encdec.etdp"
    arms = json.loads(compared(capsys, name, name, "--json"))["arms"]
    assert arms["a"]["per_second"] is None
    assert "Wall time" not in compared(capsys, name, name)
