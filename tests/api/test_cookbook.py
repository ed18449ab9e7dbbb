"""The cookbook, a notebook that users copy from, runs on the samples."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from viewer.resources import resource

COOKBOOK = resource("help", "cookbook.ipynb")
# In a process of its own: Jupyter starts event loops and warns about them.
EXECUTE = """
import sys, nbformat
from nbclient import NotebookClient
book = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(book, timeout=120, resources={"metadata": {"path": sys.argv[2]}}).execute()
nbformat.write(book, sys.argv[3])
"""


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """The cells of the executed notebook."""
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    out = tmp_path_factory.mktemp("cookbook") / "out.ipynb"
    root = Path(__file__).parents[2]
    run = subprocess.run(
        [sys.executable, "-c", EXECUTE, str(COOKBOOK), str(root), str(out)],
        capture_output=True, text=True, timeout=600
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(out.read_text(encoding="utf-8"))["cells"]


def outputs(cells, start):
    """The outputs of the code cell that contains a text, by media type."""
    (cell,) = (c for c in cells if c["cell_type"] == "code" and start in "".join(c["source"]))
    return [
        {"text": "".join(one["text"])}
        if "text" in one
        else {name: "".join(value) for name, value in one["data"].items()}
        for one in cell["outputs"]
    ]


@pytest.mark.slow
def test_every_cell_runs_and_shows_something(executed):
    code = [cell for cell in executed if cell["cell_type"] == "code"]
    assert len(code) >= 12
    silent = ["".join(cell["source"]) for cell in code if not cell["outputs"]]
    assert silent == []


@pytest.mark.slow
def test_a_profile_is_shown_with_a_picture_and_without_script(executed):
    (shown,) = outputs(executed, "viewer.open(")
    assert "51.607" in shown["text/html"]
    assert "<svg" in shown["text/html"]
    assert "<script" not in shown["text/html"]


@pytest.mark.slow
def test_the_answers_are_those_of_the_files(executed):
    assert "115072" in outputs(executed, '"warm_up"]]')[0]["text/plain"]
    unlinked = outputs(executed, "link_reason")[0]["text/plain"]
    assert "backend wrote no debug handle map" in unlinked
    assert "270" in unlinked
    assert outputs(executed, "to_perfetto")[-1]["text/plain"] == "['report.html', 'run.pftrace']"
    assert "1 + 1; 3 + 3 needed" in outputs(executed, "viewer.compare(")[0]["text"]


def test_it_is_stored_without_outputs():
    for cell in json.loads(COOKBOOK.read_text(encoding="utf-8"))["cells"]:
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None
