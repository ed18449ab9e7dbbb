"""What packages tell desktops: ids, versions and types agree, and nothing is forgotten."""

import configparser
import plistlib
import re
import shutil
import struct
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from tests.paths import ROOT
from viewer import APPLICATION_ID, __version__
from viewer.cli import COMMANDS
from viewer.formats import formats

LINUX = ROOT / "packaging/linux"
MIME = "{http://www.freedesktop.org/standards/shared-mime-info}"

# Suffixes that Opscope opens and that belong to others: never claimed. A new suffix of a format
# is claimed in the MIME XML or named here.
OF_OTHERS = {
    ".csv", ".tsv", ".txt", ".log", ".csv.gz", ".zip", ".json", ".json.gz", ".gz", ".zst", ".xz",
    ".bz2", ".py", ".bin", ".html", ".xlsx", ".folded", ".cpuprofile", ".jsonl",
}  # fmt: skip


@pytest.fixture
def desktop_entry():
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str
    parser.read(LINUX / f"{APPLICATION_ID}.desktop", encoding="utf-8")
    return parser["Desktop Entry"]


@pytest.fixture
def metainfo():
    return ElementTree.parse(LINUX / f"{APPLICATION_ID}.metainfo.xml").getroot()


def mime_types() -> list[str]:
    root = ElementTree.parse(LINUX / f"{APPLICATION_ID}.xml").getroot()
    return [node.attrib["type"] for node in root.iter(f"{MIME}mime-type")]


def test_the_desktop_entry_opens_any_number_of_files(desktop_entry):
    assert desktop_entry["Exec"] == "opscope %F"
    assert desktop_entry["Icon"] == APPLICATION_ID
    assert desktop_entry["StartupWMClass"] == "opscope"
    assert desktop_entry["Terminal"] == "false"


def test_the_desktop_entry_and_the_metainfo_claim_every_type_of_the_list(desktop_entry, metainfo):
    assert desktop_entry["MimeType"].rstrip(";").split(";") == mime_types()
    assert [node.text for node in metainfo.iter("mediatype")] == mime_types()


def test_the_metainfo_is_of_this_application_and_version(metainfo):
    assert metainfo.findtext("id") == APPLICATION_ID
    assert metainfo.findtext("launchable") == f"{APPLICATION_ID}.desktop"
    assert metainfo.findtext("provides/binary") == "opscope"
    assert metainfo.findtext("project_license") == "Apache-2.0"
    assert next(metainfo.iter("release")).attrib["version"] == __version__


def test_scripts_know_the_version_and_the_id(script):
    application = script("application")
    assert (__version__, APPLICATION_ID) == (application.VERSION, application.APPLICATION_ID)


