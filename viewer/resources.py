"""Paths of the files in `resources/`, in a source tree, an installed wheel or a frozen bundle.

A wheel carries the folder as `viewer/_resources`, a bundle as `resources` next to its modules.
`SAMPLES` lists the samples of the start page in display order. No Qt.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from viewer.dataclasses import dataclass


def resource(*parts: str) -> Path:
    """The path of a file or folder in `resources/`. It may not exist."""
    return _root().joinpath(*parts)


def _root() -> Path:
    bundle = getattr(sys, "_MEIPASS", None)
    if bundle is not None:
        return Path(bundle) / "resources"
    package = Path(__file__).resolve().parent
    installed = package / "_resources"
    return installed if installed.is_dir() else package.parent / "resources"


def stem_beside(path: str) -> str:
    """The path without its suffix, used to propose a name for an export of that file.

    For a bundled file the result is in the home folder, because users do not look for their own
    files inside the program.
    """
    stem, root = Path(os.path.splitext(path)[0]), resource()
    bundled = root.is_dir() and stem.is_relative_to(root)
    return str(Path.home() / stem.name) if bundled else str(stem)


@dataclass(frozen=True, slots=True)
class Sample:
    """A profile to try, with all the files it needs.

    key: its folder in `resources/samples`. caption: its kinds of files. files: the files to open,
    profiles first. The model's source is in the same folder and is found from there.
    """

    key: str
    title: str
    text: str
    caption: str
    files: tuple[str, ...]

    def paths(self) -> list[str]:
        """The absolute paths of `files`, in the same order."""
        return [str(resource("samples", self.key, name)) for name in self.files]


SAMPLES = (
    Sample(
        "attention_xnnpack",
        "Attention, XNNPACK",
        "Two attention blocks, run five times. The backend writes no handle map; its calls still "
        "link to their operators.",
        "ETDump · ETRecord · Python",
        ("attn_xnnpack_x5.etdp", "attn_teal_xnnpack.etrecord"),
    ),
    Sample(
        "delegate_handle_map",
        "Delegate with a handle map",
        "Delegate events name their operators, fused ones too. Includes an unmapped identifier.",
        "ETDump · ETRecord · Python",
        ("demo_str_x4.etdp", "demo_str.etrecord"),
    ),
    Sample(
        "plain_csv",
        "Plain CSV",
        "What any tool can write. Five columns are required; method, instruction and identifier "
        "link it to the ETRecord.",
        "CSV · ETRecord · Python",
        ("demo_str_x4.csv", "demo_str.etrecord"),
    ),
    Sample(
        "torq_npu",
        "Torq NPU",
        "Two inferences measured on the host, and the compiler's estimate of each job. Real "
        "formats, synthetic timings.",
        "CSV · MLIR · debug info",
        ("host.csv", "compile.csv", "tiny_cnn.mlir", "main_dispatch_0_conv_56x56x32_i8.mlir"),
    ),
)
