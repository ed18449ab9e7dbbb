"""Parsers of delegate metadata: which one decides, and what a faulty one does."""

from __future__ import annotations

import importlib.metadata
from enum import IntEnum

import numpy as np
import pytest

from viewer.formats import metadata_parsers
from viewer.formats.metadata_parsers import (
    GROUP,
    MetadataParsers,
    register_metadata_parser,
    unregister_metadata_parser,
)


class Point:
    """An entry point, as a package installs it."""

    def __init__(self, name, parser):
        self.name, self._parser = name, parser

    def load(self):
        if isinstance(self._parser, Exception):
            raise self._parser
        return self._parser


@pytest.fixture
def install(monkeypatch):
    """Installs parsers as entry points for one test."""

    def put(**parsers):
        points = [Point(name, parser) for name, parser in parsers.items()]
        asked = lambda group: points if group == GROUP else []  # noqa: E731
        monkeypatch.setattr(importlib.metadata, "entry_points", asked)
        metadata_parsers._installed.cache_clear()

    yield put
    metadata_parsers._installed.cache_clear()


def test_the_first_parser_that_knows_the_bytes_decides(install):
    install(a=lambda raw: None, b=lambda raw: {"b": 1}, c=lambda raw: {"c": 1})
    assert MetadataParsers().values(b"x") == {"b": 1}


def test_a_parser_registered_at_run_time_comes_first(install):
    install(a=lambda raw: {"a": 1})
    parser = register_metadata_parser(lambda raw: {"mine": 1} if raw == b"x" else None)
    try:
        assert MetadataParsers().values(b"x") == {"mine": 1}
        assert MetadataParsers().values(b"y") == {"a": 1}
    finally:
        unregister_metadata_parser(parser)
    assert MetadataParsers().values(b"x") == {"a": 1}


def test_a_parser_that_cannot_be_loaded_is_a_fault_of_its_own(install):
    install(gone=ImportError("x"), good=lambda raw: {"v": 1})
    parsers = MetadataParsers()
    assert parsers.values(b"x") == {"v": 1}
    assert list(parsers.faults) == ["metadata parser gone cannot be loaded (ImportError): skipped"]


@pytest.mark.parametrize(
    ("result", "fault"),
    [
        ([1], "returned list instead of a dict"),
        ({1: 1}, "returned a key of type int"),
        ({"v": None}, "returned a value of type NoneType"),
        ({"v": b""}, "returned a value of type bytes"),
    ],
)
def test_a_result_of_another_type_is_a_fault(install, result, fault):
    install(odd=lambda raw: result)
    parsers = MetadataParsers()
    assert parsers.values(b"x") is None
    assert parsers.faults == {f"metadata parser odd {fault}: skipped": [b"x"]}


def test_values_lose_their_subclass(install):
    code = IntEnum("code", {"CONV": 5})
    install(sub=lambda raw: {"a": code.CONV, "b": np.float64(0.5), "c": True, "d": np.str_("x")})
    found = MetadataParsers().values(b"x")
    assert found == {"a": 5, "b": 0.5, "c": True, "d": "x"}
    assert [type(v) for v in found.values()] == [int, float, bool, str]
