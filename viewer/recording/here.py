"""Targets on this machine: a Python with ExecuTorch's wheel, any command that writes an ETDump."""

from __future__ import annotations

import os
import re

from viewer.recording.plan import Plan, WrongPlan, parse_words
from viewer.recording.process import Command, NoProgram, path_or_name, program_path
from viewer.recording.target import Ask, Finding, Target
from viewer.resources import resource

PYTHON = "python3" if os.name == "posix" else "python"
INSTALL = "pip install executorch"
# What `resources/record/session.py` prints before what it learned.
MARK = "opscope-session "
_CHECK_S = 120.0
# Prints the version, and whether the extension is there; imports neither.
_LOOK = (
    "import importlib.metadata as m, importlib.util as u; "
    "print('opscope-version', m.version('executorch'), bool(u.find_spec('torch')))"
)
_FIELD = re.compile(r"\{([a-z]+)\}")


class Local(Target):
    """The Python of the user, in a new process for every session."""

    is_here = True

    def __init__(self, plan: Plan, incoming: str, python: str) -> None:
        super().__init__(plan, incoming)
        self.name = python or PYTHON

    def session(self, dump: str, arm: str) -> Command:
        """The process that runs a program and writes a dump."""
        plan = self.plan
        argv = [
            path_or_name(self.name),
            str(resource("record", "session.py")),
            f"--program={plan.program(arm).path}",
            f"--etdump={os.path.join(self.incoming, dump)}",
            f"--inferences={plan.inferences}",
        ]
        argv += [f"--method={plan.method}"] if plan.method else []
        argv += [f"--threads={plan.threads}"] if plan.threads else []
        argv += [f"--inputs={plan.inputs}"] if plan.inputs else []
        return Command(tuple(argv), plan.timeout, plan.environment)

    def check(self, ask: Ask) -> list[Finding]:
        """Whether the Python is there and has the wheel."""
        try:
            python = program_path(self.name)
        except NoProgram as error:
            return [Finding(False, str(error), "name a Python with --on local:PYTHON")]
        findings = [Finding(True, f"Python: {python}")]
        ended = ask(Command((python, "-c", _LOOK), _CHECK_S))
        version = re.search(r"opscope-version (\S+) (\w+)", ended.output)
        cure = f"run {Command((python, '-m', *INSTALL.split()), 0).text}"
        if version is None:
            return [*findings, Finding(False, "this Python has no executorch", cure)]
        if version[2] != "True":
            return [*findings, Finding(False, "this Python has no torch, which executorch needs",
                    cure.replace("executorch", "torch"))]  # fmt: skip
        if version[1].startswith(("0.", "1.0.")):
            return [*findings, Finding(False, f"executorch {version[1]} has no event tracer",
                    f"{cure}>=1.5".replace("executorch>=1.5", "'executorch>=1.5'"))]  # fmt: skip
        return [*findings, Finding(True, f"executorch {version[1]}")]


class Custom(Target):
    """A command of the user that writes an ETDump. What it runs on is not known."""

    def __init__(self, plan: Plan, incoming: str, text: str) -> None:
        """Raises WrongPlan."""
        super().__init__(plan, incoming)
        self.words = _custom_words(text, len(plan.programs) > 1)

    def session(self, dump: str, arm: str) -> Command:
        """The command with its fields filled in; each stays one argument."""
        values = {
            "pte": self.plan.program(arm).path,
            "etdump": os.path.join(self.incoming, dump),
            "inferences": str(self.plan.inferences),
            "method": self.plan.method or "forward",
            "threads": str(self.plan.threads or -1),
        }
        name, *rest = (
            _FIELD.sub(lambda field: values.get(field[1], field[0]), word) for word in self.words
        )
        return Command((path_or_name(name), *rest), self.plan.timeout, self.plan.environment)

    def check(self, ask: Ask) -> list[Finding]:
        """Whether the program is there."""
        try:
            return [Finding(True, f"program: {program_path(self.words[0])}")]
        except NoProgram as error:
            return [Finding(False, str(error), "check its name, or write its path")]


def _custom_words(text: str, has_two: bool) -> tuple[str, ...]:
    """Return the words of `run:"CMD {pte} {etdump}"`. Raises WrongPlan. has_two: programs."""
    words = parse_words(text)
    fields = {field for word in words for field in _FIELD.findall(word)}
    if not words or "etdump" not in fields or (has_two and "pte" not in fields):
        raise WrongPlan(
            'run: needs a command that names its files: --on run:"CMD {pte} {etdump}"; also '
            "{inferences}, {method} and {threads}"
        )
    return words
