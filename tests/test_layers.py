"""The plan of the house, as tests: which room may import which, and what a module looks like.

`ALLOWED` is the plan. A new room fails here until a line says what it may import; a line that grows
is the sign to look at the plan again.
"""

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

# The drawing's own arithmetic: a room of its own, though its files lie beside those that use Qt.
PURE_TIMELINE = {
    "canvas",
    "diamonds",
    "layout",
    "track_table",
    "arrangement",
    "stacking",
    "parts",
    "lod",
    "raster",
    "counter_raster",
    "colouring",
    "schemes",
    "class_shares",
    "ticks",
}
NO_QT_ROOMS = ("model", "program", "formats", "export", "record", "compat")
NO_QT_MODULES = (
    "companions", "workspace", "choices", "opening", "exporting", "report", "stats_report",
    "estimate_report", "delegation_report", "findings_report", "resources", "cli",
    "visible_range", "view_state", "history", "command_search", "arguments", "answers",
    "selected_slices", "cost_scope", "perfetto_server", "perfetto_export",
    "batch_export", "session_file", "kept_sessions", "session_view", "help_pages", "second_start",
    "reading_progress", "fault_log", "licences",
)  # fmt: skip
NO_QT = {*NO_QT_ROOMS, *NO_QT_MODULES, "timeline arithmetic", "__main__", "viewer"}

FILES = {"model", "program", "formats", "export"}
REPORTS = {
    "report", "stats_report", "estimate_report", "delegation_report", "findings_report",
}  # fmt: skip
LEAVES = {
    "tokens", "theme", "settings", "resources", "commands", "key_map", "command_search",
    "crash_report", "accessible_roles", "escape_field", "focus_frame", "when_seen", "wheel",
}  # fmt: skip
SHOWN = {
    "model", "program", "workspace", "opening", *REPORTS, "timeline arithmetic", "background",
    "help_pages", *LEAVES,
}  # fmt: skip
WINDOW = {
    *SHOWN, *FILES, "companions", "choices", "exporting", "loading", "saving", "session",
    "view_state", "timeline", "panels", "flow_feed", "marking", "selecting",
    "selection_feed", "going", "hand_over", "perfetto_server",
    "perfetto_export", "export_choices", "session_file", "kept_sessions", "session_view",
    "reading_progress", "fault_log", "memory",
}  # fmt: skip

ALLOWED = {
    "viewer": set(),
    "model": set(),
    "program": {"model"},
    "formats": {"model", "program"},
    "export": {"model", "program"},
    "record": {"program", "export"},
    "companions": {"model", "program", "formats"},
    "workspace": {*FILES, "companions"},
    "choices": {"model", "program", "workspace"},
    "session_file": {"formats", "export", "program", "workspace", "choices", "view_state"},
    "kept_sessions": {"formats", "export", "session_file"},
    "session_view": {"session_file", "view_state", "opening", "timeline arithmetic"},
    "exporting": {*FILES, "workspace", "perfetto_export"},
    "perfetto_export": {"model", "program", "export", "workspace", "estimate_report"},
    "batch_export": {*FILES, "workspace", "exporting", "memory"},
    "report": {"model", "program", "workspace"},
    "stats_report": {"model", "program", "export", "workspace", "report"},
    "estimate_report": {"model", "program", "workspace", "report"},
    "delegation_report": {"model", "program", "workspace", "report"},
    "findings_report": {"model", "program", "workspace", "report", "estimate_report"},
    "compat": {*FILES, "workspace", "exporting", "report"},
    "timeline arithmetic": {"model", "program"},
    "resources": set(),
    "help_pages": {"resources"},
    "settings": set(),
    "tokens": set(),
    "style_sheet": {"tokens"},
    "theme": {"tokens", "style_sheet", "resources", "settings", "timeline arithmetic"},
    "key_map": set(),
    "command_search": set(),
    "commands": {"key_map", "crash_report"},
    "crash_report": {"settings"},
    "accessible_roles": {"crash_report"},
    "escape_field": {"crash_report"},
    "focus_frame": {"crash_report", "theme"},
    "when_seen": {"crash_report", "background"},
    "wheel": set(),
    "hand_over": set(),
    "garbage": set(),
    "background": {"crash_report", "hand_over"},
    "memory": set(),
    "loading": {"model", "program", "formats", "crash_report", "hand_over", "memory"},
    "perfetto_server": set(),
    "saving": {"export", "exporting", "crash_report", "hand_over"},
    "opening": {"model", "program", "workspace", "timeline arithmetic"},
    "visible_range": {
        "model",
        "program",
        "workspace",
        "opening",
        "timeline arithmetic",
        "view_state",
    },
    "view_state": {"model", "workspace", "opening", "timeline arithmetic"},
    "history": {"view_state"},
    "selected_slices": {"model", "program", "opening", "view_state"},
    "cost_scope": {"model", "opening", "view_state"},
    "workspace_edits": {"workspace", "opening", "background"},
    "session": {
        *SHOWN,
        "choices",
        "workspace_edits",
        "visible_range",
        "view_state",
        "history",
        "selected_slices",
        "cost_scope",
    },
    "going": {"model", "opening", "session", "view_state", "visible_range"},
    "marking": {"opening", "session", "view_state", "visible_range"},
    "selecting": {"opening", "session", "view_state", "selected_slices"},
    "selection_feed": {
        "model",
        "program",
        "opening",
        "background",
        "session",
        "view_state",
        "selected_slices",
    },
    "export_choices": {
        "model",
        "export",
        "perfetto_export",
        "opening",
        "session",
        "selected_slices",
        "timeline arithmetic",
    },
    "flow_feed": {"program", "opening", "background", "session", "view_state"},
    "timeline": {
        *SHOWN,
        "session",
        "view_state",
        "visible_range",
        "going",
        "marking",
        "selecting",
        "flow_feed",
    },
    # The start page lists the formats and reads the samples for its pictures.
    "panels": {
        *SHOWN,
        "session",
        "view_state",
        "formats",
        "marking",
        "selected_slices",
        "selection_feed",
        "flow_feed",
        "going",
        "export",
        "exporting",
        "perfetto_export",
        "export_choices",
        "licences",
    },
    "main_window": WINDOW,
    "fault_log": set(),
    "licences": {"resources"},
    "reading_progress": {"model", "opening"},
    "second_start": {"program", "choices"},
    "instance_server": {"second_start"},
    "windows": {"main_window", "settings", "theme", "choices", "second_start"},
    "app": {
        *WINDOW,
        "main_window",
        "windows",
        "second_start",
        "instance_server",
        "garbage",
        "memory",
    },
    # The command line starts without Qt and imports the application when a window is asked for.
    "arguments": {"model", "program", "formats", "choices", "report"},
    "answers": {
        *FILES,
        "workspace",
        "choices",
        "exporting",
        "batch_export",
        "session_file",
        *REPORTS,
        "arguments",
        "compat",
        "app",
    },
    "cli": {"arguments", "answers", "app", "memory"},
    "__main__": {"cli"},
}


