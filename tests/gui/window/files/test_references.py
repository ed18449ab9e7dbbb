"""Files that the user chooses to compare logged values with."""

from tests.gui.events import answer_file_dialog
from viewer.gui.session.feeds.numbers import NumbersFeed


def open_files(controller, qtbot, *paths):
    controller.opener.open([str(path) for path in paths])
    qtbot.waitUntil(lambda: not controller.opener.is_busy and bool(controller.session.traces))
    return NumbersFeed.of(controller.session)


def test_a_profile_is_opened_and_compared_with(controller, qtbot, data, monkeypatch):
    folder = data / "numbers"
    feed = open_files(controller, qtbot, folder / "xnnpack.etdp", folder / "xnnpack.etrecord")
    chosen = [str(folder / "portable.etdp")]
    answer_file_dialog(monkeypatch, chosen)
    controller.references.choose()
    qtbot.waitUntil(lambda: len(controller.session.traces) == 2, timeout=30_000)
    qtbot.waitUntil(lambda: not feed.is_measuring, timeout=30_000)
    assert feed.answer.reference.startswith("portable.etdp")


def test_an_etrecord_is_refused_with_the_reason(controller, qtbot, data):
    folder = data / "numbers"
    feed = open_files(controller, qtbot, folder / "xnnpack.etdp")
    controller.references.take([str(folder / "xnnpack.etrecord")])
    assert "has the model, and no logged values" in controller.window.message.text
    assert feed.reference is None


def test_a_debug_buffer_is_read_for_the_profile(controller, qtbot, data, tmp_path, monkeypatch):
    path = tmp_path / "alone.etdp"
    path.write_bytes((data / "numbers/portable.etdp").read_bytes())
    feed = open_files(controller, qtbot, path)
    qtbot.waitUntil(lambda: feed.answer is not None)
    assert feed.answer.wants_buffer
    chosen = [str(data / "numbers/portable.bin")]
    answer_file_dialog(monkeypatch, chosen)
    controller.references.choose_buffer()
    qtbot.waitUntil(lambda: not feed.is_measuring)
    assert feed.answer.problem == ""


def test_a_buffer_and_arrays_may_be_opened_with_the_profile(controller, qtbot, data, tmp_path):
    folder = data / "numbers"
    path = tmp_path / "alone.etdp"
    path.write_bytes((folder / "xnnpack.etdp").read_bytes())
    files = path, folder / "xnnpack.bin", folder / "reference.npz", folder / "xnnpack.etrecord"
    feed = open_files(controller, qtbot, *files)
    qtbot.waitUntil(lambda: feed.answer is not None and not feed.is_measuring)
    assert (feed.answer.problem, feed.answer.reference) == ("", "reference.npz")
    assert controller.window.message.text == ""


def test_arrays_alone_are_no_file_to_open(controller, qtbot, data):
    controller.opener.open([str(data / "numbers/reference.npz")])
    qtbot.waitUntil(lambda: "open it together with their ETDump" in controller.window.message.text)
