"""What a module looks like, and that Qt stays in `viewer/gui`."""

import ast
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import viewer

PACKAGE = Path(viewer.__file__).parent
MODULES = {
    ".".join(("viewer", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): path
    for path in sorted(PACKAGE.rglob("*.py"))
}


def imports(module: str) -> set[str]:
    """All modules that the text of a module imports, anywhere in it, relative ones resolved."""
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1])
                base = f"{above}.{base}".rstrip(".")
            # `from viewer.model import times` imports a module, `from ... import Trace` none.
            names = {f"{base}.{alias.name}" for alias in node.names}
            submodules = names & MODULES.keys()
            found |= submodules
            if len(submodules) < len(names):
                found.add(base)
    return found


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


WITHOUT_QT = [name for name in MODULES if not f"{name}.".startswith("viewer.gui.")]


def test_no_qt_comes_along():
    """Imported for real, since another package might bring Qt in."""
    loaded = run_python(
        f"import sys, importlib\n"
        f"for name in {WITHOUT_QT!r}: importlib.import_module(name)\n"
        "print(*sorted(sys.modules), sep='\\n')"
    ).split()
    assert set(WITHOUT_QT) <= set(loaded)
    assert [m for m in loaded if re.match(r"PySide6|shiboken6|pyqtgraph", m)] == []


@pytest.mark.parametrize("module", WITHOUT_QT)
def test_no_qt_in_the_text_either(module):
    """A late import inside a function would pass the test that imports the module."""
    roots = {name.partition(".")[0] for name in imports(module)}
    assert not roots & {"PySide6", "pyqtgraph", "shiboken6"}


def test_the_modules_found_are_those_that_python_finds():
    found = {m.name for m in pkgutil.walk_packages([str(PACKAGE)], "viewer.")}
    assert found | {"viewer"} == MODULES.keys()


@pytest.mark.parametrize("module", MODULES)
def test_a_module_says_what_it_is_for(module):
    docstring = ast.get_docstring(ast.parse(MODULES[module].read_text(encoding="utf-8")))
    assert docstring
    first = docstring.split("\n\n")[0]
    assert not first[0].islower()
    assert first.endswith((".", ":"))


@pytest.mark.parametrize("module", MODULES)
def test_a_module_can_be_read_in_one_sitting(module):
    with MODULES[module].open(encoding="utf-8") as file:
        assert sum(1 for _ in file) <= 800


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_named_after_what_it_does(module):
    words = set(re.split(r"[._]", module))
    assert not words & {"util", "utils", "helper", "helpers", "manager", "misc", "common"}