# One room in several files, which may know one another.
SAME_ROOM = {
    **dict.fromkeys(
        (
            "desk",
            "file_intake",
            "session_files",
            "leaving",
            "source_paths",
            "folder_drops",
            "needs",
            "status_line",
            "status_text",
            "toolbar",
            "docks",
            "focus_keys",
            "search_field",
            "perfetto_ui",
            "guide",
            "tour",
            "context_menus",
        ),
        "main_window",
    ),
    "searching": "session",
}


def room(module: str) -> str:
    """The room of "viewer.timeline.lod" and the like."""
    parts = module.split(".")
    if len(parts) == 1:
        return "viewer"
    if parts[1] == "timeline" and len(parts) > 2 and parts[2] in PURE_TIMELINE:
        return "timeline arithmetic"
    if parts[1].endswith("_commands"):
        return "main_window"
    return SAME_ROOM.get(parts[1], parts[1])


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


def own_imports(module: str) -> set[str]:
    return {name for name in imports(module) if name == "viewer" or name.startswith("viewer.")}


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


WITHOUT_QT = [
    *(name for name in NO_QT_ROOMS if (PACKAGE / name).is_dir()),
    *NO_QT_MODULES,
    "timeline arithmetic",
]


@pytest.mark.parametrize("name", WITHOUT_QT)
def test_no_qt_comes_along(name):
    """Imported for real, since another package might bring Qt in; one process a room."""
    modules = [m for m in MODULES if room(m) == name]
    assert modules
    loaded = run_python(
        f"import sys, importlib\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
        "print(*sorted(sys.modules), sep='\\n')"
    ).split()
    assert set(modules) <= set(loaded)
    assert [m for m in loaded if re.match(r"PySide6|shiboken6|pyqtgraph", m)] == []


def test_the_modules_found_are_those_that_python_finds():
    found = {m.name for m in pkgutil.walk_packages([str(PACKAGE)], "viewer.")}
    assert found | {"viewer"} == MODULES.keys()


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_only_where_the_plan_allows(module):
    here = room(module)
    assert here in ALLOWED, f"{here} is a new room: say in ALLOWED what it may import"
    # The version and the application id are for all.
    reached = {room(name) for name in own_imports(module)} - {here, "viewer"}
    assert reached <= ALLOWED[here]


@pytest.mark.parametrize("module", [m for m in MODULES if room(m) in NO_QT])
def test_no_qt_in_the_text_either(module):
    """A late import inside a function would pass the test that imports the module."""
    roots = {name.partition(".")[0] for name in imports(module)}
    assert not roots & {"PySide6", "pyqtgraph", "shiboken6"}


def panels_in(modules: set[str]) -> set[str]:
    return {name for name in modules if name.startswith("viewer.panels.")}


# A dock is what the window takes out of panels/; the rest of it is what docks are made of.
DOCKS = {d for m in MODULES if room(m) != "panels" for d in panels_in(own_imports(m))}


@pytest.mark.parametrize("module", sorted(panels_in(set(MODULES))))
def test_panels_do_not_know_one_another(module):
    assert panels_in(own_imports(module)) & DOCKS <= {module}


def test_the_plan_has_no_circle():
    allowed = {name: set(others) for name, others in ALLOWED.items()}
    while free := [name for name, others in allowed.items() if not others]:
        for name in free:
            del allowed[name]
        for others in allowed.values():
            others.difference_update(free)
    assert allowed == {}


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
