"""What logged values can be compared with, and why something else cannot. No Qt."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from enum import Enum

import numpy as np

from viewer.codecs.file_bytes import stamp_of
from viewer.codecs.reading import UnreadableFile
from viewer.dataclasses import dataclass
from viewer.formats import choose, format_of, head_of
from viewer.model.trace import Trace, UntimedKind
from viewer.view.sessions.session_file import SavedInput, SavedNumbers, input_of, place_of

ETDUMP = format_of("executorch.etdump.reader")
ETRECORD = format_of("executorch.etrecord.reader")
_REFERENCE_OUTPUTS = "reference_outputs"  # the member of an ETRecord that is a pickle
_NOT_ONE = (
    "A reference is another ETDump with logged values, an .npz of arrays, or a bundled program "
    "(.bpte)"
)


@dataclass(frozen=True, slots=True)
class Reference:
    """A file to compare with. case: of a bundled program, from 0; None: as the profile states."""

    path: str
    case: int | None = None

    @property
    def name(self) -> str:
        """Its file name, and the test case."""
        name = os.path.basename(self.path)
        return name if self.case is None else f"{name} · test case {self.case}"


class Automatic(Enum):
    """What values are compared with if the user chose no file."""

    COMPARED = "B of the comparison"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class NumbersChoice:
    """What the user chose for logged values. buffers: the paths of debug buffers."""

    reference: Reference | Automatic = Automatic.COMPARED
    buffers: tuple[str, ...] = ()


class FileKind(Enum):
    """What a file that the user chose is used for."""

    ARRAYS = "arrays"
    EXPECTED = "expected outputs"
    PROFILE = "profile"
    BUFFER = "debug buffer"


def kind_of_file(path: str) -> FileKind:
    """Return what a chosen file is used for. Raises UnreadableFile, which says why it cannot be."""
    from viewer.formats.executorch.debug_buffer import is_debug_buffer
    from viewer.formats.executorch.pte.bundled_outputs import is_bundled
    from viewer.formats.npz import is_npz

    if is_npz(path):
        return FileKind.ARRAYS
    if is_bundled(path):
        return FileKind.EXPECTED
    if is_debug_buffer(path):
        return FileKind.BUFFER
    form = choose(head_of(path), path).name
    if form == ETDUMP.name:
        return FileKind.PROFILE
    if form == ETRECORD.name:
        raise UnreadableFile(path, _record_reason(path), remedy=_NOT_ONE)
    raise UnreadableFile(path, f"this is a file of the format {form}", remedy=_NOT_ONE)


def _record_reason(path: str) -> str:
    from viewer.formats.executorch.logged_profile import PICKLED

    if has_pickled_references(path):
        return PICKLED
    return "an ETRecord has the model, and no logged values"


def has_pickled_references(path: str) -> bool:
    """Whether an ETRecord has reference outputs, which nothing here loads."""
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.split("/")[0] == _REFERENCE_OUTPUTS for name in archive.namelist())
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return False


def has_values(trace: Trace) -> bool:
    """Whether a profile has logged values."""
    return trace.format == ETDUMP.name and bool(np.any(trace.untimed.kind == UntimedKind.DEBUG))


def offered_references(
    traces: Sequence[Trace], executables: Sequence[str], profile: str
) -> list[Reference]:
    """Return what is open and can be compared with a profile: other profiles, bundled programs.

    executables: paths of open program files. profile: its path.
    """
    from viewer.formats.executorch.pte.bundled_outputs import is_bundled

    references = [
        Reference(trace.path) for trace in traces if trace.path != profile and has_values(trace)
    ]
    return references + [Reference(path) for path in executables if is_bundled(path)]


def kept_choice(choice: NumbersChoice, folder: str) -> SavedNumbers:
    """Return the saved form of a choice, in a session file in a folder."""

    def saved_input(path: str) -> SavedInput:
        return input_of(path, stamp_of(path), folder)

    reference, buffers = choice.reference, tuple(map(saved_input, choice.buffers))
    if isinstance(reference, Reference):
        return SavedNumbers(saved_input(reference.path), reference.case, buffers=buffers)
    return SavedNumbers(is_off=reference is Automatic.NOTHING, buffers=buffers)


def found_choice(
    saved: SavedNumbers, folder: str, inputs: Sequence[tuple[SavedInput, str | None]]
) -> tuple[NumbersChoice, list[str]]:
    """Return the choice that a session file in a folder has, and the names of missing files.

    inputs: the inputs of the session, and where each is now: a reference can be one of them.
    """
    paths = {
        saved_input.absolute: path
        for saved_input, path in inputs
        if saved_input.absolute and path is not None
    }
    missing: list[str] = []

    def path_of(saved_input: SavedInput) -> str | None:
        path = paths.get(saved_input.absolute) or place_of(saved_input, folder)
        if path is None:
            missing.append(saved_input.path)
        return path

    reference: Reference | Automatic = Automatic.NOTHING if saved.is_off else Automatic.COMPARED
    path = None if saved.reference is None else path_of(saved.reference)
    if path is not None:
        reference = Reference(path, saved.case)
    buffers = tuple(path for path in map(path_of, saved.buffers) if path is not None)
    return NumbersChoice(reference, buffers), missing