@pytest.mark.parametrize(
    ("tool", "file"),
    [
        (["desktop-file-validate"], f"{APPLICATION_ID}.desktop"),
        (["appstreamcli", "validate", "--no-net"], f"{APPLICATION_ID}.metainfo.xml"),
        (["xmllint", "--noout"], f"{APPLICATION_ID}.xml"),
    ],
)
def test_the_tools_of_desktops_have_no_objection(tool, file):
    if shutil.which(tool[0]) is None:
        pytest.skip(f"{tool[0]} is not installed")
    done = subprocess.run([*tool, LINUX / file], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_suffix_that_is_opened_is_claimed_or_belongs_to_others(script):
    kinds = script("file_types").all_types()
    claimed = {suffix for kind in kinds for suffix in (*kind.suffixes, *kind.weak)}
    opened = {suffix for known in formats() for suffix in known.suffixes}
    assert opened - claimed == OF_OTHERS
    assert {".etdp", ".etrecord", ".pftrace"} <= claimed


def test_a_suffix_that_others_use_too_is_a_weak_claim_of_linux_alone(script):
    kinds = {kind.name: kind for kind in script("file_types").all_types()}
    trace = kinds["application/x-perfetto-trace"]
    assert trace.weak == (".pb",)
    assert ".pb" not in trace.suffixes
    declared = trace.type_declaration()["UTTypeTagSpecification"]
    assert declared["public.filename-extension"] == ["pftrace", "perfetto-trace"]


@pytest.mark.skipif(shutil.which("update-mime-database") is None, reason="no shared-mime-info")
@pytest.mark.skipif(shutil.which("gio") is None, reason="no gio")
def test_real_files_are_of_the_right_type(tmp_path):
    """By name, and dumps and records by their content too; no text is taken for a dump."""
    (tmp_path / "mime/packages").mkdir(parents=True)
    shutil.copy(LINUX / f"{APPLICATION_ID}.xml", tmp_path / "mime/packages")
    subprocess.run(
        ["update-mime-database", tmp_path / "mime"], check=True, capture_output=True, timeout=60
    )
    sample = ROOT / "resources/samples/delegate_handle_map"
    dump, record = "application/x-executorch-etdump", "application/x-executorch-etrecord"
    files = {
        "run.etdp": (sample / "demo_str_x4.etdp", dump),
        "nameless": (sample / "demo_str_x4.etdp", dump),
        "etrecord.bin": (sample / "demo_str.etrecord", record),
        "model.etrecord": (sample / "demo_str.etrecord", record),
        "out.pftrace": (LINUX / "opscope.1", "application/x-perfetto-trace"),
        "out.pftrace.gz": (LINUX / "opscope.1", "application/x-perfetto-trace+gzip"),
        "rank0.pt.trace.json": (LINUX / "opscope.1", "application/x-chrome-trace+json"),
        "tiny.mlir": (ROOT / "resources/samples/torq_npu/tiny_cnn.mlir", "text/x-mlir"),
        "host.csv": (ROOT / "resources/samples/torq_npu/host.csv", "text/csv"),
    }
    for name, (source, _) in files.items():
        shutil.copy(source, tmp_path / name)
    told = subprocess.run(
        ["gio", "info", "-a", "standard::content-type", *(tmp_path / name for name in files)],
        env={"XDG_DATA_DIRS": f"{tmp_path}:/usr/share", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    found = re.findall(r"standard::content-type: (\S+)", told.stdout)
    assert dict(zip(files, found, strict=True)) == {n: kind for n, (_, kind) in files.items()}


def test_macos_is_told_every_type_by_one_identifier(script):
    kinds = script("file_types").file_types()
    info = {
        "CFBundleDocumentTypes": [kind.document_type() for kind in kinds],
        "UTExportedTypeDeclarations": [kind.type_declaration() for kind in kinds],
    }
    read = plistlib.loads(plistlib.dumps(info))
    opened = [name for kind in read["CFBundleDocumentTypes"] for name in kind["LSItemContentTypes"]]
    assert opened == [kind["UTTypeIdentifier"] for kind in read["UTExportedTypeDeclarations"]]
    assert len(set(opened)) == len(kinds)
    assert f"{APPLICATION_ID}.executorch-etdump" in opened


def test_windows_is_told_every_type_and_forgets_all_of_it(script):
    kinds = script("file_types").file_types()
    written, forgotten = script("associations").associations().split("!macro ForgetFiles")
    for kind in kinds:
        name = f"{APPLICATION_ID}.{kind.key}"
        assert rf'"Software\Classes\{name}\shell\open\command"' in written
        assert rf'DeleteRegKey SHCTX "Software\Classes\{name}"' in forgotten
        for suffix in kind.single_suffixes:
            assert f'TakeIfFree "{suffix}" "{name}"' in written
            assert f'GiveBack "{suffix}" "{name}"' in forgotten


def test_the_manual_page_tells_every_command_and_option():
    page = (LINUX / "opscope.1").read_text(encoding="utf-8").replace("\\-", "-")
    commands = page.split(".SH COMMANDS")[1].split(".SH")[0]
    assert dict(re.findall(r"^\.TP\n\.B (\w+)\n(.*)$", commands, re.MULTILINE)) == COMMANDS
    shown = subprocess.run(
        [sys.executable, "-m", "viewer", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    options = set(re.findall(r"(?<!\S)--[a-z-]+", shown.stdout.split("options:")[1])) - {
        "--torq-debug-info"
    }
    assert options
    assert {option for option in options if option not in page} == set()


def png(edge: int) -> bytes:
    """As far as an icon's reader looks for its size."""
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4s2I", 13, b"IHDR", edge, edge)


def test_an_icon_of_windows_holds_every_picture(script):
    made = script("icons").ico({16: png(16), 256: png(256)})
    assert struct.unpack_from("<3H", made) == (0, 1, 2)
    for at, edge in ((6, 16), (22, 256)):
        width, _, _, _, _, bits, size, place = struct.unpack_from("<4B2H2I", made, at)
        assert (width or 256, bits) == (edge, 32)
        assert made[place : place + size] == png(edge)


def test_an_icon_of_macos_holds_every_picture(script):
    icons = script("icons")
    made = icons.icns({edge: png(edge) for edge in icons.SIZES})
    assert struct.unpack_from(">4sI", made) == (b"icns", len(made))
    at, found = 8, {}
    while at < len(made):
        kind, size = struct.unpack_from(">4sI", made, at)
        found[kind] = struct.unpack_from(">I", made, at + 24)[0]
        at += size
    assert found[b"ic10"] == 1024
    assert found[b"ic07"] == 128
