"""What the README and the pages it links to show must work: their code, commands and files."""

import ast
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.builders.workspaces import workspace_of
from viewer import formats as formats_room
from viewer.cli import COMMANDS, main
from viewer.codecs.reading import UnreadableFile
from viewer.formats import format_of, open_file, unregister_metadata_parser
from viewer.gui.window.help.pages import PAGES, headings_of, slug, text_of
from viewer.record import EventTracer
from viewer.workspace.exports import EXPORT_SUFFIXES
from viewer.workspace.workspace import Workspace

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = (
    "README.md", "viewer/README.md", "viewer/formats/README.md", "viewer/decisions/README.md",
    "packaging/README.md", "packaging/CHANGELOG.md", ".github/CONTRIBUTING.md",
    ".github/SECURITY.md", ".github/PULL_REQUEST_TEMPLATE.md",
)  # fmt: skip
HOW_TO_ADD_A_FORMAT = (ROOT / "viewer/formats/README.md").read_text(encoding="utf-8")


def code(language: str, text: str) -> list[str]:
    """The pieces of code in a Markdown text."""
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


def python_with(name: str, text: str) -> str:
    """The Python of a Markdown text that uses a name."""
    return next(piece for piece in code("python", text) if name in piece)


def csv_of_the_help() -> str:
    return code("csv", text_of("recording"))[0]


def test_the_csv_of_the_help_links_to_the_sample_record(tmp_path):
    (tmp_path / "mine.csv").write_text(csv_of_the_help())
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


def test_every_command_and_suffix_is_documented():
    commands = text_of("command_line")
    for command in COMMANDS:
        assert f"`opscope {command} " in commands
    for suffix in (".pftrace", ".pb", ".gz", ".csv", ".tsv", ".parquet"):
        assert f"`{suffix}`" in commands
        assert any(suffix in known for known in EXPORT_SUFFIXES)


def test_the_debug_handle_map_of_the_help_links_its_csv(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(python_with("DelegateMappingBuilder", text_of("delegates")), {})
    Path("mine.csv").write_text(csv_of_the_help())
    assert main(["info", "mine.csv", "handles.json"]) == 0
    assert "4 of 4 linkable slices (100.0%), 100.0% of linkable time" in capsys.readouterr().out
    Path("by_hand.json").write_text(code("json", text_of("delegates"))[0])
    assert main(["info", "by_hand.json"]) == 0
    assert "forward (3 operators)" in capsys.readouterr().out


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_that_a_document_links_to_exists(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    for link in re.findall(r"\]\((?!https:)([^)#:]+)", text):
        assert (ROOT / document).parent.joinpath(link).exists(), link
    for page, heading in re.findall(r"\]\(resources/help/(\w+)\.md#([\w-]+)\)", text):
        assert heading in map(slug, headings_of(page)), (page, heading)


def test_the_readme_is_short_and_names_scripts_that_exist():
    assert len(README.splitlines()) <= 150
    assert re.findall(r"\((packaging/\w+\.png)\)", README) == ["packaging/screenshot.png"]
    scripts = re.findall(r"\b(packaging/[a-z][\w-]+)(?= |$|`)", README, re.MULTILINE)
    assert {"packaging/run", "packaging/test", "packaging/build-wheel"} <= set(scripts)
    for script in scripts:
        assert (ROOT / script).is_file(), script


def test_every_general_page_of_the_help_is_reached_from_the_readme():
    """The pages of panels are reached from the first steps."""
    for page in PAGES:
        assert f"](resources/help/{page}.md" in README or f"]({page}.md)" in text_of("index"), page


def test_the_python_of_the_help_writes_a_perfetto_trace(tmp_path, monkeypatch):
    shutil.copy(ROOT / "tests/data/torq/compile_c0_callsite.csv", tmp_path / "timeline.csv")
    monkeypatch.chdir(tmp_path)
    exec(python_with("TimeChartView", text_of("migrating")), {})
    assert (tmp_path / "trace.pb").stat().st_size > 1000


def test_the_delegate_that_the_help_logs_is_linked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(python_with("EventTracer", text_of("delegates")), {})
    workspace = workspace_of("run.etdp", ROOT / "tests/data/etrecord/demo_str.etrecord")
    (trace,) = workspace.traces
    table = workspace.links(trace)
    found = {
        trace.name(i): table.operators(int(trace.slices.key[i])) for i in range(len(trace.slices))
    }
    assert [o.op for o in found["Fancy Fusion"]] == ["convolution", "relu"]
    assert [o.op for o in found["sin:0;a=b"]] == [o.op for o in found["div"]] == ["tan"]
    assert [run.number for run in trace.inferences()] == [1, 2]
    assert workspace.warnings(trace) == []


def test_what_the_help_registers_and_logs_fits_together(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(python_with("DelegateMappingBuilder", text_of("delegates")), {})
    exec(python_with("EventTracer", text_of("delegates")), {})
    assert main(["info", "run.etdp", "handles.json"]) == 0
    assert "match: 1.00, 3 names compared" in capsys.readouterr().out


@pytest.fixture
def step_log(monkeypatch):
    """The format of the worked example, added as the README of the formats says."""
    name = "viewer.formats.step_log"
    module = ModuleType(name)
    exec(python_with("A step log", HOW_TO_ADD_A_FORMAT), module.__dict__)
    entry = python_with('"step_log":', HOW_TO_ADD_A_FORMAT)
    (line,) = ast.literal_eval("{" + entry + "}").items()
    monkeypatch.setitem(sys.modules, name, module)
    listed = {line[0]: line[1], **formats_room._FORMATS}
    monkeypatch.setattr(formats_room, "_FORMATS", listed)
    yield code("text", HOW_TO_ADD_A_FORMAT)[0]
    format_of.cache_clear()


def test_the_format_of_the_example_opens_and_is_exported(step_log, tmp_path, capsys):
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


def test_the_format_of_the_example_refuses_what_it_cannot_read(step_log, tmp_path):
    path = tmp_path / "odd.steps"
    for text in ("# steps v1\n", "# steps v1\na 1 " + "9" * 400 + "\n", "# steps v1\n\xff\0"):
        path.write_bytes(text.encode("latin-1"))
        with pytest.raises(UnreadableFile, match="no step is in it"):
            open_file(str(path))


def test_a_metadata_parser_of_the_help_adds_a_column(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with (
        EventTracer("run.etdp") as tracer,
        tracer.create_event_block("Execute"),
        tracer.start_profiling("DELEGATE_CALL", chain_index=0, instruction_id=0),
        tracer.start_profiling_delegate("a") as entry,
    ):
        entry.metadata = b"\x07"
    names: dict[str, Any] = {}
    exec(python_with("register_metadata_parser", text_of("delegates")), names)
    unregister_metadata_parser(names["neutron"])
    assert "function_code" in names["trace"].slices.columns


def test_the_first_screen_shows_what_it_is_and_how_to_start():
    first = "\n".join(README.splitlines()[:35])
    for wanted in ("ETDump", "Torq", "CSV", "Perfetto", "](packaging/screenshot.png)"):
        assert wanted in first
    assert "```sh\npackaging/run\n```" in first
    assert "```sh\npackaging/test\n```" in README
