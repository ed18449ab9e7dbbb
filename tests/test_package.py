"""What modules, classes and folders look like, and that no Qt comes along without a window.

Which package may import which is in `pyproject.toml`; import-linter checks it.
"""

import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

import viewer
from tests.sources import source_of

pytestmark = pytest.mark.slow

PACKAGE = Path(viewer.__file__).parent
ROOT = PACKAGE.parent
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}

MOST_LINES, MOST_LEVELS = 800, 4
FEWEST_LINES = 100  # of a module that only a neighbor imports

# Modules of fewer lines that stand alone, with the reason.
SMALL_MODULES = {
    "viewer.formats.chrome.json_texts": "makes files, which no other module there does",
    "viewer.formats.contents": "imports the model, which the registry of formats loads late",
    "viewer.formats.foreign": "patterns that the registry of formats loads late",
    "viewer.gui.app.exit_signals": "imports Qt, which its importer does only after a check",
    "viewer.gui.panels.summary.course_strip": "imports pyqtgraph, for many inferences only",
    "viewer.gui.window.window_host": "imports the session, which the first window does without",
}

# Where functions live that take one of these classes first, besides the only area that uses them.
HOMES = {
    "viewer.gui.session.session.Session": (
        "viewer.gui.session",
        "viewer.gui.panels.base",  # what several panels show
    ),
    "viewer.workspace.workspace.Workspace": (
        "viewer.workspace",
        "viewer.view",
        "viewer.reports",
        "viewer.html_report",
    ),
}

# READMEs with more than a few lines, and how many they may have.
LONG_READMES = {"viewer": 99, "viewer/fleet": 45, "viewer/formats": 90}

# Tests of no single module: folders, and files with what they are about.
TESTS_OF_MANY = {
    "tests/gui/app/test_start.py": "what a window and a command import",
    "tests/gui/panels/test_made_late.py": "every panel, made after random changes",
    "tests/gui/panels/base/test_same_figures.py": "one figure of one thing in panels and commands",
    "tests/tables/test_new_column.py": "a column that is added, in all faces",
    "tests/analysis/comparison/test_edit_scores.py": "how well operators are paired after edits",
    "tests/analysis/comparison/test_edits.py": "pairs of operators after edits of models",
    "tests/analysis/comparison/test_pitfalls.py": "what a comparison gets wrong easily",
    "tests/analysis/findings/test_extremes.py": "every rule at nothing, a half and all",
    "tests/analysis/links/test_library_kernels.py": "kernels without a prefix, up to their costs",
    "tests/analysis/links/test_replaced_kernels.py": "kernels that passes replaced, from the match",
    "tests/analysis/links/test_source_lines.py": "lines and modules, from the record to the totals",
    "tests/analysis/test_unfinished_inferences.py": "every figure of a whole trace",
    "tests/analysis/test_unfinished_slices.py": "slices without an end, from the file to the means",
    "tests/fleet/test_hostile_lakes.py": "lakes of strangers in every command, with witnesses",
    "tests/workspace/test_open_methods.py": "inferences whose method is open, in every answer",
    "tests/formats/layers/test_shapes.py": "one table of layers in JSON and printed texts",
    "tests/analysis/statistics/test_definitions.py": "self and wall time by every key of files",
    "tests/api/test_cookbook.py": "the notebook of the help, cell by cell",
    "tests/api/test_json_rows.py": "the tables of the Python API with the JSON of all commands",
    "tests/cli/test_same_clock.py": "an option of every command that opens files",
    "tests/cli/test_standard_streams.py": "commands that read and write a stream",
    "tests/cli/test_wrong_inputs.py": "all commands",
    "tests/formats/chrome/test_stated_facts.py": "what is next to the events, up to the names",
    "tests/formats/perfetto/test_stated_clocks.py": "clock snapshots and exports, up to the clock",
    "tests/recording/test_torq.py": "modules of an NPU, from the target to the comparison",
    "tests/atspi": "the window on a real accessibility bus",
    "tests/bench": "how long things take, by subject",
    "tests/browser": "exports on the page of Perfetto UI, and reports",
    "tests/gui/timeline/strips/test_monkey.py": "random use of several clocks",
    "tests/packaging": "the scripts and packages of `packaging`",
    "tests/reports/test_one_median.py": "medians of every command and of the window",
    "tests/peers": "answers beside those of other tools",
    "tests/cli/commands/fleet": "subcommands of one lake, one after the other",
    "tests/fleet/test_recipes.py": "the recipes of the help page, and the commands of the README",
    "tests/formats/test_choosing.py": "the registry of formats, in an `__init__.py`",
    "tests/formats/test_regress.py": "files of every format that once went wrong",
    "tests/formats/test_too_large.py": "files of every format that do not fit the memory",
    "tests/formats/test_parts.py": "the first parts of files of every format in order",
    "tests/formats/test_first_samples.py": "counters of Chrome and Perfetto that start at 0",
    "tests/formats/test_snapshots.py": "a listing of every sample",
    "tests/formats/runtimes/test_formats.py": "all profiles of other runtimes",
    "tests/formats/table/test_table_kinds.py": "tables of every kind, up to the values",
    "tests/formats/torq/test_samples.py": "all generations of all Torq formats",
    "tests/gui/app/test_kills.py": "the program, killed in every way",
    "tests/gui/app/test_trust.py": "the window without a network",
    "tests/gui/panels/test_column_terms.py": "the titles of all panels' columns",
    "tests/gui/panels/test_when_visible.py": "all panels of a large trace",
    "tests/gui/qt/test_qt_guards.py": "which PySide6 the project accepts",
    "tests/gui/timeline/test_counters.py": "counters, from the scene to the mouse",
    "tests/gui/timeline/test_pinned.py": "pinned tracks, from the scene to the mouse",
    "tests/gui/timeline/test_sticky_headers.py": "headers in view, from the layout to the mouse",
    "tests/gui/timeline/test_wheel.py": "wheels of every kind over the timeline",
    "tests/gui/window/test_accessibility.py": "every control of the window",
    "tests/gui/window/test_closing_frees.py": "what the whole window keeps in memory",
    "tests/gui/window/test_keys.py": "the help page of the keys",
    "tests/gui/window/test_menu_key.py": "the Menu key on a real X server",
    "tests/gui/window/test_model_in_window.py": "the Model panel beside other docks",
    "tests/gui/window/test_one_selection.py": "one selection in all panels",
    "tests/gui/window/test_untrusted_names.py": "names of files in every widget of the window",
    "tests/html_report/test_script.py": "the script of the page, run by node",
    "tests/model/test_queries_of_one.py": "queries about one slice beside those about all",
    "tests/record/test_recording_page.py": "the help page about recording",
    "tests/record/test_toy_npu.py": "the whole way of a delegate's author",
    "tests/reliability": "the reliability campaign",
    "tests/render/test_color_vision.py": "colors of all schemes to every eye",
    "tests/render/test_fidelity.py": "rasters beside one that walks every slice",
    "tests/test_cpu_times.py": "the plugin that measures tests",
    "tests/test_documents.py": "what documents claim about the source",
    "tests/test_package.py": "this file",
    "tests/test_readme.py": "the README and the pages it links to",
    "tests/test_waits.py": "all tests",
    "tests/test_words.py": "the words of the README and the help",
}


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def folder_of(module: str) -> str:
    """The package that holds a module; a package holds itself."""
    return module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]


