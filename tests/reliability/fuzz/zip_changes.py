"""Changes of ZIP archives: members whose content changes, that go away, repeat or change names."""

from __future__ import annotations

import io
import warnings
import zipfile

from tests.reliability.fuzz import json_changes
from tests.reliability.fuzz.values import NAMES, Dice

Members = list[tuple[str, bytes]]


def members(data: bytes) -> Members:
    """Return names and contents. Raises ValueError if the archive cannot be read."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return [(i.filename, archive.read(i)) for i in archive.infolist()]
    except (
        zipfile.BadZipFile,
        NotImplementedError,
        RuntimeError,
        EOFError,
        OSError,
        KeyError,
    ) as e:
        raise ValueError(str(e)) from e
    except Exception as error:  # zlib.error, struct.error and others of broken archives
        raise ValueError(str(error)) from error


def archive(parts: Members, dice: Dice | None = None) -> bytes:
    """Return an archive of some members, packed or not."""
    packed = dice is not None and dice.random() < 0.3
    made = io.BytesIO()
    how = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    with warnings.catch_warnings(), zipfile.ZipFile(made, "w", how) as new:
        warnings.simplefilter("ignore")  # two members of one name are what is wanted
        for name, content in parts:
            new.writestr(zipfile.ZipInfo(name), content, how)
    return made.getvalue()


def changed(data: bytes, dice: Dice) -> bytes:
    """Return another archive. Raises ValueError if the data is none."""
    parts = members(data)
    for _ in range(dice.choice((1, 1, 2))):
        if not parts:
            break
        at, how = dice.randrange(len(parts)), dice.random()
        name, content = parts[at]
        if how < 0.08:
            del parts[at]
        elif how < 0.16:
            parts.insert(dice.randrange(len(parts)), (name, dice.choice(parts)[1]))
        elif how < 0.22:
            other = dice.choice((f"{name}/x", name[:-1], *NAMES)).replace("\0", "") or "x"
            parts[at] = other, content
        elif content[:1] in (b"{", b"["):
            try:
                parts[at] = name, json_changes.changed(content, dice)
            except ValueError:
                parts[at] = name, content[: len(content) // 2]
        else:
            parts[at] = name, content + b"{}"
    return archive(parts, dice)
