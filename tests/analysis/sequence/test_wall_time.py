"""Where the wall time is spent: parts that do not overlap, of any layout of inferences."""

from dataclasses import replace
from fractions import Fraction

import pytest

from tests.paths import DATA
from viewer.analysis.sequence.wall_time import TokenCount, tokens_of, wall_time
from viewer.analysis.summaries import wall_of
from viewer.formats import open_file
from viewer.model.inference_views import series_of
from viewer.reports.summary import course_lines, findings_facts, wall_text
from viewer.workspace.workspace import Workspace


def opened(path: str) -> Workspace:
    space = Workspace()
    space.add(open_file(str(DATA / path)))
    return space


@pytest.mark.parametrize("name", ["llm_200.etdp", "sus_steps.etdp", "encdec.etdp"])
def test_parts_add_up_from_the_end_of_the_load_to_the_last_inference(name: str) -> None:
    space = opened(f"phases/{name}")
    trace = space.traces[0]
    parts = {part.name: part.ticks for part in wall_of(space.links(trace))}
    last = max(run.end for run in trace.runs)
    first = min(run.start for run in trace.runs)
    own = sum(parts.values())
    loads = sum(run.end - run.start for run in trace.runs if not run.number)
    assert parts["Load"] == loads
    assert own <= last - first
    assert own >= 0.99 * (last - first)


def test_many_methods_are_one_part_that_says_so() -> None:
    trace = opened("phases/encdec.etdp").traces[0]
    runs = [
        replace(run, phase=f"phase {at % 9}", warms_up=False) for at, run in enumerate(trace.runs)
    ]
    many = replace(trace, runs=tuple(runs))
    names = {series_of(many, run): run.phase for run in many.inferences()}
    found = [part.name for part in wall_time(many, names)]
    assert "Inferences of several methods" in found
    assert not any(name.startswith("phase") for name in found)


def test_tokens_are_counted_over_the_inferences_that_state_them() -> None:
    runs = list(opened("logs/llama_logged.txt").traces[0].inferences())
    prefill = [run for run in runs if run.phase == "prefill"]
    assert tokens_of(prefill) == TokenCount(960, 19_200_000_000)
    assert TokenCount(960, 19_200_000_000).per_second(Fraction(1)) == 50
    assert tokens_of([replace(run, tokens=0) for run in runs]) is None


def test_a_log_of_a_runner_is_in_the_findings_of_scripts_and_people() -> None:
    (file,) = findings_facts(opened("logs/llama_log.txt"))["files"]
    figures = {
        one["phase"]: (one["p50_ns"], one["tokens"], one["tokens_per_second"], one["per_second"])
        for one in file["phases"]
    }
    assert figures == {
        "decode": (10_810_000_000, 40, pytest.approx(3.70028, abs=1e-5), None),
        "prefill": (9_600_000_000, 480, 50, None),
    }
    assert [(one["part"], one["ns"], one["idle"]) for one in file["wall_time"]] == [
        ("Load", 7_120_000_000, False),
        ("Before the first inference", 10_000_000, True),
        ("prefill", 9_600_000_000, False),
        ("decode without sampling", 10_808_000_000, False),
        ("Sampling", 2_000_000, False),
    ]
    assert course_lines(file) == [
        "decode: 10.810 s, 40 tokens, 3.7 per second",
        "prefill: 9.600 s, 480 tokens, 50 per second",
        "wall time: Load 7.120 s, Before the first inference 10.000 ms, prefill 9.600 s, "
        "decode without sampling 10.808 s, Sampling 2.000 ms",
    ]


def test_phases_that_a_file_states_are_not_decided_again() -> None:
    space = opened("logs/llama_logged.txt")
    trace = space.traces[0]
    phases = [run.phase for run in trace.inferences()]
    assert phases == ["prefill", "decode", "prefill", "decode"]
    assert space.phase_evidence(trace) == []


def test_one_part_is_no_text() -> None:
    trace = opened("logs/llama_log.txt").traces[0]
    bare = replace(trace, runs=tuple(replace(run, sampling=0) for run in trace.inferences()))
    only = replace(bare, runs=bare.runs[:1])
    assert wall_text(wall_time(only, {}), Fraction(1)) == ""
