"""Repeats a finding: `python -m tests.reliability.fuzz KIND FILE...` runs all oracles on files."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from tests.reliability.fuzz import checks, oracles
from tests.reliability.fuzz.kinds import KINDS


def main(arguments: list[str]) -> int:
    """Print what is wrong with each file; returns 1 if anything is."""
    if len(arguments) < 2 or arguments[0] not in KINDS:
        print(f"usage: python -m tests.reliability.fuzz KIND FILE...; KIND: {', '.join(KINDS)}")
        return 2
    kind, found = KINDS[arguments[0]], 0
    with tempfile.TemporaryDirectory() as folder:
        oracles.prepare(Path(folder))
        for name in arguments[1:]:
            path = Path(folder) / f"input{kind.suffix}"
            shutil.copyfile(name, path)
            defect = checks.both(path, kind) or checks.by_engine(path, kind)
            found += defect is not None
            print(f"{name}: {'nothing found' if defect is None else defect.text}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
