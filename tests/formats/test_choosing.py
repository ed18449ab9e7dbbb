"""Files that are no profile say what they are, and what to open with them."""

import json
import zipfile

import pytest

from tests.paths import DATA
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file

NO_PROFILE = "It contains no profile: open the ETDump and the ETRecord of the model"


def refusal(path):
    """The message about a file, without its path."""
    with pytest.raises(UnreadableFile) as refused:
        open_file(str(path))
    return str(refused.value).removeprefix(f"{path}: ")


def test_weights_of_executorch_by_their_identifier(tmp_path):
    path = tmp_path / "renamed.etdp"
    path.write_bytes(b"\x2c\0\0\0FT01FH01" + bytes(100))
    assert refusal(path) == (
        f"this is a file of external weights of an ExecuTorch program (.ptd). {NO_PROFILE}"
    )


@pytest.mark.parametrize("member", ["model/archive_format", "serialized_exported_program.json"])
def test_a_saved_export_of_torch(tmp_path, member):
    path = tmp_path / "model.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, "pt2")
    assert refusal(path) == f"this is a model that torch.export saved (.pt2). {NO_PROFILE}"


def test_another_archive_is_no_record(tmp_path):
    path = tmp_path / "files.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "pt2")
    assert refusal(path).startswith(
        "this is a ZIP archive with notes.txt: not an ETRecord, and no profile is in it"
    )


def test_a_debug_buffer_has_no_header_so_its_suffix_leads_to_the_dump(tmp_path):
    path = tmp_path / "run.debug.bin"
    path.write_bytes(bytes(range(1, 256)) * 4)
    assert "If it is a debug buffer, open it together with the ETDump" in refusal(path)


CSV = "process,thread,name,start_ns,dur_ns\n"
NAMED = {"ph": "M", "pid": 1, "tid": 1, "name": "process_name", "args": {"name": "app"}}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", CSV, "this Profile CSV has a header and no rows. Record it again"),
        (
            "a.csv",
            f"{CSV}app,main,conv,1.5,2\napp,main,relu,x,2\n",
            "nothing in this Profile CSV can be shown: 2 x row without a usable start_ns or "
            'dur_ns, first: data row 1: start_ns is "1.5", not whole ns. Correct the file',
        ),
        ("a.json", json.dumps({"traceEvents": []}), "this Chrome trace has no event with a time"),
        ("a.json", "[]\n", "this Chrome trace has no event with a time"),
        ("a.json", json.dumps({"traceEvents": [NAMED]}), "this Chrome trace has no event with a"),
    ],
)
def test_a_profile_with_nothing_to_show_is_refused(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content)
    assert refusal(path).startswith(message)


def test_a_dump_without_events_is_refused_and_one_with_values_alone_opens():
    assert refusal(DATA / "etdump/SYN_no_runs.etdp").startswith("this ETDump has no events")
    assert len(open_file(str(DATA / "etdump/SYN_allocations.etdp")).untimed)


def test_a_chrome_trace_of_counters_alone_opens(tmp_path):
    path = tmp_path / "counters.json"
    event = {"ph": "C", "pid": 1, "name": "memory", "ts": 1, "args": {"bytes": 2}}
    path.write_text(json.dumps({"traceEvents": [event]}))
    assert len(open_file(str(path)).counters) == 1
