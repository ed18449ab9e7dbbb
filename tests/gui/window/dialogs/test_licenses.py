"""Versions and licenses of all that is built in, in a source tree and in a bundle."""

import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from PySide6.QtGui import QRawFont

import viewer
from viewer.gui.window.dialogs.about import parts, text_of
from viewer.resources import resource

ROOT = Path(viewer.__file__).parent.parent


def needed(stated, found):
    """Names of requirements and of what those require, without extras, as they are installed."""
    for text in stated:
        requirement, _, condition = text.partition(";")
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        if "extra" in condition or name in found:
            continue
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # of another system
            continue
        found.add(name)
        needed(distribution.requires or (), found)
    return found


def test_all_that_the_program_needs_is_listed_with_the_version_that_runs():
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    listed = {part.name.replace("_", "-").lower(): part for part in parts()}
    names = needed(stated, set())
    assert len(names) > 8
    for name in names:
        assert listed[name.replace("_", "-").lower()].version == metadata.version(name)
    assert listed["opscope"].version == viewer.__version__
    assert listed["python"].version in sys.version


def test_every_part_has_a_license_and_most_their_text():
    assert all(part.license and part.what for part in parts())
    assert "Apache License" in text_of("Opscope")
    assert "Python Software Foundation" in text_of("Python")
    assert "NumPy Developers" in text_of("numpy")
    assert text_of("no such part") == ""


def test_the_fonts_are_listed_with_the_version_of_their_files_and_their_license(qapp):
    listed = {part.name: part for part in parts()}
    for file, name in (("Inter-Regular", "Inter"), ("JetBrainsMono-Regular", "JetBrains Mono")):
        table = QRawFont(str(resource("fonts", f"{file}.ttf")), 12).fontTable("name").data()
        assert f"Version {listed[name].version}".encode("utf-16-be") in table
        assert listed[name].license == "OFL-1.1"
        assert "SIL OPEN FONT LICENSE" in text_of(name)
        assert f"The {name} Project Authors" in text_of(name)


def test_a_bundle_has_its_texts_beside_the_modules(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "_MEIPASS", str(tmp_path), raising=False)
    for folder, text in (("opscope", "ours"), ("Qt and PySide6", "LGPL"), ("numpy/a", "BSD")):
        (tmp_path / "licenses" / folder).mkdir(parents=True)
        (tmp_path / "licenses" / folder / "LICENSE.txt").write_text(text)
    assert text_of("Opscope") == "ours"
    assert text_of("shiboken6") == text_of("PySide6-Essentials") == "LGPL"
    assert text_of("numpy") == "BSD"


def test_a_bundle_without_metadata_tells_the_versions_of_its_modules(tmp_path, monkeypatch):
    def none(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(sys, "_MEIPASS", str(tmp_path), raising=False)
    monkeypatch.setattr("viewer.gui.window.dialogs.about.metadata.version", none)
    monkeypatch.setattr("viewer.gui.window.dialogs.about.metadata.metadata", none)
    numpy = pytest.importorskip("numpy")
    (listed,) = [part for part in parts() if part.name == "numpy"]
    assert (listed.version, listed.license) == (numpy.__version__, "BSD-3-Clause")
