"""The habits of the repository: commit messages, hooks, forms of issues, how files look."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.paths import ROOT

GITHUB = ROOT / ".github"
FORMS = sorted(path for path in GITHUB.glob("ISSUE_TEMPLATE/*.yml") if path.stem != "config")
SCRIPT = ROOT / "packaging/commit_message.py"
# Files as tools wrote them: `.editorconfig` leaves them alone.
AS_WRITTEN = ("tests/data", "tests/snapshots", "resources/samples", "resources/fonts",
              "packaging/licenses")  # fmt: skip
TEXTS = (".py", ".md", ".toml", ".yml", ".yaml", ".xml", ".sh", ".js", ".css")


@pytest.fixture
def problems(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    import commit_message

    yield commit_message.problems
    del sys.modules["commit_message"]


@pytest.mark.parametrize(
    "message",
    [
        "chrome: delete the layouts readers",
        "gui/panels: process late answers\n\nThey were dropped.\n",
        "docs: need no network for help\n\n" + "word " * 15 + "\n# " + "comment " * 20,
        "bench: embed the table\n\n    " + "a line of output " * 8,
        "formats: fix links\n\nhttps://example.org/" + "a" * 90,
        "Merge branch 'main' into topic",
        'Revert "chrome: delete the layouts readers"',
        "fixup! chrome: delete the layouts readers",
    ],
)
def test_a_good_commit_message_passes(problems, message):
    assert problems(message) == []


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("# only a comment\n\n", "the subject is missing"),
        ("Chrome traces are faster", 'must be "area: verb object"'),
        ("chrome delete readers", 'must be "area: verb object"'),
        ("chrome: Delete readers", "lower case"),
        ("chrome: deletes readers", "imperative"),
        ("chrome: deleted readers", "imperative"),
        ("chrome: deleting readers", "imperative"),
        ("chrome: delete", "lacks an object"),
        ("chrome: delete readers; fix links", "two topics"),
        ("chrome: delete readers.", "period"),
        ("chrome: delete " + "x" * 60, "has 75 characters; at most 72"),
        ("chrome: delete readers\nat once", "must be blank"),
        ("chrome: delete readers\n\n" + "word " * 20, "line 3 is longer than 80"),
    ],
)
def test_a_wrong_commit_message_is_explained(problems, message, expected):
    (found,) = problems(message)
    assert expected in found


def test_the_script_exits_with_1_for_a_wrong_message(tmp_path):
    path = tmp_path / "message"
    for text, code in (("a: add b\n", 0), ("Adds b.\n", 1)):
        path.write_text(text)
        done = subprocess.run(
            [sys.executable, SCRIPT, path], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == code
        assert bool(done.stdout) == bool(code)


def test_hooks_use_the_tools_of_the_project_alone():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (repository,) = config["repos"]
    assert repository["repo"] == "local"
    hooks = {hook["id"]: hook for hook in repository["hooks"]}
    assert {"ruff-check", "ruff-format", "lint-imports", "commit-message"} == set(hooks)
    for hook in hooks.values():
        tool, *arguments = hook["entry"].split()
        assert hook["language"] == "system"
        assert tool.startswith(".venv/bin/")
        assert all((ROOT / each).is_file() for each in arguments if "/" in each)
    assert hooks["commit-message"]["stages"] == ["commit-msg"]
    assert set(config["default_install_hook_types"]) == {"pre-commit", "commit-msg"}


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_asks_for_what_a_reader_needs(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert all(form[key] for key in ("name", "description", "labels"))
    ids = [part["id"] for part in form["body"]]
    assert len(set(ids)) == len(ids)
    for part in form["body"]:
        assert part["type"] in ("textarea", "input", "checkboxes", "dropdown", "markdown")
        assert part["attributes"]["label"]
    required = {p["id"] for p in form["body"] if p.get("validations", {}).get("required")}
    assert required >= ({"sample"} if path.stem == "format" else {"info", "file", "version"})


def test_files_are_as_the_editor_is_told():
    """`.editorconfig` has what the files do."""
    wrong = []
    folders = (ROOT / name for name in ("viewer", "tests", "packaging", "resources", ".github"))
    paths = [path for folder in folders for path in folder.rglob("*") if path.suffix in TEXTS]
    assert len(paths) > 1000
    for path in paths:
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(AS_WRITTEN) or not path.is_file():
            continue
        data = path.read_bytes()
        if b"\r" in data or (data and not data.endswith(b"\n")) or re.search(rb"[ \t]\n", data):
            wrong.append(name)
    assert wrong == []
    config = (ROOT / ".editorconfig").read_text(encoding="utf-8")
    (left_alone,) = re.findall(r"^\[\{(.*)\}/\*\*\]$", config, re.MULTILINE)
    assert tuple(left_alone.split(",")) == AS_WRITTEN
    assert f"max_line_length = {_line_length()}" in config


def _line_length() -> str:
    text = Path(ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return re.search(r"^line-length = (\d+)$", text, re.MULTILINE)[1]
