"""Prints the part of the installer's script that tells Windows which files Opscope opens.

    associations.py > build/associations.nsh

From the one list of types. Each type is offered to Opscope under a name of its own, in "Open with"
and in Settings > Default apps; a suffix that another program has already is not taken from it.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from application import APPLICATION_ID
from file_types import FileType, file_types

CAPABILITIES = r"Software\Opscope\Capabilities"


def progid(kind: FileType) -> str:
    """The name of a type in the registry."""
    return f"{APPLICATION_ID}.{kind.key}"


def associations() -> str:
    """Two macros: AssociateFiles and ForgetFiles. `SHCTX` is the machine or the user."""
    write = ["!macro AssociateFiles"]
    forget = ["!macro ForgetFiles"]
    for kind in file_types():
        key = rf"Software\Classes\{progid(kind)}"
        write += [
            _string(key, "", kind.title),
            _string(rf"{key}\DefaultIcon", "", r"$INSTDIR\opscope-gui.exe,0"),
            _string(rf"{key}\shell\open\command", "", r'"$INSTDIR\opscope-gui.exe" "%1"'),
        ]
        forget.append(f'  DeleteRegKey SHCTX "{key}"')
        for suffix in kind.single_suffixes:
            write += [
                _string(rf"Software\Classes\{suffix}\OpenWithProgids", progid(kind), ""),
                _string(rf"{CAPABILITIES}\FileAssociations", suffix, progid(kind)),
            ]
            offered = rf"Software\Classes\{suffix}\OpenWithProgids"
            forget.append(f'  DeleteRegValue SHCTX "{offered}" "{progid(kind)}"')
            # Only where nobody has it, and only as long as it is ours.
            write.append(f'  !insertmacro TakeIfFree "{suffix}" "{progid(kind)}"')
            forget.append(f'  !insertmacro GiveBack "{suffix}" "{progid(kind)}"')
    return "\n".join([*write, "!macroend", "", *forget, "!macroend", ""])


def _string(key: str, name: str, value: str) -> str:
    return f'  WriteRegStr SHCTX "{key}" "{name}" \'{value}\''


if __name__ == "__main__":
    sys.stdout.write(associations())
