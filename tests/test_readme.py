"""What the README shows must work: its CSV, its commands, its files."""

import re
import shutil
from pathlib import Path

from viewer.cli import COMMANDS, main
from viewer.exporting import EXPORT_SUFFIXES
from viewer.formats import formats
from viewer.workspace import Workspace

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def python_with(name: str) -> str:
    """The Python of the README that uses a name."""
    return next(c for c in re.findall(r"```python\n(.*?)```", README, re.S) if name in c)


def test_the_csv_of_the_readme_links_to_the_sample_record(tmp_path):
    (tmp_path / "mine.csv").write_text(re.findall(r"```csv\n(.*?)```", README, re.S)[0])
    workspace = Workspace()
    trace = workspace.open(str(tmp_path / "mine.csv"))
    workspace.open(str(ROOT / "resources/samples/delegate_handle_map/demo_str.etrecord"))
    (trace,) = workspace.traces
    table = workspace.links(trace)
    found = {
        trace.name(i): [o.op for o in table.operators(int(trace.slices.key[i]))]
        for i in range(len(trace.slices))
    }
    assert found == {"conv+relu": ["convolution", "relu"], "tan": ["tan"]}
    assert workspace.warnings(trace) == []


def test_every_command_suffix_and_format_is_told():
    for command in COMMANDS:
        assert f"`opscope {command} " in README
    for suffix in (".pftrace", ".pb", ".gz", ".csv", ".tsv"):
        assert f"`{suffix}`" in README
        assert any(suffix in known for known in EXPORT_SUFFIXES)
    for known in formats():
        assert f"| {known.name} |" in README


def test_the_debug_handle_map_of_the_readme_links_a_csv(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(python_with("DelegateMappingBuilder"), {})
    rows = ["npu,0,Fancy Fusion,0,5", "npu,0,div,5,5"]
    Path("run.csv").write_text("\n".join(["process,thread,name,start_ns,dur_ns", *rows]))
    assert main(["info", "run.csv", "handles.json"]) == 0
    assert "2 of 2 linkable slices linked (100.0%, 100.0% of time)" in capsys.readouterr().out
    Path("by_hand.json").write_text(re.findall(r"```json\n(.*?)```", README, re.S)[0])
    assert main(["info", "by_hand.json"]) == 0
    assert "forward (3 operators)" in capsys.readouterr().out


def test_every_file_that_the_readme_names_is_there():
    for path in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / path).exists(), path
    for script in re.findall(r"```sh\n(packaging/\w+)", README):
        assert (ROOT / script).exists()


def test_the_python_of_the_readme_writes_a_trace(tmp_path, monkeypatch):
    shutil.copy(ROOT / "tests/data/torq/compile_c0_callsite.csv", tmp_path / "timeline.csv")
    monkeypatch.chdir(tmp_path)
    exec(python_with("TimeChartView"), {})
    assert (tmp_path / "trace.pb").stat().st_size > 1000


def test_the_delegate_that_the_readme_logs_is_linked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = (c for c in re.findall(r"```python\n(.*?)```", README, re.S) if "EventTracer" in c)
    exec(code, {})
    workspace = Workspace()
    workspace.open("run.etdp")
    workspace.open(str(ROOT / "tests/data/etrecord/demo_str.etrecord"))
    (trace,) = workspace.traces
    table = workspace.links(trace)
    found = {
        trace.name(i): table.operators(int(trace.slices.key[i])) for i in range(len(trace.slices))
    }
    assert [o.op for o in found["Fancy Fusion"]] == ["convolution", "relu"]
    assert [o.op for o in found["div"]] == ["tan"]
    assert workspace.warnings(trace) == []


def test_what_the_readme_registers_and_logs_fits_together(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(python_with("DelegateMappingBuilder"), {})
    exec(python_with("EventTracer"), {})
    assert main(["info", "run.etdp", "handles.json"]) == 0
    assert "agreement: 1.00 on 2 compared" in capsys.readouterr().out
