"""Runs Opscope as a user does, in a process with an environment of its own, and judges its end.

Root may write what nobody may. So as root, processes start without the capabilities to ignore
permissions (`CAP_DAC_OVERRIDE`, `CAP_DAC_READ_SEARCH`), and a read-only folder is read-only.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DUMP = ROOT / "resources/samples/delegate_handle_map/demo_str_x4.etdp"
RECORD = ROOT / "resources/samples/delegate_handle_map/demo_str.etrecord"
OPSCOPE = (sys.executable, "-m", "viewer")
# A process that takes longer hangs: a command takes a second, a window three.
MOST_SECONDS = 60.0
_DROP, _CAPABILITIES = 24, (1, 2)  # PR_CAPBSET_DROP; CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended. code: negative for a signal, None if it had to be killed."""

    code: int | None
    out: str
    err: str

    @property
    def fault(self) -> str:
        """Why no command should end like this; "" if it may: success, or one line of error."""
        if self.code is None:
            return f"no end after {MOST_SECONDS:.0f} s"
        if self.code < 0:
            return f"ended by signal {-self.code}"
        if "Traceback" in self.err + self.out:
            return f"traceback: {self.err.strip().splitlines()[-1:]}"
        if "internal error" in self.err:
            return f"internal error: {self.err.strip()}"
        if self.code not in (0, 1, 2):
            return f"exit code {self.code}"
        if self.code and len(lines_of_opscope(self.err)) != 1:
            return f"exit code {self.code} with {len(lines_of_opscope(self.err))} lines of error"
        return ""


def lines_of_opscope(err: str) -> list[str]:
    """The lines that Opscope prints on stderr, without those of Qt or fontconfig."""
    return [line for line in err.splitlines() if line.startswith("opscope")]


def environment(folder: Path) -> dict[str, str]:
    """A plain environment whose folders are all in `folder`."""
    made = {
        "PATH": os.environ.get("PATH", os.defpath),
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "QT_QPA_PLATFORM": "offscreen",
        "LANG": "C.UTF-8",
        "HOME": str(folder / "home"),
        "XDG_RUNTIME_DIR": str(folder / "run"),
        "TMPDIR": str(folder / "tmp"),
    }
    if "PYTHONPYCACHEPREFIX" in os.environ:  # read, or each start compiles the program again
        made["PYTHONPYCACHEPREFIX"] = os.environ["PYTHONPYCACHEPREFIX"]
    for name in ("HOME", "XDG_RUNTIME_DIR", "TMPDIR"):
        Path(made[name]).mkdir(mode=0o700, parents=True, exist_ok=True)
    return made


def run(
    arguments: Sequence[str | bytes],
    given: Mapping[str, str],
    *,
    folder: Path | None = None,
    before: Callable[[], None] | None = None,
    pass_fds: Sequence[int] = (),
    seconds: float = MOST_SECONDS,
) -> Ended:
    """Run a program until it ends. before: runs in the new process, ahead of the program."""

    def prepare() -> None:
        without_capabilities()
        if before is not None:
            before()

    process = subprocess.Popen(
        arguments,
        env=given,
        cwd=folder or ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=prepare,
        pass_fds=pass_fds,
    )
    try:
        out, err = process.communicate(timeout=seconds)
        code: int | None = process.returncode
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate(timeout=60)
        code = None
    return Ended(code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def without_capabilities() -> None:
    """Give up, for programs that this process starts, what lets root ignore permissions."""
    if sys.platform == "linux" and os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in _CAPABILITIES:
            libc.prctl(_DROP, capability, 0, 0, 0)


def parts_in(folder: Path) -> list[str]:
    """The temporary files of unfinished writes below a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob(".*.part"))
