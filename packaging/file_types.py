"""The file types that an installed Opscope claims, for every system, from one list.

The list is the MIME XML of Linux, `linux/org.opscope.Opscope.xml`: a type that is added there is in
the Windows installer and in the macOS bundle too. Only types that no other program claims are in
it; a suffix that many programs use has a low weight there and is not claimed elsewhere.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

from application import APPLICATION_ID, ROOT

SOURCE = ROOT / "packaging" / "linux" / f"{APPLICATION_ID}.xml"
_SPACE = "{http://www.freedesktop.org/standards/shared-mime-info}"
_USUAL_WEIGHT = 50  # what a glob without a weight has


@dataclass(frozen=True, slots=True)
class FileType:
    """One type: its MIME name, what people call it, and its own suffixes, ".etdp".

    parent: the MIME type that it is a kind of, "" if none. weak: suffixes that others use too.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    weak: tuple[str, ...] = ()
    parent: str = ""

    @property
    def key(self) -> str:
        """The name without what stands before the slash and without "x-": "executorch-etdump"."""
        return self.name.split("/")[1].removeprefix("x-").replace("+", "-")

    def document_type(self) -> dict[str, object]:
        """The entry of CFBundleDocumentTypes in Info.plist: Opscope shows such files."""
        return {
            "CFBundleTypeName": self.title,
            "CFBundleTypeRole": "Viewer",
            "LSHandlerRank": "Default",
            "LSItemContentTypes": [f"{APPLICATION_ID}.{self.key}"],
        }

    def type_declaration(self) -> dict[str, object]:
        """The entry of UTExportedTypeDeclarations in Info.plist: which files are of the type."""
        is_text = self.name.startswith("text/") or "json" in self.parent
        return {
            "UTTypeIdentifier": f"{APPLICATION_ID}.{self.key}",
            "UTTypeDescription": self.title,
            "UTTypeConformsTo": ["public.text" if is_text else "public.data"],
            "UTTypeTagSpecification": {
                # macOS knows the last suffix of a name only.
                "public.filename-extension": [s.rsplit(".", 1)[1] for s in self.single_suffixes],
                "public.mime-type": [self.name],
            },
        }

    @property
    def single_suffixes(self) -> tuple[str, ...]:
        """The suffixes with one dot, for systems that know no others."""
        return tuple(s for s in self.suffixes if s.count(".") == 1)


def all_types() -> list[FileType]:
    """Every type of the list, in its order."""
    return [_read(node) for node in ElementTree.parse(SOURCE).getroot().iter(f"{_SPACE}mime-type")]


def file_types() -> list[FileType]:
    """The types that Windows and macOS can tell: those with a suffix of one dot."""
    return [kind for kind in all_types() if kind.single_suffixes]


def _read(node: ElementTree.Element) -> FileType:
    own: list[str] = []
    weak: list[str] = []
    for glob in node.iter(f"{_SPACE}glob"):
        is_weak = int(glob.get("weight", _USUAL_WEIGHT)) < _USUAL_WEIGHT
        (weak if is_weak else own).append(glob.attrib["pattern"].removeprefix("*"))
    parent = node.find(f"{_SPACE}sub-class-of")
    return FileType(
        node.attrib["type"],
        node.findtext(f"{_SPACE}comment", ""),
        tuple(own),
        tuple(weak),
        "" if parent is None else parent.attrib["type"],
    )
