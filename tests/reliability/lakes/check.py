"""Runs commands on changed lakes, and judges what they did."""

from __future__ import annotations

import contextlib
import io
import json
import random
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from unittest import mock

from tests.builders.fleet_dumps import PATTERN
from tests.reliability.campaign import Finding, Options, Outcome
from tests.reliability.lakes.changes import change
from tests.reliability.lakes.sound import tree, write_sound, write_witnesses

# Of processor time, for one command.
_MOST_SECONDS = 10
_QUERY = (
    "SELECT (SELECT count(*) FROM files) AS files, (SELECT count(*) FROM operators) AS operators, "
    "(SELECT count(*) FROM inference_operators) AS parts, "
    "(SELECT sum(self_ns) FROM inference_operators) AS ns, "
    "(SELECT count(*) FROM inferences) AS inferences"
)
_MOST_FINDINGS = 20


class TooSlow(BaseException):
    """A command does not end."""


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def fault(self) -> str:
        """What is unexpected, "" for nothing."""
        if self.code not in (0, 1, 2) or "Traceback" in self.err or "error in Opscope" in self.err:
            return f"exit code {self.code}: {self.err[-700:]}"
        if self.code and not self.err.startswith("opscope: "):
            return f"exit code {self.code} without a line that says why: {self.err[-300:]}"
        return ""


def run(options: Options, part: int, count: int) -> Outcome:
    """Change `count` lakes and run commands on each."""
    seed, findings, kinds = f"lakes {options.seed} {part}", [], Counter[str]()
    with tempfile.TemporaryDirectory(prefix="opscope-lakes-") as name:
        lakes = Lakes(Path(name))
        for number in range(count):
            found = lakes.check(random.Random(f"{seed} {number}"))
            kinds[found.end] += 1
            if found.fault:
                saved = _saved(Path(name) / "world", options.findings, f"{part}-{number}")
                findings.append(Finding(f"{found.fault}\n    {found.story}", saved))
                if len(findings) >= _MOST_FINDINGS:
                    break
    figures = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
    return Outcome(sum(kinds.values()), tuple(findings), f"{figures}, 5 commands each")


@dataclass(frozen=True, slots=True)
class Found:
    """What became of one lake. end: "as before", "named", "refused" or "forged"."""

    end: str
    story: str
    fault: str = ""


class Lakes:
    """Sound lakes in a folder, to change copies of."""

    def __init__(self, folder: Path) -> None:
        self._world, self._fleet = folder / "world", folder / "fleet"
        (folder / "sound").mkdir()
        self.sound = write_sound(folder / "sound", self._fleet)
        self._figures = [json.loads(_query(lake).out)[0] for lake in self.sound]

    def check(self, dice: random.Random) -> Found:
        """Change a lake and run commands on it."""
        number = dice.randrange(len(self.sound))
        if self._world.exists():
            shutil.rmtree(self._world)
        lake = self._world / "lake"
        shutil.copytree(self.sound[number], lake)
        write_witnesses(self._world)
        changes, is_forged = change(lake, dice)
        story = f"{self.sound[number].name}: {', '.join(changes)}"
        before = tree(self._world, lake)
        end = "as before"
        page = lake.parent / "page.html"
        arms = ("--a", "build=build0", "--b", "build=build1")
        build = ("build", str(self._fleet), "-o", str(lake), "--jobs", "1", "--from-path", PATTERN)
        changing = dice.choice((("compact", str(lake)), build))
        for words in (
            ("query", str(lake), _QUERY, "--json"),
            ("compare", str(lake), *arms),
            ("report", str(lake), "-o", str(page)),
            changing,
            ("query", str(lake), _QUERY, "--json"),
        ):
            said = command(*words)
            page.unlink(missing_ok=True)
            fault = said.fault
            if (after := tree(self._world, lake)) != before:
                what = [path for path in {*before, *after} if before.get(path) != after.get(path)]
                fault = f"touched {', '.join(sorted(what)[:5])}"
            elif words[0] == "query" and not fault:
                # A build makes a lake that is as the first one.
                sound = self._figures[number], self._figures[0]
                end, fault = judged(said, sound, end, is_forged=is_forged)
            if fault:
                return Found("a finding", story, f"fleet {words[0]}: {fault}")
        return Found(end, story)


def judged(
    said: Said, sound: Sequence[dict[str, int]], end: str, *, is_forged: bool
) -> tuple[str, str]:
    """What became of a lake, and what is wrong with the answer to the query.

    sound: the answers that need no word. end: what became of it so far.
    """
    if said.code:
        return "refused", ""
    if is_forged:
        return "forged", ""
    if said.err:
        return "named", ""
    answer = json.loads(said.out)[0]
    if answer not in sound:
        return end, f"{answer} in place of {sound[0]}, without a word"
    return end, ""


def command(*words: str) -> Said:
    """Run a command of `opscope fleet` in this process."""
    from viewer.cli import main
    from viewer.cli.commands.fleet import build
    from viewer.fleet.engine import InProcess

    out, err = io.StringIO(), io.StringIO()
    before = signal.signal(signal.SIGVTALRM, _too_slow)
    signal.setitimer(signal.ITIMER_VIRTUAL, _MOST_SECONDS)
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            # A process for each build would take longer than all else.
            mock.patch.object(build, "LocalProcesses", return_value=InProcess()),
        ):
            try:
                code = main(["fleet", *words])
            except SystemExit as stopped:
                code = stopped.code if isinstance(stopped.code, int) else -1
    except TooSlow:
        return Said(-1, out.getvalue(), f"no end after {_MOST_SECONDS} s")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return Said(code, out.getvalue(), err.getvalue())


def _query(lake: Path) -> Said:
    said = command("query", str(lake), _QUERY, "--json")
    assert (said.code, said.err) == (0, ""), said
    return said


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise TooSlow


def _saved(world: Path, findings: Path, name: str) -> str:
    findings.mkdir(parents=True, exist_ok=True)
    saved = findings / f"lakes-{name}"
    shutil.rmtree(saved, ignore_errors=True)
    shutil.copytree(world, saved, symlinks=True, ignore=_pipes)
    return f"opscope fleet ... {saved / 'lake'}"


def _pipes(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if (Path(folder) / name).is_fifo()]
