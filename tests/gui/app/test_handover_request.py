"""What a second start says to the first, and that nothing but that is believed."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.gui.app.handover_request import (
    LONGEST,
    TAKEN,
    HandoverRequest,
    decoded,
    encoded,
    hand_over,
    place,
)
from viewer.program.source_files import Substitution
from viewer.workspace.clocks import SameClock
from viewer.workspace.link_choices import Choices


def test_a_request_arrives_as_it_was_sent():
    choices = Choices(
        parts=(("", Fraction(1, 5)), (os.path.abspath("big.csv"), Fraction(1, 10))),
        table_columns=(("", "unit=us"), ("/t.csv", "start=Start (ns),dur=Took")),
        same_clocks=(SameClock(("/a/run.etdp", "/b.etdp")), SameClock((), by_date=True)),
        phases=(("Execute:1", "prefill"),),
        pairs=(("/a/run.etdp", "/a/model.etrecord"), ("/b.etdp", None)),
        methods=(("Execute 1", "forward"),),
        columns=((None, "job_id"), ("/a/jobs.csv", "")),
        clocks=(("", Fraction(10)), ("/c.csv", Fraction(5, 4))),
        delegate_clocks=(
            ("", "cycles", Fraction(2)),
            ("/a/run.etdp", "QnnBackend", Fraction(5, 4)),
        ),
        source_paths=(Substitution("/home/user/models", "/data/models", any_kind=True),),
    )
    request = HandoverRequest(
        ("/a/run.etdp", "/a/bad \udcff name.csv"), choices, True, "dark", "token:1"
    )
    assert decoded(encoded(request)) == request
    assert decoded(encoded(HandoverRequest())) == HandoverRequest()


def test_names_in_choices_are_made_absolute_where_they_were_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = Choices(pairs=(("a.etdp", "b.etrecord"),), clocks=(("", Fraction(1)),))
    choices = decoded(encoded(HandoverRequest((), said))).choices
    assert choices.pairs == ((str(tmp_path / "a.etdp"), str(tmp_path / "b.etrecord")),)
    assert choices.clocks == (("", Fraction(1)),)  # of all files, and no path


GOOD = {
    "opscope": 1, "files": ["/a.etdp"], "new_window": False, "theme": None, "token": "",
    "choices": None,
}  # fmt: skip
LISTS = (
    "pairs", "methods", "columns", "clocks", "delegate_clocks", "source_paths", "parts",
    "table_columns", "same_clocks", "phases",
)  # fmt: skip
NOTHING = {name: [] for name in LISTS}
HOSTILE = {
    "another version": {"opscope": 2},
    "a relative path": {"files": ["a.etdp"]},
    "a URL": {"files": ["file:///a.etdp"]},
    "a share of another machine": {"files": ["//server/share/a.etdp"]},
    "a share of Windows": {"files": ["\\\\server\\share\\a.etdp"]},
    "a path with a NUL": {"files": ["/a\0b"]},
    "an endless path": {"files": ["/" + "a" * 40_000]},
    "too many files": {"files": ["/a"] * 10_001},
    "a text for a list": {"files": "/a"},
    "a number for a path": {"files": [1]},
    "a theme that is none": {"theme": "../../x"},
    "a switch that is none": {"new_window": 1},
    "a token with a line end": {"token": "a\nb"},
    "choices of another form": {"choices": []},
    "half a pair": {"choices": {**NOTHING, "pairs": [["/a"]]}},
    "a rate that takes for ever": {"choices": {**NOTHING, "clocks": [["/a", "1e999999999"]]}},
    "a rate of nothing": {"choices": {**NOTHING, "clocks": [["/a", "1/0"]]}},
    "a stopped clock": {"choices": {**NOTHING, "clocks": [["/a", "0"]]}},
    "a stopped delegate": {"choices": {**NOTHING, "delegate_clocks": [["/a", "cycles", "0"]]}},
    "half a delegate": {"choices": {**NOTHING, "delegate_clocks": [["/a", "2"]]}},
    "more than a file": {"choices": {**NOTHING, "parts": [["/a", "3/2"]]}},
    "columns that are none": {"choices": {**NOTHING, "table_columns": [["/a", "foo=x"]]}},
    "a clock of no file": {"choices": {**NOTHING, "same_clocks": ["/a"]}},
    "a clock of a network": {"choices": {**NOTHING, "same_clocks": [["/a", "//host/b"]]}},
    "too many choices": {"choices": {**NOTHING, "parts": [["/a", "1/2"]] * 10_001}},
    "no choices at all": {"choices": {}},
    **{f"choices without {name}": {"choices": {n: [] for n in LISTS if n != name}}
       for name in LISTS},
}  # fmt: skip


def test_the_good_one_is_taken():
    assert decoded(json.dumps(GOOD).encode()) == HandoverRequest(("/a.etdp",))


def test_choices_of_nothing_are_taken():
    assert decoded(json.dumps({**GOOD, "choices": NOTHING}).encode()) is not None


@pytest.mark.parametrize("what", HOSTILE)
def test_what_is_hostile_or_damaged_is_nothing(what):
    assert decoded(json.dumps({**GOOD, **HOSTILE[what]}).encode()) is None


@pytest.mark.parametrize("line", [
    b"", b"\xff\xfe", b"[]", b"1", b"{}", b"{", b"[" * 100_000, b" " * (LONGEST + 1),
], ids=repr)  # fmt: skip
def test_what_is_no_request_is_nothing(line):
    assert decoded(line) is None


@given(st.binary(max_size=200))
def test_any_bytes_are_read_without_an_error(line):
    assert decoded(line) is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=9,
)


@pytest.mark.slow
@given(st.sampled_from(sorted(GOOD)), json_values)
def test_any_value_in_any_place_is_read_without_an_error(name, value):
    decoded(json.dumps({**GOOD, name: value}).encode())


# -- the place -------------------------------------------------------------------------------------


@pytest.fixture
def own(tmp_path):
    tmp_path.chmod(0o700)
    return tmp_path


def test_one_place_per_display_and_user(own):
    def at(**environment):
        return place({"XDG_RUNTIME_DIR": str(own), **environment})

    assert at(DISPLAY=":0") == at(DISPLAY=":0.0")
    places = {
        at(DISPLAY=":0"), at(DISPLAY=":1"), at(DISPLAY="host:10.0"), at(DISPLAY="_3a_0"),
        at(WAYLAND_DISPLAY="wayland-0", DISPLAY=":0"), at(QT_QPA_PLATFORM="offscreen"),
    }  # fmt: skip
    assert len(places) == 6
    assert {os.path.dirname(p) for p in places} == {str(own)}
    assert at(WAYLAND_DISPLAY="wayland-0", DISPLAY=":0", QT_QPA_PLATFORM="xcb") == at(DISPLAY=":0")


def test_without_a_folder_of_the_session_there_is_one_of_the_user(own):
    found = place({"TMPDIR": str(own), "DISPLAY": ":0", "XDG_RUNTIME_DIR": "/nowhere"})
    folder = os.path.dirname(found)
    assert folder == str(own / f"opscope-{os.getuid()}")
    assert os.stat(folder).st_mode & 0o777 == 0o700


def test_a_folder_that_others_can_write_to_is_not_used(own):
    shared = own / f"opscope-{os.getuid()}"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(PermissionError):
        place({"TMPDIR": str(own), "DISPLAY": ":0"})
    shared.rmdir()
    shared.symlink_to(own)
    with pytest.raises(PermissionError):
        place({"TMPDIR": str(own), "DISPLAY": ":0"})


# -- handing over ----------------------------------------------------------------------------------


@pytest.fixture
def where(own):
    return str(own / "socket")


def answering(where, answer):
    """A program that listens and answers the first line so; None: it never does."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(where)
    listener.listen()
    heard = []

    def run():
        connection, _ = listener.accept()
        with listener, connection, connection.makefile("rb") as lines:
            heard.append(lines.readline())
            if answer is not None:
                connection.sendall(answer)
            else:
                lines.readline()  # until the other side has had enough

    thread = threading.Thread(target=run)
    thread.start()
    return heard, thread


