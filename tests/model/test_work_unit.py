"""The noun of a file for one pass of its work, in texts that are written for inferences."""

import html
import json
import re

import pytest

from tests.builders.chrome_cases import slice_event
from tests.paths import DATA
from viewer.cli import main
from viewer.formats import open_file
from viewer.model.trace_attributes import INFERENCE, STEP, WorkUnit, common_unit, unit_of_series

TRAINING = str(DATA / "chrome_json" / "torch_training.json.gz")
_WORD = re.compile(r"\binferences?\b|\brun [0-9]", re.IGNORECASE)
# Keys, options and values that scripts know by these names.
_NAMES = re.compile(
    r'"[a-z_]*inferences?[a-z_]*"|--[a-z-]*inferences?|the inference"|"\(no inference\)"'
)
TEXTS = (
    ("info",),
    ("findings",),
    ("calls", "--inference", "2"),
    ("stats", "--by", "name", "--per", "inference"),
    ("stats", "--by", "inference"),
    ("stats", "--by", "phase"),
    ("stats", "--by", "module", "--inference", "2"),
    ("compare", "--inferences", "1", "--with-inferences", "2-5"),
)


@pytest.mark.parametrize(
    ("noun", "text", "worded"),
    [
        ("step", "All inferences, aligned", "All steps, aligned"),
        ("step", "An inference; an inference", "A step; a step"),
        ("iteration", "an inference of Inferences", "an iteration of Iterations"),
        ("step", "--inference_2 and inference", "--inference_2 and step"),
        ("inference", "an inference", "an inference"),
    ],
)
def test_a_text_takes_the_noun_of_a_file(noun, text, worded):
    assert WorkUnit(noun).worded(text) == worded


@pytest.mark.parametrize(
    ("series", "noun"),
    [("ProfilerStep", "step"), ("Iteration", "iteration"), ("iter", "iteration"),
     ("frame", "frame"), ("Execute", "inference"), ("model_run", "inference"), ("", "inference")],
)  # fmt: skip
def test_the_name_of_runs_decides_the_noun(series, noun):
    unit = unit_of_series(series)
    assert (unit.noun, unit.plural) == (noun, f"{noun}s")
    assert unit.label == ("run" if noun == "inference" else noun)


def test_decode_phases_have_steps():
    assert INFERENCE.in_phase("forward, decode") == INFERENCE.in_phase("decode") == STEP
    assert INFERENCE.in_phase("prefill") == INFERENCE
    assert WorkUnit("iteration").in_phase("") == WorkUnit("iteration")


def test_several_files_have_a_noun_if_they_agree():
    assert common_unit([STEP, STEP]) == STEP
    assert common_unit([STEP, INFERENCE]) == common_unit([]) == INFERENCE


def test_tables_of_layers_call_inferences_as_their_heading_does(tmp_path):
    path = tmp_path / "layers.csv"
    rows = [f"{i},conv_{n},{n + 1}.5" for i in range(3) for n in range(4)]
    for heading, noun in (("iteration", "iteration"), ("frame", "frame"), ("run", "inference")):
        path.write_text("\n".join([f"{heading},layer,time (ms)", *rows]))
        assert open_file(str(path)).unit.noun == noun


@pytest.mark.slow
@pytest.mark.parametrize("is_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize("arguments", TEXTS, ids=" ".join)
def test_no_text_about_steps_has_inferences(capsys, arguments, is_json):
    command, *options = arguments
    files = [TRAINING, "--with", TRAINING] if command == "compare" else [TRAINING]
    assert main([command, *files, *options, *(["--json"] if is_json else [])]) == 0
    printed = _NAMES.sub("", capsys.readouterr().out)
    assert not _WORD.findall(printed)


@pytest.mark.slow
def test_no_report_about_steps_has_inferences(tmp_path, capsys):
    path = tmp_path / "report.html"
    assert main(["report", TRAINING, "-o", str(path)]) == 0
    page = re.sub(r"<(script|style).*?</\1>", "", path.read_text(), flags=re.DOTALL)
    text = html.unescape(re.sub(r"<[^>]*>", " ", page))
    assert "5 steps" in text
    assert not _WORD.findall(text)


@pytest.mark.slow
def test_names_in_the_file_keep_the_word(tmp_path, capsys):
    path = tmp_path / "inference.json"
    events = [slice_event(f"ProfilerStep#{i}", 100 * i, 90, cat="user_annotation") for i in (1, 2)]
    events += [slice_event("an inference", 100 * i + 5, 50) for i in (1, 2)]
    path.write_text(json.dumps(events))
    main(["stats", str(path), "--by", "name", "--per", "inference"])
    printed = capsys.readouterr().out
    assert "inference.json" in printed
    assert "an inference" in printed
    assert "2 steps" in printed or "mean of 2" in printed
