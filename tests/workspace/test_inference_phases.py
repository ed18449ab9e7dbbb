"""Phases that the user chooses, and whether input sizes can vary."""

from pathlib import Path

import pytest

from tests.paths import DATA
from viewer.api.opening import open as opened
from viewer.view.sessions.option_texts import OptionTexts
from viewer.view.sessions.session_file import choices_of, kept_choices
from viewer.workspace.link_choices import apply
from viewer.workspace.workspace import Workspace

LLM = str(DATA / "phases" / "llm_200.etdp")
PTE = DATA / "pte"


def phases(workspace: Workspace) -> list[str]:
    return [run.phase for run in workspace.traces[0].inferences()]


def workspace_of(*files: Path | str, phases: tuple[str, ...] = ()) -> Workspace:
    workspace = Workspace()
    for file in files:
        workspace.open(str(file))
    choices = OptionTexts(phases=phases).choices([])
    assert choices is None or apply(choices, workspace) == []
    return workspace


def test_a_language_model_has_prefill_and_decode() -> None:
    workspace = workspace_of(LLM)
    assert phases(workspace) == ["prefill", *["decode"] * 200]
    assert workspace.phase_evidence(workspace.traces[0])


def test_phases_are_named_split_and_merged() -> None:
    named = workspace_of(LLM, phases=("Execute:1=prompt", "Execute:2-51=early"))
    assert phases(named) == ["prompt", *["early"] * 50, *["decode"] * 150]
    assert named.phase_evidence(named.traces[0]) == []
    merged = workspace_of(LLM, phases=("Execute=",))
    assert phases(merged) == [""] * 201
    assert [run.number for run in merged.traces[0].inferences() if run.warms_up] == [1, 2, 3]


@pytest.mark.parametrize("text", ["Nothing:1=a", "Execute:999=a"])
def test_wrong_phases_are_refused(text: str) -> None:
    workspace = workspace_of(LLM)
    choices = OptionTexts(phases=(text,)).choices([])
    assert choices is not None
    (complaint,) = apply(choices, workspace)
    assert complaint.startswith(f"--phases {text}: ")


def test_an_option_without_inferences_is_wrong_usage() -> None:
    with pytest.raises(ValueError, match="--phases prefill: write it as"):
        OptionTexts(phases=("prefill",)).choices([])


def test_a_session_keeps_chosen_phases() -> None:
    workspace = workspace_of(LLM, phases=("Execute:1=prompt", "Execute:2-201="))
    saved = kept_choices(workspace, [LLM])
    again = workspace_of(LLM)
    assert apply(choices_of(saved, [LLM]), again) == []
    assert phases(again) == phases(workspace) == ["prompt", *[""] * 200]


def test_python_takes_phases() -> None:
    profile = opened(LLM, phases={"Execute:1": "prompt"})
    assert profile.inferences["index"].tolist()[:2] == [1, 2]


def test_a_program_file_shows_whether_sizes_vary() -> None:
    for name, vary in (("dyn_x", True), ("mobile_x", False)):
        workspace = workspace_of(PTE / f"{name}.etdp", PTE / f"{name}.pte")
        trace = workspace.traces[0]
        scope = next(trace.inferences()).scope
        assert workspace._has_dynamic_sizes(trace, scope) is vary