@pytest.mark.parametrize(("answer", "taken"), [(TAKEN, True), (b"", False), (b"what?\n", False)])
def test_only_the_answer_means_that_it_was_taken(where, answer, taken):
    heard, thread = answering(where, answer)
    assert hand_over(HandoverRequest(("/a",)), where) is taken
    thread.join(5)
    assert decoded(heard[0]) == HandoverRequest(("/a",))


def test_a_program_that_is_stopped_is_not_waited_for(where):
    _, thread = answering(where, None)
    assert not hand_over(HandoverRequest(), where, patience=0.05)
    thread.join(5)


def test_a_program_with_a_full_queue_is_waited_for(where):
    """As when a file manager starts Opscope for 100 files at once."""
    with socket.socket(socket.AF_UNIX) as server, contextlib.ExitStack() as others:
        server.bind(where)
        server.listen(0)
        server.settimeout(10)
        while True:
            other = others.enter_context(socket.socket(socket.AF_UNIX))
            other.setblocking(False)
            try:
                other.connect(where)
            except BlockingIOError:
                break
        assert not hand_over(HandoverRequest(), where, patience=0.05)
        taken: list[bool] = []
        start = threading.Thread(target=lambda: taken.append(hand_over(HandoverRequest(), where)))
        start.start()
        while not taken:
            connection, _ = server.accept()
            with connection, contextlib.suppress(OSError):
                connection.settimeout(1)
                if connection.recv(LONGEST):
                    connection.sendall(TAKEN)
                    start.join(5)
        assert taken == [True]


def test_nobody_and_what_a_crash_left_are_told_at_once(where):
    assert not hand_over(HandoverRequest(), where)
    left = socket.socket(socket.AF_UNIX)
    left.bind(where)
    left.close()
    assert not hand_over(HandoverRequest(), where)
    os.unlink(where)
    open(where, "w").close()
    assert not hand_over(HandoverRequest(), where)
    assert not hand_over(HandoverRequest(), "/" + "long" * 100)


def test_what_is_too_long_is_opened_by_the_second_start_itself(where):
    assert not hand_over(HandoverRequest(("/" + "a" * LONGEST,)), where)


def test_handing_over_imports_neither_qt_nor_numpy(own, data, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(own))
    heard, thread = answering(place(), TAKEN)
    file = data / "etdump" / "cnn_portable_x1.etdp"
    code = (
        "import sys; from viewer.cli import main; "
        f"assert main([{file.name!r}]) == 0; print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=file.parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    thread.join(5)
    assert decoded(heard[0]).files == (str(file),)
    assert not {"PySide6", "numpy", "msgspec", "pandas"} & set(done.stdout.split())
