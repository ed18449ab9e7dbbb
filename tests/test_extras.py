"""A hint how to install something fits the distribution that runs."""

import importlib.util
import sys

import pytest

from viewer.extras import how_to_install


def test_a_hint_names_the_extra():
    assert how_to_install("queries need duckdb", "query") == (
        'queries need duckdb: pip install "opscope[query]"'
    )


def test_in_opscope_core_it_names_that(monkeypatch):
    is_there = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "viewer.gui" else is_there(name)
    )
    assert how_to_install("queries need duckdb", "query").endswith('"opscope-core[query]"')


@pytest.mark.parametrize("extra", ["query", "mcp", "fleet"])
def test_in_an_application_no_command_is_offered_that_cannot_help(monkeypatch, extra):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    text = how_to_install("it needs a package", extra)
    assert "this application does not include" in text
    assert text.endswith(f'install Opscope with pip install "opscope[{extra}]"')
