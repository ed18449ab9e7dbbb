"""Counts the reference outputs in an ETRecord, without loading the pickle that they are in.

The member `reference_outputs` is a dict from method to a list with one entry per bundled input,
written by torch.save: a ZIP archive with a pickle. Only its lists and dicts are followed, opcode by
opcode, as `pickletools` describes them; nothing else is created, and nothing is called.
"""

from __future__ import annotations

import pickletools
import zipfile
from typing import IO, Any

_PICKLE = "data.pkl"
_MARK: Any = object()
_UNKNOWN: Any = None
# What reading a damaged archive or pickle raises.
_DAMAGED = (
    zipfile.BadZipFile, ValueError, KeyError, IndexError, EOFError, NotImplementedError, TypeError,
)  # fmt: skip


class NoReferenceOutputs(Exception):
    """The member is no archive of torch.save, or its pickle is damaged."""


def counts_of(member: IO[bytes]) -> dict[str, int]:
    """Return the number of reference outputs per method. Raises NoReferenceOutputs."""
    try:
        with zipfile.ZipFile(member) as archive:
            name = next(n for n in archive.namelist() if n.rpartition("/")[2] == _PICKLE)
            if archive.getinfo(name).compress_type != zipfile.ZIP_STORED:
                raise NoReferenceOutputs("torch.save packs nothing")
            counts = _value(read_member(archive, name))
        if not all(isinstance(method, str) for method in counts):
            raise NoReferenceOutputs("a method has no name")
        return {method: len(outputs) for method, outputs in counts.items()}
    except (*_DAMAGED, AttributeError, StopIteration) as error:
        raise NoReferenceOutputs(str(error)) from error


def read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a member of an archive. Raises BadZipFile or EOFError if it has another size.

    `ZipFile.read` takes as much memory as the packed size that the archive states, which may be
    more than the file has.
    """
    size = archive.getinfo(name).file_size
    with archive.open(name) as member:
        raw = member.read(size)
        if len(raw) != size or member.read(1):
            raise zipfile.BadZipFile(f"{name} has another size than the archive states")
    return raw


def _value(raw: bytes) -> Any:
    """Return the lists, dicts and strings of a pickle; None in place of all other values."""
    stack: list[Any] = []
    memo: dict[Any, Any] = {}
    for opcode, argument, _ in pickletools.genops(raw):
        name = opcode.name
        if name == "MARK":
            stack.append(_MARK)
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            memo[argument] = stack[-1]
        elif name == "MEMOIZE":
            memo[len(memo)] = stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            stack.append(memo[argument])
        elif name in ("APPEND", "SETITEM"):
            taken = _pop(stack, 1 if name == "APPEND" else 2)
            _fill(stack[-1], taken)
        elif name in ("APPENDS", "SETITEMS"):
            taken = _pop_to_mark(stack)
            _fill(stack[-1], taken)
        elif name == "STOP":
            break
        else:
            before = opcode.stack_before
            if pickletools.markobject in before:
                taken = _pop_to_mark(stack)
                _pop(stack, before.index(pickletools.markobject))
            else:
                taken = _pop(stack, len(before))
            stack += [_pushed(name, argument, taken) for _ in opcode.stack_after]
    return stack.pop()


def _pop(stack: list[Any], count: int) -> list[Any]:
    if len(stack) < count:
        raise IndexError("the pickle takes more than it has")
    taken = stack[len(stack) - count :]
    del stack[len(stack) - count :]
    return taken


def _pop_to_mark(stack: list[Any]) -> list[Any]:
    mark = len(stack) - 1 - stack[::-1].index(_MARK)
    taken = stack[mark + 1 :]
    del stack[mark:]
    return taken


def _fill(target: Any, taken: list[Any]) -> None:
    """Add values to a list, or keys and values to a dict, if the target is one."""
    if isinstance(target, list):
        target += taken
    elif isinstance(target, dict):
        target.update(zip(taken[::2], taken[1::2], strict=True))


def _pushed(name: str, argument: Any, taken: list[Any]) -> Any:
    if name in ("EMPTY_LIST", "LIST"):
        return list(taken)
    if name in ("EMPTY_DICT", "DICT"):
        return dict(zip(taken[::2], taken[1::2], strict=True))
    return argument if isinstance(argument, str) and "UNICODE" in name else _UNKNOWN
