"""One file for the Perfetto UI: its page gets it once, nobody else gets anything."""

import http.client
import os
import socket
import threading

import pytest

from viewer.gui.window.files.perfetto_server import (
    HOST,
    UI_ORIGIN,
    PerfettoServer,
    PortTaken,
    is_reachable,
)

CONTENT = bytes(range(256)) * 9000  # more than a socket holds


class Served:
    def __init__(self, path, port=0, **more):
        self.over = threading.Event()
        self.fetched = None
        self.server = PerfettoServer(str(path), self.ended, port=port, **more)

    def ended(self, fetched):
        self.fetched = fetched
        self.over.set()

    def ask(self, method="GET", place=None, **headers):
        connection = http.client.HTTPConnection(HOST, self.server.port, timeout=10)
        sent = {"Origin": UI_ORIGIN, **{k: v for k, v in headers.items() if v is not None}}
        connection.request(method, place or self.server.place, headers=sent)
        answer = connection.getresponse()
        return answer, answer.read()


@pytest.fixture
def served(tmp_path):
    path = tmp_path / "a trace é.pftrace"
    path.write_bytes(CONTENT)
    made = Served(path)
    yield made
    made.server.close()


def test_the_page_gets_the_file_and_then_nothing_is_served(served):
    answer, content = served.ask()
    assert (answer.status, content) == (200, CONTENT)
    assert answer.getheader("Access-Control-Allow-Origin") == UI_ORIGIN
    assert served.over.wait(5)
    assert served.fetched
    with pytest.raises(OSError):
        served.ask()


def test_the_preflight_of_a_browser_is_answered_and_ends_nothing(served):
    answer, content = served.ask("OPTIONS", Access_Control_Request_Method="GET")
    assert (answer.status, content) == (204, b"")
    assert answer.getheader("Access-Control-Allow-Private-Network") == "true"
    assert served.ask()[1] == CONTENT


@pytest.mark.parametrize(
    ("headers", "place", "status"),
    [
        ({"Origin": "https://evil.example"}, None, 403),
        ({"Origin": "null"}, None, 403),
        ({"Host": "evil.example:9001"}, None, 403),
        ({}, "/", 404),
        ({}, "/etc/passwd", 404),
        ({}, "/../a%20trace.pftrace", 404),
    ],
)
def test_nobody_else_gets_anything(served, headers, place, status):
    answer, content = served.ask(place=place, **headers)
    assert (answer.status, content) == (status, b"")
    assert answer.getheader("Access-Control-Allow-Origin") is None
    assert not served.over.is_set()
    assert served.ask()[1] == CONTENT


def test_a_request_without_an_origin_is_no_page(served):
    connection = http.client.HTTPConnection(HOST, served.server.port, timeout=10)
    connection.request("GET", served.server.place)
    assert connection.getresponse().status == 403


def test_a_page_that_hangs_up_can_ask_again(served):
    raw = socket.create_connection((HOST, served.server.port))
    raw.sendall(
        f"GET {served.server.place} HTTP/1.1\r\nHost: {HOST}:{served.server.port}\r\n"
        f"Origin: {UI_ORIGIN}\r\n\r\n".encode()
    )
    raw.recv(1000)
    raw.close()
    assert not served.over.wait(0.3)
    assert served.ask()[1] == CONTENT


def test_no_two_files_have_one_address(tmp_path):
    (tmp_path / "x.pftrace").write_bytes(b"x")
    places = set()
    for _ in range(3):
        one = Served(tmp_path / "x.pftrace")
        places.add(one.server.place)
        one.server.close()
        assert one.fetched is False
    assert len(places) == 3
    assert one.server.ui_address.startswith("https://ui.perfetto.dev/#!/?url=http://127.0.0.1:")


def test_a_port_that_is_taken_is_said(tmp_path, served):
    with pytest.raises(PortTaken, match="is in use by another program"):
        PerfettoServer(str(tmp_path), lambda fetched: None, port=served.server.port)


@pytest.mark.skipif(os.name == "nt", reason="SO_REUSEADDR")
def test_the_port_is_free_again_at_once(tmp_path):
    (tmp_path / "x.pftrace").write_bytes(CONTENT)
    port = 0
    for _ in range(3):
        one = Served(tmp_path / "x.pftrace", port=port)
        port = one.server.port
        assert one.ask()[1] == CONTENT
        assert one.over.wait(5)
        one.server.close()


def test_it_ends_by_itself(tmp_path):
    (tmp_path / "x.pftrace").write_bytes(b"x")
    one = Served(tmp_path / "x.pftrace", seconds=0.05)
    assert one.over.wait(5)
    assert one.fetched is False


def test_only_loopback_listens(served):
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None)}
    for address in addresses - {HOST, "::1"}:
        with pytest.raises(OSError):
            socket.create_connection((address, served.server.port), 0.5).close()


def test_offline_is_known(monkeypatch):
    monkeypatch.setattr("urllib.request.getproxies", dict)

    def refuse(*args, **more):
        raise OSError("unreachable")

    monkeypatch.setattr(socket, "create_connection", refuse)
    assert not is_reachable()
    monkeypatch.setattr("urllib.request.getproxies", lambda: {"https": "http://proxy"})
    assert is_reachable()  # only the browser can tell
