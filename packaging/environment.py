"""The Python environment that packages are built in: build/venv, made once for each lock.

It holds Opscope's own needs in the versions of `constraints.txt` and nothing else, so that what the
bundle is made of does not depend on what else is installed on the machine that builds.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

from application import ROOT

CONSTRAINTS = ROOT / "packaging" / "constraints.txt"
BUILD = ROOT / "build"
DIST = ROOT / "dist"
_FOLDER = BUILD / "venv"
_STAMP = _FOLDER / "opscope-build"


def build_python() -> Path:
    """The interpreter of build/venv, made anew where needed, which takes a network."""
    if sys.version_info < (3, 11):  # noqa: UP036 (the scripts are started by any Python)
        raise SystemExit("Opscope needs Python 3.11 or newer")
    stamp = _wanted_stamp()
    if not (_STAMP.is_file() and _STAMP.read_text() == stamp):
        print(f"setting up {_FOLDER.relative_to(ROOT)} with Python {sys.version.split()[0]}")
        shutil.rmtree(_FOLDER, ignore_errors=True)
        venv.create(_FOLDER, with_pip=True)
        pip = [python_of(_FOLDER), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        # Editable: what is built is the source tree, never a copy of what it once was.
        run([*pip, "--constraint", CONSTRAINTS, "--editable", f"{ROOT}[bundle]"])
        _STAMP.write_text(stamp)
    return python_of(_FOLDER)


def python_of(folder: Path) -> Path:
    """Where a virtual environment has its interpreter on this system."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def run(command: Sequence[str | Path], cwd: Path = ROOT) -> None:
    """Run a command, in the project's folder if no other is named; its failure ends the script."""
    done = subprocess.run([str(word) for word in command], cwd=cwd)
    if done.returncode:
        raise SystemExit(done.returncode)


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder; a symbolic link counts as itself, not as its target."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def _wanted_stamp() -> str:
    """What the environment was made for: Python, place, requirements and their versions."""
    texts = (CONSTRAINTS.read_bytes(), (ROOT / "pyproject.toml").read_bytes())
    digests = [hashlib.sha256(text).hexdigest() for text in texts]
    return "\n".join([sys.version, str(ROOT), *digests])
