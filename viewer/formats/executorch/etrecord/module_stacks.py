"""Decodes `nn_module_stack`, the modules around a node: "key,path,type;key,path,type".

Keys of a ModuleDict may have any letters, commas and semicolons too, and nothing is escaped. What
tells the entries apart is that torch makes the key from the path:

* non-strict export: "L__self__" and the path; once more for each export of an exported module
* strict export: the `id()` of the module; "L__self__" for the outermost module
* up to torch 2.3: the path as Python writes it, with "_" for all but letters and digits:
  "L__self___blocks_0" for "L['self'].blocks.0"
* of a later call of the same module, "@1" is added

and that a type is a name with dots. If that leaves several readings, only the one whose paths are
all modules of the model counts. Without exactly one, the modules are unknown.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator
from itertools import islice

Modules = tuple[tuple[str, str], ...]  # (path, type), outermost first

# Shown as the module of a node whose modules are not clear.
UNKNOWN: Modules = (("(unknown module)", ""),)
# torch's marker on nodes that a pass created outside any module.
_NO_MODULE = "_empty_nn_module_stack_from_metadata_hook"
_ROOT, _SELF = "L__self__", "L['self']."
# Where a class is defined in a function, its name has "<locals>".
_TYPE = re.compile(r"[\w.<>]+")
_CALL = re.compile(r"@\d{1,9},")
# An id is an address, so that it has more digits than the keys of lists.
_ID = re.compile(r"(?:L__self__)*\d{6,20}(?:@\d{1,9})?")
_IDS_INSIDE = re.compile(r";(?:L__self__)*\d{6,20}(?:@\d{1,9})?,")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9]")
_PLAIN_PATH = re.compile(r"[\w.]*")
# What strict export makes of a key with quotes: d._modules["g'h"].
_SUBSCRIPT = re.compile(r"\._modules\[(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')\]")
# No model is nested as deep as this; the text is cut at every pair of semicolons.
_MOST_LETTERS, _MOST_PARTS = 16_384, 128


def modules_of(stack: str, names: Collection[str] = ()) -> Modules | None:
    """The modules around a node; None if its text can be read in no way, or in several.

    names: the paths of all modules of the model, where the file lists them.
    """
    if not stack:
        return ()
    if len(stack) > _MOST_LETTERS or stack.count(";") >= _MOST_PARTS:
        return None
    readings = list(islice(_readings(stack, names, lambda _: True), 2))
    if len(readings) > 1:
        readings = list(islice(_readings(stack, names, names.__contains__), 2))
    elif not readings:
        readings = [*_plain(stack)]
    if len(readings) != 1:
        return None
    return tuple((path, type_) for path, type_ in readings[0] if path != _NO_MODULE)


def _readings(
    stack: str, names: Collection[str], counts: Callable[[str], bool]
) -> Iterator[Modules]:
    """Every way to cut the text into entries whose paths count."""
    ends = [i for i, letter in enumerate(stack) if letter == ";"] + [len(stack)]
    starts = [0, *(end + 1 for end in ends[:-1])]
    # By start: the entries there after which the rest can be read too, and the start of that.
    entries: list[dict[tuple[tuple[str, str], int], None]] = [{} for _ in starts]
    for i in reversed(range(len(starts))):
        for j in range(i, len(ends)):
            if j + 1 == len(starts) or entries[j + 1]:
                for path, type_ in _entries(stack[starts[i] : ends[j]], names):
                    if counts(path):
                        entries[i][(path, type_), j + 1] = None
    todo: list[tuple[int, Modules]] = [(0, ())]
    while todo:
        start, before = todo.pop()
        if start == len(starts):
            yield before
        else:
            todo += [(after, (*before, entry)) for entry, after in entries[start]]


def _entries(text: str, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """The paths and types that a text can state as one entry."""
    rest, comma, type_ = text.rpartition(",")
    if not comma or _TYPE.fullmatch(type_) is None:
        return
    if rest == f"{_NO_MODULE},{_NO_MODULE}":
        yield _NO_MODULE, type_
        return
    key, comma, path = rest.partition(",")
    if comma and _ID.fullmatch(key):
        # Any path fits an id, also one over the entries that follow.
        path = _SUBSCRIPT.sub(_subscript, path)
        if path in names or _IDS_INSIDE.search(path) is None:
            yield path, type_
    root = 0
    while True:
        for path in _repeated(rest[root:]):
            if root or path:
                yield path, type_
        if not rest.startswith(_ROOT, root):
            break
        root += len(_ROOT)
    for path in _spelled(rest):
        yield path, type_


def _repeated(text: str) -> Iterator[str]:
    """The path of "path,path" or "path@1,path"."""
    half = len(text) // 2
    if text[half : half + 1] == "," and text[:half] == text[half + 1 :]:
        yield text[:half]
    for call in _CALL.finditer(text) if "@" in text else ():
        if text[: call.start()] == text[call.end() :]:
            yield text[: call.start()]


def _spelled(text: str) -> Iterator[str]:
    """The path of "key,path" whose key is the path with "_" for all but letters and digits."""
    if call := _CALL.search(text):
        text = f"{text[: call.start()]},{text[call.end() :]}"
    for before in ("", _SELF):
        middle = (len(text) - 1 + len(before)) // 2
        path = text[middle + 1 :]
        if middle >= 0 and text[middle : middle + 1] == "," and len(before) + len(path) == middle:
            key = _NOT_IN_NAMES.sub("_", before + path)
            if path and key == text[:middle] and key != path:
                yield path.removeprefix(_SELF)


def _plain(stack: str) -> Iterator[Modules]:
    """The reading of a text without odd letters, whose keys are none of torch's."""
    parts = [part.split(",") for part in stack.split(";")]
    if all(
        len(part) == 3 and _PLAIN_PATH.fullmatch(part[1].strip()) and part[2].strip()
        for part in parts
    ):
        yield tuple((path.strip(), type_.strip()) for _, path, type_ in parts)


def _subscript(match: re.Match[str]) -> str:
    try:
        return f".{ast.literal_eval(match[1])}"
    except (ValueError, SyntaxError):
        return match[0]
