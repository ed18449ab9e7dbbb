"""Known vulnerabilities of dependencies, by pip-audit in its own environment (`--long`)."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.reliability.campaign import Finding, Options, Outcome

_INSTALL_SECONDS, _AUDIT_SECONDS = 600.0, 300.0


def check(options: Options) -> Outcome:
    """Audit the packages of this environment."""
    if not options.is_long:
        return Outcome(0, figures="skipped: only with --long")
    with tempfile.TemporaryDirectory(prefix="opscope-reliability-") as name:
        frozen = Path(name) / "requirements.txt"
        freeze = [sys.executable, "-m", "pip", "list", "--format=freeze", "--exclude", "opscope"]
        frozen.write_text(
            subprocess.run(freeze, capture_output=True, text=True, timeout=600).stdout
        )
        program = Path(name) / "venv" / "bin" / "python"
        try:
            make = [sys.executable, "-m", "venv", str(Path(name) / "venv")]
            subprocess.run(make, check=True, capture_output=True, timeout=_INSTALL_SECONDS)
            install = [str(program), "-m", "pip", "install", "-q", "pip-audit"]
            subprocess.run(install, check=True, capture_output=True, timeout=_INSTALL_SECONDS)
        except (OSError, subprocess.SubprocessError):
            return Outcome(0, figures="skipped: pip-audit cannot be installed")
        audit = [str(program), "-m", "pip_audit", "-r", str(frozen), "--no-deps", "--disable-pip",
                 "--format", "json", "--progress-spinner", "off"]  # fmt: skip
        try:
            done = subprocess.run(audit, capture_output=True, text=True, timeout=_AUDIT_SECONDS)
        except subprocess.TimeoutExpired:
            return Outcome(0, figures="skipped: no vulnerability data")
    return outcome_of(done.stdout)


def outcome_of(report: str) -> Outcome:
    """The outcome of an audit, from its JSON; no JSON means that it had no data."""
    try:
        packages = json.loads(report)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return Outcome(0, figures="skipped: no vulnerability data")
    # Those of which the service has no data have no version, but a reason.
    audited = [one for one in packages if "skip_reason" not in one]
    if not audited:
        return Outcome(0, figures="skipped: no vulnerability data")
    found = [
        Finding(f"{one['name']} {one['version']}: {flaw['id']}, fixed in {flaw['fix_versions']}")
        for one in audited
        for flaw in one.get("vulns", ())
    ]
    left = len(packages) - len(audited)
    return Outcome(len(audited), tuple(found), f"{left} without data" if left else "")
