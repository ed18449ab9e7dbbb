"""Open in Perfetto UI: the browser gets the page, the page gets the trace, and nothing stays."""

import http.client
import os
import urllib.parse

import pytest
from PySide6.QtGui import QDesktopServices

from viewer.codecs.atomic_file import WriteCancelled
from viewer.gui.window.dialogs.export import ExportDialog
from viewer.gui.window.files import perfetto_server
from viewer.gui.window.files.export_actions import NO_PORT, OFFLINE
from viewer.gui.window.files.perfetto_server import UI_ORIGIN, PerfettoServer, PortTaken


@pytest.fixture
def browser(monkeypatch):
    """What a browser was asked to open; the port is any free one."""
    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url) or True)
    monkeypatch.setattr(perfetto_server, "is_reachable", lambda: True)
    monkeypatch.setattr(
        perfetto_server, "PerfettoServer", lambda path, ended: PerfettoServer(path, ended, port=0)
    )
    return opened


@pytest.fixture
def controller(attention):
    """The window with the attention sample open."""
    return attention


@pytest.fixture
def handing(controller):
    return controller.perfetto_ui


def start(controller):
    controller.commands.actions["file.perfetto_ui"].trigger()


def fetch(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("GET", server.place, headers={"Origin": UI_ORIGIN})
    return connection.getresponse().read()


def said(controller):
    return controller.window.status.said.text()


def test_the_page_reads_the_trace_and_then_nothing_is_left(controller, handing, browser, qtbot):
    start(controller)
    qtbot.waitUntil(lambda: bool(browser))
    address = browser[0].toString()
    assert address == handing.server.ui_address
    place = urllib.parse.urlsplit(address.partition("?url=")[2])
    assert (place.hostname, place.path) == ("127.0.0.1", handing.server.place)
    path = handing._path
    with open(path, "rb") as file:
        written = file.read()
    assert os.path.basename(path) == "attn_xnnpack_x5.pftrace"
    assert fetch(handing.server) == written
    qtbot.waitUntil(lambda: handing.server is None)
    assert not os.path.exists(os.path.dirname(path))
    assert said(controller).startswith("Trace loaded in Perfetto UI")


def test_offline_says_so_and_offers_the_file(controller, handing, browser, qtbot, monkeypatch):
    monkeypatch.setattr(perfetto_server, "is_reachable", lambda: False)
    start(controller)
    message = controller.window.message
    qtbot.waitUntil(lambda: message.text == OFFLINE)
    assert (browser, handing.server, handing._path) == ([], None, "")
    message.action.click()
    assert controller.window.findChild(ExportDialog).isVisible()


def test_a_taken_port_says_so_and_offers_the_file(controller, handing, browser, qtbot, monkeypatch):
    def taken(path, ended):
        raise PortTaken

    monkeypatch.setattr(perfetto_server, "PerfettoServer", taken)
    start(controller)
    qtbot.waitUntil(lambda: controller.window.message.text == NO_PORT)
    assert browser == []


def test_without_a_browser_the_address_is_told(controller, handing, browser, qtbot, monkeypatch):
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: False)
    start(controller)
    qtbot.waitUntil(lambda: "Could not start a browser" in controller.window.message.text)
    assert handing.server.ui_address in controller.window.message.text


def test_asking_again_serves_the_new_trace_alone(controller, handing, browser, qtbot):
    start(controller)
    qtbot.waitUntil(lambda: len(browser) == 1)
    first, path = handing.server, handing._path
    start(controller)
    qtbot.waitUntil(lambda: len(browser) == 2)
    assert not os.path.exists(path)
    with pytest.raises(OSError):
        fetch(first)
    assert fetch(handing.server)


def test_closing_the_window_ends_it(controller, handing, browser, qtbot):
    start(controller)
    qtbot.waitUntil(lambda: bool(browser))
    path = handing._path
    controller.window.close()
    assert handing.server is None
    assert not os.path.exists(path)


def test_a_cancelled_export_leaves_nothing(controller, handing, browser, qtbot, monkeypatch):
    def cancelled(progress, stop):
        raise WriteCancelled

    monkeypatch.setattr("viewer.workspace.exports.prepare", lambda space, path: cancelled)
    start(controller)
    folder = handing._folder.path
    qtbot.waitUntil(lambda: handing._path == "")
    assert not os.path.exists(folder)
    assert browser == []


def test_it_needs_a_profile(shared_window):
    assert not shared_window.showing().commands.actions["file.perfetto_ui"].isEnabled()
