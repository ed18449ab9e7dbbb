"""Modules of packaging/, which is no package."""

import importlib
import sys

import pytest

from tests.paths import ROOT


@pytest.fixture
def script(monkeypatch):
    """Imports a module of packaging/, as its scripts do."""
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    monkeypatch.syspath_prepend(str(ROOT / "packaging/windows"))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        del sys.modules[name]
