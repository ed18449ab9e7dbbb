"""Calls in `viewer/` that run code or programs, or read formats that can, found in syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.reliability.campaign import Finding, Options, Outcome
from tests.reliability.programs import ROOT

# Modules that must not be imported, and why.
_MODULES = {
    "pickle": "unpickling runs code", "_pickle": "unpickling runs code",
    "cPickle": "unpickling runs code", "dill": "unpickling runs code",
    "cloudpickle": "unpickling runs code", "joblib": "unpickling runs code",
    "marshal": "crashes on hostile data", "shelve": "unpickling runs code",
    "xml": "expands entities", "lxml": "expands entities", "telnetlib": "uses the network",
    "ftplib": "uses the network", "smtplib": "uses the network", "xmlrpc": "uses the network",
    "code": "runs code", "codeop": "runs code", "pty": "runs programs",
}  # fmt: skip
# Built-in functions that must not be called.
_BUILT_IN = ("eval", "exec", "compile", "__import__", "breakpoint", "input")
# Functions of modules and methods that must not be called, by the end of their dotted name.
_CALLS = (
    "os.system", "os.popen", "os.execv", "os.execve", "os.execvp", "os.execl", "os.spawnv",
    "os.spawnl", "os.posix_spawn", "os.startfile", "tempfile.mktemp", "yaml.load",
    "yaml.unsafe_load", "pd.read_pickle", "pandas.read_pickle", "pd.eval", "pandas.eval",
    "torch.load", "shutil.unpack_archive", "tarfile.open", "runpy.run_path", "webbrowser.open",
)  # fmt: skip
_METHODS = ("extractall", "eval")
# What runs other programs: each file that does, and the reason.
_PROGRAMS = ("subprocess", "QProcess", "multiprocessing", "ProcessPoolExecutor")
ALLOWED = {
    ("viewer/gui/window/files/source_files.py", "QProcess"): "opens a line in the user's editor",
    ("viewer/api/profile.py", "subprocess"): "starts the window of Opscope (Profile.show)",
    ("viewer/recording/process.py", "subprocess"): "starts what the user records with",
    (
        "viewer/fleet/engine.py",
        "multiprocessing",
    ): "reads and exports files at the same time",
    ("viewer/fleet/engine.py", "ProcessPoolExecutor"): "the same",
    (
        "viewer/formats/torq/annotated_xlsx.py",
        "xml.parsers: expands entities",
    ): "refuses a document type, without which there are no entities",
}


def check(options: Options) -> Outcome:
    """Look at every module of `viewer/`."""
    findings: list[Finding] = []
    used: set[tuple[str, str]] = set()
    modules = sorted((ROOT / "viewer").rglob("*.py"))
    for path in modules:
        name = path.relative_to(ROOT).as_posix()
        for line, what in risks(path.read_text(encoding="utf-8")):
            if (name, what) in ALLOWED:
                used.add((name, what))
            else:
                findings.append(Finding(f"{name}:{line}: {what}"))
    findings += [
        Finding(f"{n}: {what} is allowed and not used") for n, what in ALLOWED.keys() - used
    ]
    return Outcome(len(modules), tuple(findings), f"{len(used)} uses with a reason")


def risks(source: str) -> Iterator[tuple[int, str]]:
    """Yield (line, what) for each use that is forbidden or must be allowed."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _imported(node.lineno, alias.name, ())
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from _imported(node.lineno, node.module, [alias.name for alias in node.names])
        elif isinstance(node, ast.Call):
            yield from ((node.lineno, what) for what in _called(node))


def _imported(
    line: int, module: str, names: list[str] | tuple[str, ...]
) -> Iterator[tuple[int, str]]:
    top = module.partition(".")[0]
    if top in _MODULES and module != "xml.sax.saxutils":
        yield line, f"{module}: {_MODULES[top]}"
    for name in dict.fromkeys((top, *names)):
        if name in _PROGRAMS:
            yield line, name
        if f"{module}.{name}" in _CALLS:
            yield line, f"{module}.{name}"


def _called(node: ast.Call) -> Iterator[str]:
    name = ast.unparse(node.func) if isinstance(node.func, (ast.Name, ast.Attribute)) else ""
    if name in _BUILT_IN or name.endswith(_CALLS):
        yield name
    if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
        yield f".{node.func.attr}"
    for keyword in node.keywords:
        value = keyword.value
        is_off = isinstance(value, ast.Constant) and not value.value
        # Other functions may have an argument named shell, such as a part of the window.
        runs = keyword.arg == "shell" and (isinstance(value, ast.Constant) or "process" in name)
        if (runs or keyword.arg == "allow_pickle") and not is_off:
            yield f"{keyword.arg}=True"
    if name.endswith((".load", "read_csv")) and name.startswith(("np", "numpy")):
        yield name
