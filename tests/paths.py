"""Where the files are that tests read."""

from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
DATA = TESTS / "data"
SNAPSHOTS = TESTS / "snapshots"
SAMPLES = ROOT / "resources" / "samples"
