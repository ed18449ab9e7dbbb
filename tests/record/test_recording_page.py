"""What the help says about recording works: its Python is run, and the files it writes are opened.

What needs torch and executorch (the `peers` extra) is skipped elsewhere.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.workspaces import workspace_of
from viewer.formats import formats
from viewer.gui.window.help.pages import RECORDING, text_of
from viewer.model.trace import RunKind
from viewer.workspace.workspace import Workspace

NO_PEERS = "the extra `peers` is not installed"


def code(language: str, having: str) -> str:
    """The one piece of code on the page that uses a name."""
    (found,) = (
        text
        for text in re.findall(rf"```{language}\n(.*?)```", text_of(RECORDING), re.DOTALL)
        if having in text
    )
    return found


def run_in(folder: Path, *pieces: str) -> None:
    """Run Python in a process of its own, as somebody who pastes it does."""
    script = folder / "script.py"
    script.write_text("\n".join(pieces), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script.name], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


def test_every_format_that_opens_is_told_how_to_get():
    page = text_of(RECORDING).lower()
    words = {
        "Torq compile profile": "--torq-dump-profiling", "Torq runtime profile": "--torq_profile=",
        "Torq host profile": "--torq_profile_host", "Torq annotated profile": "torq profiles",
        "Inspector table": "save_data_to_tsv", "Profile CSV": "a csv from any tool",
        "Plain CSV": "plain csv", "QNN profile": "qnn-profile-viewer",
        "SNPE profile": "snpe-diagview", "LiteRT benchmark": "--enable_op_profiling=true",
        "Vela per-layer CSV": "per-layer.csv",
        "Nsight Systems report": "nsys stats",
    }  # fmt: skip
    for form in formats():
        assert words.get(form.name, form.name).lower() in page, form.name
    assert ".opscope" in page


def test_a_record_and_its_run_link_as_the_page_promises(tmp_path):
    pytest.importorskip("torch", reason=NO_PEERS)
    pytest.importorskip("executorch", reason=NO_PEERS)
    run_in(tmp_path, code("python", "generate_etrecord"))
    run_in(tmp_path, code("python", "enable_etdump"))
    workspace = workspace_of(tmp_path / "run.etdp")
    record = workspace.open(str(tmp_path / "model.etrecord"))
    (trace,) = workspace.traces
    assert [run.kind for run in trace.runs].count(RunKind.INFERENCE) == 5
    table = workspace.links(trace)
    assert table.program is record
    linked = {o.op for key in trace.slices.key.tolist() for o in table.operators(key)}
    assert {"linear", "relu", "cumsum"} <= linked
    assert workspace.warnings(trace) == []


def test_a_chrome_trace_of_pytorch_opens(tmp_path):
    pytest.importorskip("torch", reason=NO_PEERS)
    run_in(tmp_path, code("python", "export_chrome_trace"))
    workspace = Workspace()
    trace = workspace.open(str(tmp_path / "pytorch.json"))
    assert "aten::linear" in {trace.name(i) for i in range(len(trace.slices))}


def test_a_chrome_trace_of_viztracer_opens(tmp_path):
    pytest.importorskip("viztracer")
    (tmp_path / "script.py").write_text("def work():\n    return sum(range(9))\n\nwork()\n")
    words = code("sh", "viztracer").split()
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    trace = Workspace().open(str(tmp_path / "trace.json"))
    assert any("work" in trace.name(i) for i in range(len(trace.slices)))
