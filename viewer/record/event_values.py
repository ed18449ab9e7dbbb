"""Checks the values passed to `EventTracer` for what an ETDump can store."""

from __future__ import annotations

from viewer.program.debug_handles import Identifier
from viewer.record.debug_handle_map import checked_identifier
from viewer.record.event_batches import EventKind

INT32 = 1 << 31  # the first number that does not fit a signed 32-bit integer
_NO_NUMBER = -1  # an ETDump's value for "no integer identifier"
_NUMBER, _TEXT = int(EventKind.NUMBER), int(EventKind.TEXT)


def event_identifier(
    name: str | None, delegate_debug_id: Identifier | None
) -> tuple[int, Identifier]:
    """The event kind and the checked name or identifier; exactly one must be given.

    Raises TypeError or ValueError.
    """
    if (name is None) is (delegate_debug_id is None):
        raise ValueError(
            "an event of a delegate has either a name or a delegate_debug_id: pass exactly one"
        )
    if name is not None:
        return _TEXT, checked_text(name, "a name", "; pass a number as delegate_debug_id")
    identifier = checked_identifier(delegate_debug_id)
    if isinstance(identifier, str):
        return _TEXT, checked_text(identifier, "a delegate_debug_id")
    if identifier == _NO_NUMBER or not -INT32 <= identifier < INT32:
        raise ValueError(
            f"the delegate_debug_id {identifier} cannot be kept: an ETDump has room for 32 "
            "bits, and takes -1 as none; number from 0 up"
        )
    return _NUMBER, identifier


def checked_text(text: str, what: str, remedy: str = "") -> str:
    """The text as a plain str. Raises TypeError or ValueError if it cannot be stored unchanged."""
    if not isinstance(text, str):
        raise TypeError(f"{what} is a text, not {text!r}{remedy}")
    if not text:
        raise ValueError(f"{what} has at least one character")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError(
                f"{what} must be encodable as UTF-8, which {text!r} is not: it has half of a "
                'surrogate pair; decode file names with errors="replace"'
            ) from None
    return str.__str__(text)  # an enum member becomes its value


def metadata_bytes(metadata: bytes | str) -> bytes:
    """Metadata as bytes; a str is encoded as UTF-8. Raises TypeError or ValueError."""
    if isinstance(metadata, str):
        try:
            return metadata.encode()
        except UnicodeEncodeError:
            raise ValueError(
                "metadata must be bytes, or a text that can be encoded as UTF-8: it has half of a "
                "surrogate pair"
            ) from None
    if not isinstance(metadata, (bytes, bytearray, memoryview)):
        raise TypeError(f"metadata is bytes or a text, not {metadata!r}")
    return bytes(metadata)


def bad_instruction(chain_index: int, instruction_id: int) -> ValueError:
    """The error for a chain index or instruction id out of range."""
    return ValueError(
        f"there is no instruction {instruction_id!r} of chain {chain_index!r}: both count from 0 "
        "up to 2**31 - 1; a scope of the runtime has the chain -1"
    )
