"""Parsers of delegate metadata that other packages provide, for metadata that is no JSON object.

A parser gets the bytes that a delegate logged with one event, and returns the values in them by
name, or None if it does not know the bytes. An installed package registers one with an entry point
of the group `opscope.delegate_metadata`. Those registered at run time come first, the latest one
before the others. A parser that raises, or returns anything else, is counted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

GROUP = "opscope.delegate_metadata"

MetadataValue = int | float | bool | str
MetadataParser = Callable[[bytes], Mapping[str, MetadataValue] | None]

_registered: list[MetadataParser] = []


def register_metadata_parser(parser: MetadataParser) -> MetadataParser:
    """Use a parser for all files that are read from now on.

    Args:
        parser: Gets the bytes that a delegate logged with an event. It returns their values by name
            (numbers, bools and texts), or None if it does not know the bytes.

    Returns:
        The parser, so that this works as a decorator.

    Source:
        `delegate_debug_metadata` in ExecuTorch's devtools/etdump/etdump_schema_flatcc.fbs: bytes
        whose meaning the delegate defines.
    """
    if parser not in _registered:
        _registered.insert(0, parser)
    return parser


def unregister_metadata_parser(parser: MetadataParser) -> None:
    """Stop using a parser that was registered at run time.

    Args:
        parser: The function that was registered.

    Raises:
        ValueError: If it is not registered.
    """
    _registered.remove(parser)


@contextmanager
def also_with(parser: MetadataParser | None) -> Iterator[None]:
    """Use one more parser, if any, for the files that are read inside a `with` statement."""
    is_new = parser is not None and parser not in _registered
    if parser is not None:
        register_metadata_parser(parser)
    try:
        yield
    finally:
        if is_new and parser in _registered:
            _registered.remove(parser)


class MetadataParsers:
    """All parsers at one moment.

    faults: what went wrong, by sentence, each with the bytes on which it did; b"" for an entry
    point that could not be loaded.
    """

    def __init__(self) -> None:
        installed, failed = _installed()
        self._parsers = [*((_name(parser), parser) for parser in _registered), *installed]
        self.faults: dict[str, list[bytes]] = {fault: [b""] for fault in failed}

    def values(self, raw: bytes) -> dict[str, MetadataValue] | None:
        """Return what the first parser that knows the bytes found in them, None if none does."""
        for name, parser in self._parsers:
            try:
                answer = parser(raw)
                if answer is None:
                    continue
                wrong = _wrong(answer)
                values = {} if wrong else {key: _plain(value) for key, value in answer.items()}
            except Exception as error:
                wrong = f"raised {type(error).__name__}"
            if not wrong:
                return values
            self.faults.setdefault(f"metadata parser {name} {wrong}: skipped", []).append(raw)
        return None


def _wrong(answer: object) -> str:
    """Return what is wrong with a parser's result, "" if nothing is."""
    if not isinstance(answer, Mapping):
        return f"returned {type(answer).__name__} instead of a dict"
    for key, value in answer.items():
        if not isinstance(key, str):
            return f"returned a key of type {type(key).__name__}"
        if not isinstance(value, int | float | str):  # a bool is an int
            return f"returned a value of type {type(value).__name__}"
    return ""


def _plain(value: MetadataValue) -> MetadataValue:
    """Return a value without its subclass, such as that of an enum or of numpy."""
    for kind in (bool, int, float):
        if isinstance(value, kind):
            return kind(value)
    return str(value)


def _name(parser: MetadataParser) -> str:
    return str(getattr(parser, "__qualname__", None) or type(parser).__qualname__)


@functools.cache
def _installed() -> tuple[list[tuple[str, MetadataParser]], list[str]]:
    """Return the parsers of installed packages by name, and a sentence for each that fails."""
    from importlib.metadata import entry_points  # takes 0.1 s

    parsers, failed = [], []
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            parsers.append((point.name, point.load()))
        except Exception as error:
            failed.append(
                f"metadata parser {point.name} cannot be loaded ({type(error).__name__}): skipped"
            )
    return parsers, failed
