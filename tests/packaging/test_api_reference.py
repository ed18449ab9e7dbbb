"""The page about the Python API: made from docstrings that say all that a caller must know."""

import builtins
import importlib
import inspect
import re
import sys
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from tests.paths import ROOT
from viewer.codecs.atomic_file import NothingToExport
from viewer.codecs.reading import ReadCancelled, UnreadableFile
from viewer.fleet.profile_lake import NoDuckDB, UnusableLake, WrongQuery

sys.path.insert(0, str(ROOT / "packaging"))
import api_reference

sys.path.remove(str(ROOT / "packaging"))

MODULES = dict(api_reference.documented())
ITEMS = [(module, item) for module, items in MODULES.items() for item in items]
FUNCTIONS = [pair for pair in ITEMS if not pair[1].is_class and not pair[1].is_property]
CLASSES = [pair for pair in ITEMS if pair[1].is_class]
ERRORS = {
    error.__name__: error
    for error in (
        NoDuckDB, NothingToExport, ReadCancelled, UnreadableFile, UnusableLake, WrongQuery
    )
}  # fmt: skip
# What has the names, the files or the output of other tools: it says where these are defined.
OF_OTHERS = {
    "EventTracer", "DelegateMappingBuilder", "TimeChartView", "csv_to_view_compile_profile",
    "csv_to_view_runtime_profile", "convert_to_perfetto", "run", "register_metadata_parser",
}  # fmt: skip


def name_of(value: Any) -> str:
    return value.name if isinstance(value, api_reference.Documented) else str(value)


@pytest.mark.parametrize(("path", "made"), api_reference.pages().items(), ids=name_of)
def test_a_page_is_made_from_docstrings_and_tables(path, made):
    """If not, run `python packaging/api_reference.py`."""
    assert path.read_text(encoding="utf-8") == made


@pytest.mark.parametrize(("module", "item"), FUNCTIONS, ids=name_of)
def test_a_function_documents_its_arguments_and_its_result(module, item):
    docstring = item.docstring
    assert docstring.text[0].endswith((".", "?"))
    names = [parameter.name for parameter in item.parameters()]
    assert list(docstring.entries.get("Args", {})) == names
    assert all(p.annotation is not p.empty for p in item.parameters())
    returns_nothing = item.result == "None"
    assert ("Returns" in docstring.prose) is not returns_nothing
    texts = (*docstring.entries.get("Args", {}).values(), docstring.prose.get("Returns", "."))
    assert [text for text in texts if not text.endswith(".")] == []


@pytest.mark.parametrize(("module", "item"), FUNCTIONS, ids=name_of)
def test_a_function_names_real_errors(module, item):
    for name, text in item.docstring.entries.get("Raises", {}).items():
        error = ERRORS.get(name) or getattr(builtins, name, None)
        assert inspect.isclass(error), name
        assert issubclass(error, Exception)
        assert text.endswith(".")


@pytest.mark.parametrize(("module", "item"), CLASSES, ids=name_of)
def test_a_class_documents_its_fields(module, item):
    docstring = item.docstring
    assert "Args" not in docstring.entries
    if is_dataclass(item.item):
        names = [each.name for each in fields(item.item)]
        assert list(docstring.entries["Attributes"]) == names
    members = [each for _, each in ITEMS if each.name.startswith(f"{item.name}.")]
    documented = {each.name.rpartition(".")[2] for each in members if each.docstring.text}
    public = {
        name
        for base in item.item.__mro__
        if base.__module__.startswith("viewer.")
        for name, value in vars(base).items()
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property))
    }
    assert public <= documented


def test_what_stems_from_other_tools_says_where_it_is_defined():
    stated = {item.name for _, item in ITEMS if "Source" in item.docstring.prose}
    assert stated == OF_OTHERS


def test_all_that_is_public_is_on_the_page():
    for module, items in MODULES.items():
        exported = getattr(importlib.import_module(module), "__all__", None)
        if module in ("viewer.cli", "viewer.model.building.builder") or exported is None:
            continue
        shown = {item.name for item in items} | set(api_reference.VALUES.get(module, ()))
        assert set(exported) - shown <= {"__version__"}, module
    guide = (ROOT / "viewer/README.md").read_text(encoding="utf-8")
    (sentence,) = re.findall(r"The public API\s+is (.*?)\. Everything", guide, re.DOTALL)
    named = {name.replace(":", ".") for name in re.findall(r"`([\w.:]+)`", sentence)}
    whole = {*MODULES, *(f"{module}.{item.name}" for module, item in ITEMS)}
    assert named <= whole


def test_docstrings_are_read_in_google_style():
    found = api_reference.parsed(
        """Do a thing.

        More about it,
        on two lines.

        Args:
            path: The file,
                on two lines.
            width: In px.

        Returns:
            A picture.

        Raises:
            ValueError: For 0.
        """
    )
    assert found.text == ["Do a thing.", "More about it, on two lines."]
    assert found.entries["Args"] == {"path": "The file, on two lines.", "width": "In px."}
    assert found.entries["Raises"] == {"ValueError": "For 0."}
    assert found.prose == {"Returns": "A picture."}
    for wrong, message in (
        ("Do.\n\nArgs:\n    no colon here", "no entry"),
        ("Do.\n\nReturns:\n    It.\n\nMore.", "a paragraph after the section Returns"),
    ):
        with pytest.raises(ValueError, match=message):
            api_reference.parsed(wrong)
