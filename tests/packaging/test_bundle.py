"""What the bundle is made of: the lists of opscope.spec, and the versions that it is built from."""

import ast
import email
import fnmatch
import plistlib
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.paths import ROOT
from viewer import APPLICATION_ID, __version__

SPEC = ast.parse((ROOT / "packaging/opscope.spec").read_text(encoding="utf-8"))


def of_the_spec(name: str):
    (value,) = [
        node.value
        for node in SPEC.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name
    ]
    return ast.literal_eval(value)


def is_left_out(place: str) -> bool:
    return any(fnmatch.fnmatchcase(place.lower(), p) for p, _ in of_the_spec("LEFT_OUT_FILES"))


def test_everything_that_is_left_out_has_its_reason():
    reasons = [*of_the_spec("LEFT_OUT_MODULES").values()]
    reasons += [reason for _, reason in of_the_spec("LEFT_OUT_FILES")]
    assert len(reasons) > 20
    assert [reason for reason in reasons if len(reason) < 5] == []


def test_patterns_are_written_as_they_are_compared():
    patterns = [pattern for pattern, _ in of_the_spec("LEFT_OUT_FILES")]
    assert patterns == [pattern.lower() for pattern in patterns]
    assert len(set(patterns)) == len(patterns)


@pytest.mark.slow
def test_no_module_that_the_program_imports_is_left_out():
    left_out = set(of_the_spec("LEFT_OUT_MODULES"))
    imported = set()
    for path in (ROOT / "viewer").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                imported |= {node.module, *(f"{node.module}.{a.name}" for a in node.names)}
    tops = imported | {name.split(".")[0] for name in imported}
    # Fleets and the server for assistants are said to need an installation by pip.
    of_extras = {"mcp", "mcp_types", "anyio", "dask", "distributed", "fsspec"}
    assert left_out & tops <= of_extras
    assert set(of_the_spec("NAMED_IMPORTS")) & left_out == set()


@pytest.mark.parametrize(
    "place",
    [
        "PySide6/Qt/plugins/platforms/libqxcb.so",
        "PySide6/Qt/plugins/platforms/libqwayland.so",
        "PySide6/Qt/plugins/platforms/libqoffscreen.so",
        "PySide6/Qt/plugins/platforms/libqcocoa.dylib",
        "PySide6/plugins/platforms/qwindows.dll",
        "PySide6/plugins/platforms/qoffscreen.dll",
        "PySide6/plugins/styles/qmodernwindowsstyle.dll",
        "PySide6/Qt/plugins/iconengines/libqsvgicon.so",
        "PySide6/Qt/plugins/imageformats/libqsvg.so",
        "PySide6/Qt/plugins/imageformats/libqico.so",
        "PySide6/Qt/plugins/platformthemes/libqgtk3.so",
        "PySide6/Qt/plugins/platformthemes/libqxdgdesktopportal.so",
        "PySide6/Qt/plugins/platforminputcontexts/libibusplatforminputcontextplugin.so",
        "PySide6/Qt/plugins/wayland-shell-integration/libxdg-shell.so",
        "PySide6/Qt/plugins/wayland-decoration-client/libadwaita.so",
        "PySide6/Qt/plugins/xcbglintegrations/libqxcb-glx-integration.so",
        "PySide6/Qt/lib/libQt6Network.so.6",
        "libxcb-cursor.so.0",
        "libXext.so.6",
    ],
)
def test_what_a_window_needs_stays(place):
    assert not is_left_out(place)


@pytest.mark.parametrize(
    "place",
    [
        "PySide6/Qt/plugins/platforms/libqeglfs.so",
        "PySide6/plugins/platforms/qdirect2d.dll",
        "PySide6/Qt/plugins/tls/libqopensslbackend.so",
        "PySide6/Qt/translations/qtbase_de.qm",
        "PySide6/opengl32sw.dll",
        "libQt6EglFSDeviceIntegration.so.6",
        "libgtk-3.so.0",
        "libglib-2.0.so.0",
    ],
)
def test_what_nobody_needs_goes(place):
    assert is_left_out(place)


