"""The frame of a window: how it was stored, and what it costs to follow the view."""

from tests.gui.events import controller_of, put_away


def test_the_window_lies_as_it_lay(qtbot, qapp, tmp_path, monkeypatch):
    controller = controller_of(qtbot, tmp_path, monkeypatch)
    controller.window.resize(700, 600)
    controller.window.close()
    again = controller_of(qtbot, tmp_path, monkeypatch, size=None).window
    assert (again.width(), again.height()) == (700, 600)
    put_away(again)


def test_zooming_hardly_ever_lays_out_the_status_bar(attention):
    """A label of another width lays out the window: every frame took as long as two."""
    widths, label = [], attention.window.status.range
    for span in range(100_000, 1_000_000, 9_999):
        attention.session.set_range(0, span)
        widths.append(label.width())
        assert label.width() >= label.sizeHint().width()
    assert len(set(widths)) <= 2
