"""Calls in `viewer/` that write, move or delete files, found in syntax trees.

What a file that is read names must never be written, moved or deleted. So each module that has such
a call states where its paths come from.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.reliability.campaign import Finding, Options, Outcome
from tests.reliability.programs import ROOT

# Functions that change the disk, by the end of their dotted name.
_CALLS = (
    "os.replace", "os.rename", "os.renames", "os.unlink", "os.remove", "os.rmdir", "os.removedirs",
    "os.mkdir", "os.makedirs", "os.symlink", "os.link", "os.truncate", "os.chmod", "os.utime",
    "os.mkfifo", "os.mknod", "shutil.rmtree", "shutil.move", "shutil.copy", "shutil.copy2",
    "shutil.copyfile", "shutil.copytree",
    "parquet.ParquetWriter", "parquet.write_table",
)  # fmt: skip
# Temporary folders are not among them: nobody chooses their names.
_NAMES = ("replacing", "write_whole", "QSaveFile")
# Methods of paths. One of `replace` has one argument, that of texts two or three.
_METHODS = {
    "unlink": (0,), "rmdir": (0,), "touch": (0,), "write_text": (1,), "write_bytes": (1,),
    "rename": (1,), "replace": (1,), "symlink_to": (1,), "hardlink_to": (1,), "copy_into": (1,),
}  # fmt: skip
_FLAGS = ("O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND")
_USER, _OWN, _TEMPORARY = "the user names it", "Opscope's own folder", "a new temporary folder"
_CALLER, _PROGRAM = "its caller names it", "the user's program names it"
# Each module that changes the disk: where its paths come from. Never from the content of a file.
ALLOWED = {
    "viewer/api/frames.py": _PROGRAM,
    "viewer/api/outputs.py": _PROGRAM,
    "viewer/api/profile.py": _PROGRAM,
    "viewer/cli/arguments.py": f"{_TEMPORARY}: a copy of the standard input",
    "viewer/cli/batch_export.py": f"{_USER}; below it, the names of the profiles' folders",
    "viewer/cli/commands/calls.py": _USER,
    "viewer/cli/commands/compare.py": _USER,
    "viewer/cli/commands/report.py": _USER,
    "viewer/cli/output.py": "the null device",
    "viewer/codecs/atomic_file.py": f"{_CALLER}; the parts beside it have names of their own, and "
    "no lock file is a link",
    "viewer/codecs/column_file.py": _CALLER,
    "viewer/codecs/large_arrays.py": "a file without a name in the folder for temporary files",
    "viewer/codecs/temporary_folder.py": _TEMPORARY,
    "viewer/codecs/unpacking.py": f"{_TEMPORARY}; in it, the last part of a name",
    "viewer/compat/inspector_cli.py": _USER,
    "viewer/compat/perfetto_logger.py": _USER,
    "viewer/compat/torq_logger/time_chart.py": _PROGRAM,
    "viewer/export/perfetto/writer.py": _CALLER,
    "viewer/export/table_files.py": _CALLER,
    "viewer/fleet/answers/report.py": _USER,
    "viewer/fleet/unit.py": "an open file of `lake_folder`",
    "viewer/fleet/lake.py": f"{_USER}: the folder of a new lake",
    "viewer/fleet/lake_folder.py": "a manifest, of the one form that `manifest_lines` accepts; no "
    "link is followed",
    "viewer/fleet/snapshot_writer.py": "an open file of `lake_folder`",
    "viewer/formats/column_cache.py": f"{_OWN}: names are digests",
    "viewer/formats/packed.py": f"{_TEMPORARY}: a copy that was unpacked there",
    "viewer/gui/app/application.py": _USER,
    "viewer/gui/app/handover_request.py": _OWN,
    "viewer/gui/app/windows.py": _OWN,
    "viewer/gui/panels/bookmarks.py": "no file: the name of a bookmark",
    "viewer/gui/panels/graph/panel.py": _USER,
    "viewer/gui/qt/crash_report.py": _OWN,
    "viewer/gui/qt/settings.py": _OWN,
    "viewer/gui/qt/theme/theme.py": _TEMPORARY,
    "viewer/gui/window/files/export_actions.py": _USER,
    "viewer/html_report/report.py": _CALLER,
    "viewer/record/debug_handle_map.py": _PROGRAM,
    "viewer/record/etdump_writer.py": _PROGRAM,
    "viewer/recording/plan.py": f"{_USER}; in it, numbers and the names of the programs",
    "viewer/recording/process.py": "a numbered dump in the folder that the user names",
    "viewer/render/flame_graph/svg.py": _CALLER,
    "viewer/view/sessions/recent_sessions.py": _OWN,
    "viewer/view/sessions/session_file.py": _CALLER,
}


def check(options: Options) -> Outcome:
    """Look at every module of `viewer/`."""
    findings: list[Finding] = []
    used: set[str] = set()
    modules = sorted((ROOT / "viewer").rglob("*.py"))
    count = 0
    for path in modules:
        name = path.relative_to(ROOT).as_posix()
        for line, what in disk_changes(path.read_text(encoding="utf-8")):
            count += 1
            used.add(name)
            if name not in ALLOWED:
                findings.append(Finding(f"{name}:{line}: {what}, where does its path come from?"))
    findings += [
        Finding(f"{name} is allowed and changes nothing") for name in ALLOWED.keys() - used
    ]
    return Outcome(len(modules), tuple(findings), f"{count} calls in {len(used)} modules")


def disk_changes(source: str) -> Iterator[tuple[int, str]]:
    """Yield (line, what) for each call that writes, moves or deletes a file."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = _dotted(node.func)
            if name.endswith(_CALLS) or name.rpartition(".")[2] in _NAMES:
                yield node.lineno, name
            elif name == "open" or name.endswith((".open", ".fdopen")):
                yield from ((node.lineno, f"{name}: {mode}") for mode in _modes(node))
            elif _is_method(node):
                yield node.lineno, name


def _dotted(function: ast.expr) -> str:
    """The name of a function with that of its module, or of a method after a dot."""
    if isinstance(function, ast.Name):
        return function.id
    if isinstance(function, ast.Attribute):
        return f"{_dotted(function.value)}.{function.attr}"
    return ""


def _is_method(call: ast.Call) -> bool:
    return (
        isinstance(call.func, ast.Attribute)
        and not call.keywords
        and len(call.args) in _METHODS.get(call.func.attr, ())
    )


def _modes(call: ast.Call) -> Iterator[str]:
    """The mode or the flags of an open for writing."""
    for argument in (*call.args, *(one.value for one in call.keywords if one.arg == "mode")):
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            if set(argument.value) & set("wax+") and set(argument.value) <= set("rwaxbt+"):
                yield argument.value
        else:
            text = ast.unparse(argument)
            if any(flag in text for flag in _FLAGS):
                yield text