def test_every_requirement_has_the_version_that_is_released():
    def named(line: str) -> str:
        return re.split(r"[<>=!~;\[ ]", line, maxsplit=1)[0].lower().replace("_", "-")

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["bundle"]]
    lines = (ROOT / "packaging/constraints.txt").read_text(encoding="utf-8").splitlines()
    fixed = {named(line) for line in lines if not line.startswith("#")}
    assert {named(line) for line in wanted} <= fixed
    assert all("==" in line for line in lines if not line.startswith("#"))


@pytest.fixture
def made_on(monkeypatch):
    """Runs the spec as PyInstaller does, on a system: what it asks to be made, by its name."""

    def make(platform: str) -> dict[str, dict]:
        made: dict[str, dict] = {}

        def noting(kind):
            def note(*parts, **options):
                made.setdefault(options.get("name", kind), {"parts": parts, **options})
                return options.get("name", kind)

            return note

        def analysis(scripts, **options):
            made["analysis"] = {"scripts": scripts, **options}
            return SimpleNamespace(
                binaries=[("libQt6Gui.so.6", "", ""), ("libgtk-3.so.0", "", "")],
                datas=[], pure=[], scripts=scripts,
            )  # fmt: skip

        names = {name: noting(name) for name in ("PYZ", "EXE", "COLLECT", "BUNDLE")}
        spec = ROOT / "packaging/opscope.spec"
        with monkeypatch.context() as patched:
            patched.setattr(sys, "path", [*sys.path])
            patched.setattr(sys, "platform", platform)
            code = compile(spec.read_text(encoding="utf-8"), spec, "exec")
            before = set(sys.modules)
            exec(code, names | {"Analysis": analysis, "SPECPATH": str(spec.parent)})
            for name in set(sys.modules) - before:
                del sys.modules[name]
        return made

    return make


@pytest.mark.slow
def test_linux_gets_one_program_with_all_readers_resources_and_licenses(made_on):
    made = made_on("linux")
    assert set(made) == {"analysis", "PYZ", "opscope"}
    assert made["opscope"]["console"] is True
    assert "viewer.formats.executorch.etdump.reader" in made["analysis"]["hiddenimports"]
    assert (str(ROOT / "resources"), "resources") in made["analysis"]["datas"]
    texts = {folder for _, folder in made["analysis"]["datas"]}
    assert {"licenses/opscope", "licenses/Qt and PySide6", "licenses/pandas"} <= texts


@pytest.mark.slow
def test_about_has_the_versions_and_licenses_that_the_parts_state(made_on):
    """Copied as the spec asks, each part is found by name; nothing tells of the machine."""
    copied = [
        (Path(file), folder)
        for file, folder in made_on("linux")["analysis"]["datas"]
        if folder.endswith(".dist-info")
    ]
    assert {file.name for file, _ in copied} == {"METADATA"}
    assert len({folder for _, folder in copied}) == len(copied)
    stated = {
        found["Name"].replace("_", "-").lower(): found["Version"]
        for found in (email.message_from_string(file.read_text("utf-8")) for file, _ in copied)
    }
    for name in ("PySide6-Essentials", "shiboken6", "numpy", "pandas", "protobuf", "perfetto"):
        assert stated[name.lower()] == metadata.version(name)
    assert "opscope" not in stated


@pytest.mark.slow
def test_windows_gets_a_program_for_terminals_and_one_without_a_console(made_on):
    made = made_on("win32")
    assert made["opscope"]["console"] is True
    assert made["opscope-gui"]["console"] is False
    assert made["opscope-gui"]["icon"].endswith("opscope.ico")


@pytest.mark.slow
def test_macos_gets_an_application_that_is_told_its_documents(made_on):
    app = made_on("darwin")["Opscope.app"]
    assert (app["bundle_identifier"], app["version"]) == (APPLICATION_ID, __version__)
    info = plistlib.loads(plistlib.dumps(app["info_plist"]))
    suffixes = {
        suffix
        for kind in info["UTExportedTypeDeclarations"]
        for suffix in kind["UTTypeTagSpecification"]["public.filename-extension"]
    }
    assert {"etdp", "etrecord", "pftrace", "mlir"} <= suffixes
    assert len(info["CFBundleDocumentTypes"]) == len(info["UTExportedTypeDeclarations"])
