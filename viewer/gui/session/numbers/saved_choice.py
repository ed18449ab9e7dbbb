"""The choice of a reference and of debug buffers as a session file stores it. No Qt."""

from __future__ import annotations

from collections.abc import Sequence

from viewer.codecs.file_stamps import stamp_of
from viewer.gui.session.numbers.references import Automatic, NumbersChoice, Reference
from viewer.view.sessions.session_file import SavedInput, SavedNumbers, input_of, place_of


def kept_choice(choice: NumbersChoice, folder: str) -> SavedNumbers:
    """Return the saved form of a choice, in a session file in a folder."""

    def kept(path: str) -> SavedInput:
        return input_of(path, stamp_of(path), folder)

    reference, buffers = choice.reference, tuple(map(kept, choice.buffers))
    if isinstance(reference, Reference):
        return SavedNumbers(kept(reference.path), reference.case, buffers=buffers)
    return SavedNumbers(is_off=reference is Automatic.NOTHING, buffers=buffers)


def found_choice(
    saved: SavedNumbers, folder: str, inputs: Sequence[tuple[SavedInput, str | None]]
) -> tuple[NumbersChoice, list[str]]:
    """Return the choice that a session file in a folder has, and the names of missing files.

    inputs: the inputs of the session, and where each is now: a reference can be one of them.
    """
    known = {one.absolute: path for one, path in inputs if one.absolute and path is not None}
    missing: list[str] = []

    def found(one: SavedInput) -> str | None:
        path = known.get(one.absolute) or place_of(one, folder)
        if path is None:
            missing.append(one.path)
        return path

    reference: Reference | Automatic = Automatic.NOTHING if saved.is_off else Automatic.COMPARED
    path = None if saved.reference is None else found(saved.reference)
    if path is not None:
        reference = Reference(path, saved.case)
    buffers = tuple(path for path in map(found, saved.buffers) if path is not None)
    return NumbersChoice(reference, buffers), missing
