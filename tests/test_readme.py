"""What the README shows must work: its CSV, its commands, its files."""

import ast
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from viewer import formats as formats_room
from viewer.cli import COMMANDS, main
from viewer.codecs.reading import UnreadableFile
from viewer.formats import format_of, formats, open_file
from viewer.gui.window.help.pages import headings_of, slug
from viewer.workspace.exports import EXPORT_SUFFIXES
from viewer.workspace.workspace import Workspace

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def python_with(name: str) -> str:
    """The Python of the README that uses a name."""
    return next(c for c in re.findall(r"```python\n(.*?)```", README, re.S) if name in c)


def csv_of_the_readme() -> str:
    return re.findall(r"```csv\n(.*?)```", README, re.S)[0]


def test_the_csv_of_the_readme_links_to_the_sample_record(tmp_path):
    (tmp_path / "mine.csv").write_text(csv_of_the_readme())
    workspace = Workspace()
    trace = workspace.open(str(tmp_path / "mine.csv"))
    workspace.open(str(ROOT / "resources/samples/delegate_handle_map/demo_str.etrecord"))
    (trace,) = workspace.traces
    table = workspace.links(trace)
    found = {
        trace.name(i): [o.op for o in table.operators(int(trace.slices.key[i]))]
        for i in range(len(trace.slices))
    }
    assert found == {"Method::execute": [], "conv+relu": ["convolution", "relu"], "tan": ["tan"]}
    assert len(list(trace.inferences())) == 2
    assert workspace.warnings(trace) == []


def test_every_command_suffix_and_format_is_told():
    for command in COMMANDS:
        assert f"`opscope {command} " in README
    for suffix in (".pftrace", ".pb", ".gz", ".csv", ".tsv"):
        assert f"`{suffix}`" in README
        assert any(suffix in known for known in EXPORT_SUFFIXES)
    for known in formats():
        assert f"| {known.name} |" in README


def test_the_debug_handle_map_of_the_readme_links_its_csv(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(python_with("DelegateMappingBuilder"), {})
    Path("mine.csv").write_text(csv_of_the_readme())
    assert main(["info", "mine.csv", "handles.json"]) == 0
    assert "4 of 4 linkable slices linked (100.0%, 100.0% of time)" in capsys.readouterr().out
    Path("by_hand.json").write_text(re.findall(r"```json\n(.*?)```", README, re.S)[0])
    assert main(["info", "by_hand.json"]) == 0
    assert "forward (3 operators)" in capsys.readouterr().out


def test_every_file_that_the_readme_names_is_there():
    for path in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / path).exists(), path
    headings = re.findall(r"\]\(resources/help/(\w+)\.md#([\w-]+)\)", README)
    assert len(headings) > 3
    for page, heading in headings:
        assert heading in map(slug, headings_of(page)), (page, heading)
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
    assert [o.op for o in found["sin:0;a=b"]] == [o.op for o in found["div"]] == ["tan"]
    assert [run.number for run in trace.inferences()] == [1, 2]
    assert workspace.warnings(trace) == []


def test_what_the_readme_registers_and_logs_fits_together(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(python_with("DelegateMappingBuilder"), {})
    exec(python_with("EventTracer"), {})
    assert main(["info", "run.etdp", "handles.json"]) == 0
    assert "agreement: 1.00 on 3 names compared" in capsys.readouterr().out


@pytest.fixture
def step_log(monkeypatch):
    """The format of the README's worked example, added as the README says."""
    name = "viewer.formats.step_log"
    module = ModuleType(name)
    exec(python_with("A step log"), module.__dict__)
    (line,) = ast.literal_eval("{" + python_with('"step_log":') + "}").items()
    monkeypatch.setitem(sys.modules, name, module)
    listed = {line[0]: line[1], **formats_room._FORMATS}
    monkeypatch.setattr(formats_room, "_FORMATS", listed)
    yield re.findall(r"```text\n(# steps.*?)```", README, re.S)[0]
    format_of.cache_clear()


def test_the_format_of_the_readme_opens_and_is_exported(step_log, tmp_path, capsys):
    path = tmp_path / "run.steps"
    path.write_text(step_log + "no step\n")
    trace = open_file(str(path))
    names = [trace.name(i) for i in range(len(trace.slices))]
    assert dict(zip(names, (trace.slices.end - trace.slices.start).tolist(), strict=True)) == {
        "conv1": 120, "relu1": 11, "conv2": 381,
    }  # fmt: skip
    assert [(p.kind, p.count) for p in trace.problems] == [("line that is no step: left out", 1)]
    assert main(["info", str(path)]) == 0
    assert "Step log" in capsys.readouterr().out
    assert main(["export", str(path), "-o", str(tmp_path / "out.csv")]) == 0
    assert (tmp_path / "out.csv").read_text().count("conv") == 2


def test_the_format_of_the_readme_refuses_what_it_cannot_read(step_log, tmp_path):
    path = tmp_path / "odd.steps"
    for text in ("# steps v1\n", "# steps v1\na 1 " + "9" * 400 + "\n", "# steps v1\n\xff\0"):
        path.write_bytes(text.encode("latin-1"))
        with pytest.raises(UnreadableFile, match="no step is in it"):
            open_file(str(path))


def test_the_first_screen_tells_what_it_is_and_how_to_start():
    first = "\n".join(README.splitlines()[:35])
    for wanted in ("ETDump", "Torq", "CSV", "Perfetto", "](packaging/screenshot.png)"):
        assert wanted in first
    assert "```sh\npackaging/run\n```" in first
