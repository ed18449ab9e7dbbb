"""What the message bar says of links, and how it is overruled."""

from PySide6.QtCore import Qt

from tests.gui.events import open_files
from tests.gui.window.shown import ATTENTION, ATTENTION_RECORD, DEMO, DEMO_RECORD, message, problems
from viewer.gui.session.choices import choose_method, match_automatically, set_identifier_column
from viewer.workspace.link_choices import Choices


def test_a_dump_that_belongs_to_another_record_is_not_linked_and_says_so(controller, qtbot, data):
    record = data / "etrecord" / "cnn_standalone_NOdeepcopy.etrecord"
    open_files(qtbot, controller, data / "etdump" / "cnn_xnnpack3_x5.etdp", record)
    assert controller.session.traces[0].table.program is None
    said = "cnn_xnnpack3_x5.etdp does not match cnn_standalone_NOdeepcopy.etrecord"
    assert message(controller).startswith(said)
    assert controller.toolbar.link_state.text() == "ETRecord does not match"
    assert ("Warning", message(controller)) in problems(controller)


def test_a_warning_goes_when_it_holds_no_more_and_an_error_stays(controller, qtbot, data, tmp_path):
    names = ("etdump/multi_forward_decode_converts_x3.etdp",
             "etrecord/multi_forward_decode_teal_xnnpack.etrecord")  # fmt: skip
    open_files(qtbot, controller, *(data / name for name in names), tmp_path / "gone.etdp")
    error, warning = message(controller).splitlines()
    assert "may have run decode or forward" in warning
    assert controller.window.message.action.text() == "Choose ETRecord…"
    for scope, method in (("Execute 1", "forward"), ("Execute 2", "decode")):
        choose_method(controller.session, controller.session.traces[0].trace.path, scope, method)
    assert message(controller) == error
    assert not controller.window.message.action.isVisible()
    qtbot.keyClick(controller.window, Qt.Key.Key_Escape)
    assert message(controller) == ""


def test_one_foreign_record_can_be_linked_anyway_several_must_be_chosen_from(
    controller, qtbot, data
):
    one, other = (
        data / "etdump" / f"{name}.etdp" for name in ("cnn_portable_x1", "cond_portable_x5")
    )
    open_files(qtbot, controller, one, ATTENTION_RECORD)
    assert controller.window.message.action.text() == "Link anyway"
    open_files(qtbot, controller, other)
    assert len(message(controller).splitlines()) == 2
    assert controller.window.message.action.text() == "Choose ETRecord…"
    qtbot.mouseClick(controller.window.message.action, Qt.MouseButton.LeftButton)
    assert message(controller) == ""
    assert controller.panels["links"].isVisible()


def test_what_cannot_be_checked_is_not_called_foreign(controller, qtbot):
    open_files(qtbot, controller, DEMO, ATTENTION_RECORD)
    assert "cannot be checked" in message(controller)
    assert controller.toolbar.link_state.text() != "ETRecord does not match"


def test_an_explicit_pair_wins_and_an_impossible_one_says_why(controller, qtbot, data):
    dump = str(data / "etdump" / "cnn_xnnpack3_x5.etdp")
    record = str(data / "etrecord" / "cnn_standalone_NOdeepcopy.etrecord")
    with qtbot.waitSignal(controller.loader.all_done):
        controller.opener.open([dump, record], Choices(((dump, record),)))
    assert controller.session.traces[0].table.program.path == record
    assert "They are linked because you chose so." in message(controller)
    with qtbot.waitSignal(controller.loader.all_done):
        controller.opener.open([ATTENTION], Choices(((ATTENTION, DEMO_RECORD),)))
    assert f"{DEMO_RECORD} is not an open ETRecord or source" in message(controller)


def test_a_chosen_column_of_identifiers_is_remembered(controller, qtbot, data):
    files = [str(data / "torq" / "demo_manual_int_r1.csv"),
             str(data / "etrecord" / "demo_manual_int.etrecord")]  # fmt: skip
    open_files(qtbot, controller, *files)
    assert "Numbers can match by chance" in message(controller)
    with qtbot.waitSignal(controller.session.columns_remembered):
        set_identifier_column(controller.session, files[0], "job_id")
    assert list(controller.settings.identifier_columns().values()) == ["job_id"]
    controller.session.close_all()
    open_files(qtbot, controller, *files)
    assert controller.session.traces[0].table.program.path == files[1]
    with qtbot.waitSignal(controller.session.columns_remembered):
        match_automatically(controller.session, files[0])
    assert controller.settings.identifier_columns() == {}
