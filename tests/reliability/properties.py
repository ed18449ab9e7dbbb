"""Property tests with new random examples (`--long`).

All other runs use the same examples each time, so that a change fails only for what it changed: 40
of each property by day, 400 by night.
"""

from __future__ import annotations

import subprocess
import sys

from tests.paths import ROOT
from tests.reliability.campaign import Finding, Job, Options, Outcome

PROFILE = "explore"
_LIMIT = 3 * 3600.0
_PASSED, _FAILED = "PASSED", "FAILED"


def jobs(options: Options) -> list[Job]:
    """One job for all properties."""
    return [Job("properties", "random examples", check, limit=_LIMIT)]


def check(options: Options) -> Outcome:
    """Run all tests of hypothesis with the seed of the campaign."""
    if not options.is_long:
        return Outcome(0, figures="skipped: only with --long")
    command = [*_pytest(options.seed), "-m", "hypothesis", "-rA", "--tb=no", "--no-header", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=600)
    return outcome_of(done.stdout, done.returncode, options.seed)


def outcome_of(report: str, code: int, seed: int) -> Outcome:
    """The outcome of a run of pytest, from its short summary and its exit code."""
    lines = [line.partition(" ") for line in report.splitlines()]
    failed = [rest for state, _, rest in lines if state == _FAILED]
    findings = [Finding(what, _repeat(what.partition(" - ")[0], seed)) for what in failed]
    if code and not findings:
        findings.append(Finding(f"pytest ended with {code}", _repeat("-m hypothesis", seed)))
    passed = sum(state == _PASSED for state, _, _ in lines)
    return Outcome(passed + len(failed), tuple(findings))


def _repeat(tests: str, seed: int) -> str:
    return " ".join(["python", *_pytest(seed)[1:], tests])


def _pytest(seed: int) -> list[str]:
    options = [f"--hypothesis-profile={PROFILE}", f"--hypothesis-seed={seed}"]
    return [sys.executable, "-m", "pytest", *options]
