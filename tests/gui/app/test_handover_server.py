"""The program that listens takes whole requests and nothing else, and gives its place up."""

import socket
import threading

import pytest

from viewer.gui.app import windows as instance_server
from viewer.gui.app.handover_request import LONGEST, TAKEN, HandoverRequest, encoded, hand_over
from viewer.gui.app.windows import HandoverServer


@pytest.fixture
def where(tmp_path):
    return str(tmp_path / "socket")


@pytest.fixture
def server(qtbot, where):
    made = HandoverServer()
    made.heard = []
    made.request_received.connect(made.heard.append)
    assert made.listen(where)
    yield made
    made.close()


def second_start(qtbot, request, where):
    """Whether a second start was relieved of its request."""
    taken = []
    thread = threading.Thread(target=lambda: taken.append(hand_over(request, where)))
    thread.start()
    qtbot.waitUntil(lambda: not thread.is_alive(), timeout=10_000)
    return taken[0]


def test_a_request_is_taken(server, qtbot, where):
    request = HandoverRequest(("/a.etdp", "/b.etrecord"), new_window=True)
    assert second_start(qtbot, request, where)
    qtbot.waitUntil(lambda: server.heard == [request])


def test_one_that_comes_in_pieces_is_taken_too(server, qtbot, where):
    line = encoded(HandoverRequest(("/a.etdp",)))
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(where)
        for i in range(0, len(line), 7):
            client.sendall(line[i : i + 7])
            qtbot.wait(1)
        qtbot.waitUntil(lambda: server.heard == [HandoverRequest(("/a.etdp",))])
        assert client.recv(100) == TAKEN


@pytest.mark.parametrize("sent", [b"{}\n", b"GET / HTTP/1.1\r\n", b"\0" * 100 + b"\n"], ids=repr)
def test_what_is_no_request_is_cut_off_without_a_word(server, qtbot, where, sent):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(where)
        client.sendall(sent)
        gone = []
        reader = threading.Thread(target=lambda: gone.append(client.recv(100)))
        reader.start()
        qtbot.waitUntil(lambda: not reader.is_alive())
    assert gone == [b""]
    assert server.heard == []
    assert second_start(qtbot, HandoverRequest(), where)


def test_an_endless_line_is_cut_off(server, qtbot, where):
    def send():
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(where)
            try:
                for _ in range(100):
                    client.sendall(b"x" * LONGEST)
            except OSError:
                cut.append(True)

    cut = []
    thread = threading.Thread(target=send)
    thread.start()
    qtbot.waitUntil(lambda: not thread.is_alive(), timeout=10_000)
    assert cut == [True]
    assert server.heard == []


def test_one_that_says_nothing_is_given_up(server, qtbot, where, monkeypatch):
    monkeypatch.setattr(instance_server, "PATIENCE_MS", 1)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(where)
        gone = threading.Thread(target=client.recv, args=(1,))
        gone.start()
        qtbot.waitUntil(lambda: not gone.is_alive())
    assert server.heard == []


def test_only_one_program_listens_and_the_next_takes_its_place(server, qtbot, where):
    other = HandoverServer()
    assert not other.listen(where)
    assert second_start(qtbot, HandoverRequest(), where)  # the first one still has its socket
    server.close()
    assert other.listen(where)
    other.close()


def test_what_a_crash_left_is_in_nobodys_way(qtbot, where):
    left = socket.socket(socket.AF_UNIX)
    left.bind(where)
    left.close()
    open(where + ".lock", "w").close()
    server = HandoverServer()
    heard = []
    server.request_received.connect(heard.append)
    assert server.listen(where)
    assert second_start(qtbot, HandoverRequest(), where)
    server.close()
