"""Shared by all tests: offscreen Qt, settings in a throw-away folder, the bundled data."""

import os
import tempfile
from pathlib import Path

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
# Before Qt is imported: QSettings of any test must not touch those of the user.
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="opscope-test-settings-")

DATA = Path(__file__).parent / "data"


@pytest.fixture
def data() -> Path:
    """The folder of small real and synthesized input files."""
    return DATA