def imports_of(module: str) -> Sequence[tuple[str, str]]:
    """What a module imports anywhere, late or for types alone: each name, and what it is of."""
    imports = source_of(MODULES[module]).imports
    assert not any(name.startswith(".") for _, name in imports), f"{module}: a relative import"
    return imports


@cache
def importers() -> Mapping[str, set[str]]:
    """The modules that import each module."""
    found: dict[str, set[str]] = {name: set() for name in MODULES}
    for module in MODULES:
        for _, name in imports_of(module):
            source = name if name in MODULES else name.rpartition(".")[0]
            if source in MODULES and source != module:
                found[source].add(module)
    return found


def folders() -> Iterator[Path]:
    yield PACKAGE
    yield from (p for p in PACKAGE.rglob("*") if p.is_dir() and (p / "__init__.py").exists())


def test_no_qt_comes_along():
    """Imported for real, since another package might bring Qt in."""
    names = [name for name in MODULES if not f"{name}.".startswith("viewer.gui.")]
    code = (
        "import sys, importlib\n"
        f"for name in {names!r}: importlib.import_module(name)\n"
        "print(*sorted(sys.modules), sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.split()
    assert set(names) <= set(loaded)
    assert [m for m in loaded if re.match(r"PySide6|shiboken6|pyqtgraph", m)] == []


def test_the_modules_found_are_those_that_python_finds():
    found = {m.name for m in pkgutil.walk_packages([str(PACKAGE)], "viewer.")}
    assert found | {"viewer"} == MODULES.keys()


def test_the_root_of_the_package_holds_five_modules():
    names = {path.name for path in PACKAGE.glob("*.py")}
    assert names == {"__init__.py", "__main__.py", "arrays.py", "extras.py", "resources.py"}


def test_a_module_says_in_its_first_line_what_it_is_for():
    wrong = set()
    for path in MODULES.values():
        first = source_of(path).docstring.partition("\n")[0]
        if not first.endswith(".") or first[0].islower():
            wrong.add(relative(path))
    assert not wrong


def test_a_module_can_be_read_in_one_sitting():
    lines = {relative(path): source_of(path).line_count for path in MODULES.values()}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_a_small_module_serves_more_than_its_neighbor():
    """Else a reader opens two files for one thought: it is a part of that neighbor."""
    small = set()
    for module, path in MODULES.items():
        if path.name != "__init__.py" and source_of(path).line_count < FEWEST_LINES:
            folders_of_importers = [folder_of(importer) for importer in importers()[module]]
            if folders_of_importers == [folder_of(module)]:
                small.add(module)
    assert small - SMALL_MODULES.keys() == set()
    assert SMALL_MODULES.keys() - small == set()  # listed for nothing


def test_folders_are_not_deep():
    levels = {relative(folder): len(folder.relative_to(PACKAGE).parts) for folder in folders()}
    assert {name: count for name, count in levels.items() if count > MOST_LEVELS} == {}


def area_of(module: str) -> str:
    """The part of the package that a module belongs to: a panel, a part of the window, ..."""
    parts = module.split(".")
    if parts[:2] != ["viewer", "gui"]:
        return ".".join(parts[:2])
    return ".".join(parts[: 4 if parts[2:3] == ["panels"] else 3])


def functions_that_take(name: str) -> set[str]:
    """The public functions with a class as their first parameter."""
    functions = set()
    for module, path in MODULES.items():
        imported = dict(imports_of(module))
        for function, first in source_of(path).functions:
            if imported.get(first) == name:
                functions.add(f"{module}.{function}")
    return functions


def users_of(functions: set[str]) -> dict[str, set[str]]:
    """The modules that name each function, imported itself or with its module."""
    users: dict[str, set[str]] = {name: set() for name in functions}
    for module, path in MODULES.items():
        imported = dict(imports_of(module))
        named = set(imported.values())
        for base, attribute in source_of(path).attributes:
            named.add(f"{imported.get(base)}.{attribute}")
        for name in functions & named:
            users[name].add(module)
    return users


def test_functions_of_a_large_class_live_where_their_topic_does():
    """Next to the class, or in the only area that uses them: not where there was space."""
    wrong = {}
    for name, homes in HOMES.items():
        functions = functions_that_take(name)
        assert functions, f"{name} is no longer there"
        for function, users in users_of(functions).items():
            module = function.rpartition(".")[0]
            areas = {area_of(user) for user in users} - {area_of(module)}
            if areas and not any(f"{module}.".startswith(f"{home}.") for home in homes):
                wrong[function] = areas
    assert wrong == {}


def test_every_package_has_a_readme_of_a_few_lines():
    """Its purpose, its main types, and what it may import."""
    wrong = {}
    for folder in folders():
        readme = folder / "README.md"
        lines = readme.read_text(encoding="utf-8").splitlines() if readme.exists() else []
        most = LONG_READMES.get(relative(folder), 15)
        if not 5 <= len(lines) <= most or (
            folder != PACKAGE and "May import:" not in "".join(lines)
        ):
            wrong[relative(folder)] = len(lines)
    assert wrong == {}


def test_a_module_is_named_after_what_it_does():
    leftovers = {"util", "utils", "helper", "helpers", "manager", "misc", "common"}
    assert [m for m in MODULES if leftovers & set(re.split(r"[._]", m))] == []


def test_tests_lie_where_their_modules_do():
    lost = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        name = relative(path)
        module = PACKAGE / path.relative_to(ROOT / "tests").with_name(path.name[5:])
        exists = module.exists() or module.with_suffix("").is_dir()
        listed = [one for one in TESTS_OF_MANY if name == one or name.startswith(f"{one}/")]
        if exists == bool(listed):  # neither, or listed for nothing
            lost.append(name)
    assert lost == []
    assert [name for name in TESTS_OF_MANY if not (ROOT / name).exists()] == []


# -- names ---------------------------------------------------------------------------------------

# They say nothing of what they are for: a name says what it holds, or its type.
EMPTY_NAMES = frozenset(
    ("also", "at", "beside", "found", "given", "kept", "known", "made", "one", "own", "shown",
     "some", "told", "wish")
)  # fmt: skip
# How often the package has them. The number only falls; lower it with each one that goes.
MOST_EMPTY_NAMES = 713


def test_names_that_say_nothing_become_fewer():
    names = (name for path in MODULES.values() for name in source_of(path).names)
    count = sum(name.strip("_") in EMPTY_NAMES for name in names)
    assert count <= MOST_EMPTY_NAMES
    assert count > MOST_EMPTY_NAMES - 100, f"lower MOST_EMPTY_NAMES to {count}"
