"""What the tests of ETRecords share: small ones made by hand, and the parts of real ones."""

import json
import time
import zipfile
from pathlib import Path

from tests import paths
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.formats.executorch.etrecord.archive import EDGE, MAGIC
from viewer.program.program import Program

DATA = paths.DATA / "etrecord"
GRAPH = f"{EDGE}/forward"


def read(path: Path) -> Program:
    found = open_file(str(path))
    assert isinstance(found, Program)
    return found


def members(name: str) -> dict[str, bytes]:
    with zipfile.ZipFile(DATA / name) as archive:
        return {i.filename: archive.read(i) for i in archive.infolist()}


def record(path: Path, parts: dict[str, bytes | str], how: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", how) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def node(**metadata: object) -> dict:
    return {
        "name": "relu", "target": "torch.ops.aten.relu.default", "inputs": [], "outputs": [],
        "metadata": {"debug_handle": "1", **metadata},
    }  # fmt: skip


def graph(*nodes: dict) -> str:
    return json.dumps({"graph_module": {"graph": {"nodes": nodes, "tensor_values": {}}}})


def made(path: Path, *nodes: dict, **parts: str) -> Path:
    path.mkdir(exist_ok=True)
    return record(path / "made.etrecord", {
        MAGIC: "", GRAPH: graph(*nodes), "debug_handle_map": '{"forward": {"0": 1}}',
        "delegate_map": "{}", **parts,
    })  # fmt: skip


def readable(path: Path) -> bool:
    """Whether it reads; any exception but UnreadableFile fails the test."""
    try:
        read(path)
    except UnreadableFile:
        return False
    return True


def growth(small: Path, large: Path) -> float:
    """How many times as much processor time reading one file takes as reading another."""
    return _seconds(large) / _seconds(small)


def _seconds(path: Path) -> float:
    """The least processor time of three readings."""
    found = []
    for _ in range(3):
        began = time.process_time()
        readable(path)
        found.append(time.process_time() - began)
    return min(found)
