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
    "viewer.formats.refusals": "patterns and the model, which the registry of formats loads late",
    "viewer.gui.panels.summary.course_strip": "imports pyqtgraph, for many inferences only",
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

# Folders of tests about no single package, with what they are about.
TESTS_OF_MANY = {
    "tests/atspi": "the window on a real accessibility bus",
    "tests/bench": "how long things take, by subject",
    "tests/browser": "exports on the page of Perfetto UI, and reports",
    "tests/packaging": "the scripts and packages of `packaging`",
    "tests/peers": "answers beside those of other tools",
    "tests/reliability": "the reliability campaign",
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
    assert names == {
        "__init__.py",
        "__main__.py",
        "arrays.py",
        "dataclasses.py",
        "extras.py",
        "resources.py",
    }


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


def test_tests_lie_in_the_folder_of_their_package():
    """A file of tests has a subject: a module, or what several modules of the package do."""
    listed = set()
    lost = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        folder = path.parent.relative_to(ROOT / "tests")
        if not (PACKAGE / folder).is_dir():
            area = f"tests/{folder.parts[0]}"
            (listed if area in TESTS_OF_MANY else lost).add(area)
    assert lost == set()
    assert listed == TESTS_OF_MANY.keys()


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
