"""The source panel: the right line, what it cost, and what is said when the file is not here."""

import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication

from tests.paths import DATA
from viewer.gui.panels.source.code_view import MOST_LINES, CodeView
from viewer.gui.panels.source.panel import NO_LINES, CallPath, SourcePanel, steps_of
from viewer.gui.panels.source.syntax import language_of, spans
from viewer.gui.session.choices import add_substitution, remove_substitution
from viewer.gui.session.selection import operator_of
from viewer.model.times import NARROW_SPACE as NARROW
from viewer.program.frames import Frame
from viewer.program.program import GraphNode, Operator
from viewer.program.source_files import GAP, Substitution
from viewer.resources import SAMPLES
from viewer.view.state import SliceRef

ATTENTION_0 = 9
RECORDED = "/home/user/models/models.py"


@pytest.fixture
def panel(sample, show_panel):
    return show_panel(SourcePanel, sample("attention_xnnpack"), 735, 560)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("attention_xnnpack", "a = torch.nn.functional.scaled_dot_product_attention(q, k, v)"),
        ("delegate_handle_map", "return torch.tan(x)"),
        ("torq_npu", "%7 = tosa.max_pool2d"),
    ],
)
def test_the_most_expensive_line_is_in_view_before_anything_is_selected(
    sample, show_panel, key, text
):
    panel = show_panel(SourcePanel, sample(key), 735, 560)
    ((line,), costs) = panel.code.marked, panel.code.gutter.notes
    assert line in costs
    assert panel.code.toPlainText().splitlines()[line - 1].strip().startswith(text)
    assert 0 <= panel.code.top_of(line) < panel.code.viewport().height()


def test_a_record_alone_opens_its_file_at_the_first_operator(opened, show_panel, attention_record):
    panel = show_panel(SourcePanel, opened(attention_record), 735, 560)
    assert panel.place == (RECORDED, 48)
    assert panel.code.marked == (48,)
    assert "self.qkv(self.ln1(x))" in panel.code.toPlainText().splitlines()[47]
    assert panel.code.gutter.notes == {}


def test_a_file_that_is_not_here_can_be_located_before_anything_is_selected(
    opened, show_panel, attention_record, tmp_path
):
    moved = shutil.copy(attention_record, tmp_path)
    panel = show_panel(SourcePanel, opened(moved), 735, 560)
    panel.missing.button.click()
    *_, asked = panel.host.asked
    assert asked == ("locate_source", RECORDED)


def test_a_pytorch_profile_shows_the_cost_of_its_functions(opened, data, show_panel, tmp_path):
    profile = shutil.copy(data / "chrome_json" / "torch_training.json.gz", tmp_path)
    code = [f"# line {number}" for number in range(1, 60)]
    (tmp_path / "train.py").write_text("\n".join(code))
    panel = show_panel(SourcePanel, opened(profile), 735, 560)
    assert panel.place == ("train.py", 27)
    assert set(panel.code.gutter.notes) == {15, 27, 33}  # line 51 is around all steps
    assert panel.functions.isVisible()
    assert not panel.version.isVisible()


def test_a_profile_without_source_lines_says_so(opened, data, show_panel):
    profile = data / "chrome_json" / "onnxruntime_profile.json"
    panel = show_panel(SourcePanel, opened(profile), 735, 560)
    assert panel.sentence == "This profile records no source lines."


def test_files_that_record_no_source_lines_say_so(opened, show_panel):
    panel = show_panel(SourcePanel, opened(str(DATA / "pte" / "cond.pte")), 735, 560)
    assert panel.sentence == NO_LINES


def test_the_line_of_the_selected_operator_is_shown_and_marked(panel):
    panel.session.select_operators(0, (ATTENTION_0,))
    assert panel.place == (RECORDED, 52)
    assert panel.code.marked == (52,)
    line = panel.code.toPlainText().splitlines()[51]
    assert line.strip() == "a = torch.nn.functional.scaled_dot_product_attention(q, k, v)"
    assert 0 <= panel.code.top_of(52) < panel.code.viewport().height()


def test_self_time_stands_beside_its_line_and_shared_time_in_the_footer(panel):
    panel.session.select_operators(0, (ATTENTION_0,))
    notes = panel.code.gutter.notes
    assert {line: note.text for line, note in notes.items()} == {
        48: f"5.418{NARROW}µs",
        52: f"15.996{NARROW}µs",
        54: f"1.242{NARROW}µs",
    }
    assert notes[52].share == 1.0
    text = panel.shared.text()
    shared = "52–53", f"9.454{NARROW}µs", "33, 54", f"5.228{NARROW}µs"
    assert [part in text for part in shared] == [True] * 4
    # 5.418 + 15.996 + 1.242 = 22.656, the operators' self time


def test_brackets_of_the_selected_operator_are_told_from_others(panel):
    panel.session.select_operators(0, (ATTENTION_0,))
    here = {b.lines: b.here for b in panel.code.gutter.brackets}
    assert here == {(52, 53): True, (51, 52): True, (49, 50, 52): True, (33, 54): False}


def test_the_crumbs_name_classes_and_methods(panel):
    panel.session.select_operators(0, (ATTENTION_0,))
    assert "TwoBlocks.forward" in panel.calls.text()
    assert "AttentionBlock.forward" in panel.calls.text()


def test_a_file_found_elsewhere_says_where_it_was_recorded(panel):
    panel.session.select_operators(0, (ATTENTION_0,))
    beside = Path(SAMPLES[0].paths()[0]).parent / "models.py"
    assert panel.note.text() == f"shown from {beside}"
    assert panel.note.hint == f"Shown from {beside}\nRecorded as {RECORDED}"


def test_a_path_without_room_is_not_shown_and_stays_in_the_tooltips(panel):
    panel.session.select_operators(0, (ATTENTION_0,))
    panel.resize(1400, 560)
    assert panel.note.shown_text.startswith("shown from")
    beside = panel.width() - panel.note.width()  # gutter, calls and margins
    for room in (80, 40, 10):
        panel.resize(beside + room, 560)
        assert panel.note.width() < 90
        assert panel.note.shown_text == ""
    assert RECORDED in panel.calls.toolTip()


def test_a_click_on_a_line_with_cost_selects_its_dearest_operators(panel, qtbot):
    session = panel.session
    session.select_operators(0, (ATTENTION_0,))
    for line, most_expensive in ((48, "blocks.0.qkv · linear"), (54, "blocks.0.ln2 · layer_norm")):
        y = panel.code.top_of(line) + 5
        qtbot.mouseClick(panel.code.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(300, y))
        (chosen,) = session.state.operators[1]
        assert operator_of(session, 0, chosen).label == most_expensive


def test_a_click_on_a_line_without_cost_changes_nothing(panel):
    panel.session.select_operators(0, (ATTENTION_0,))
    before = panel.session.state
    panel.code.line_clicked.emit(46)
    assert panel.session.state == before


@pytest.fixture
def alone(opened, show_panel, tmp_path):
    """The panel of the attention sample without its source, at the most expensive line."""
    for path in SAMPLES[0].paths():
        shutil.copy(path, tmp_path)
    session = opened(*(tmp_path / Path(p).name for p in SAMPLES[0].paths()))
    return show_panel(SourcePanel, session, 735, 560)


def test_of_an_absent_file_the_recorded_lines_are_shown_with_their_costs(alone, panel):
    code = alone.code
    assert list(code.numbers) == [33, GAP, 48, 49, 50, 51, 52, 53, 54, GAP, 64]
    lines = code.toPlainText().splitlines()
    assert lines[6] == "a = torch.nn.functional.scaled_dot_product_attention(q, k, v)"
    assert (lines[1], code.marked, alone.current_line) == ("", (52,), 52)
    assert code.gutter == panel.code.gutter, "as with the file"
    assert alone.shared.text() == panel.shared.text()
    assert alone.shown_file is None, "there is no file to open in an editor"
    assert alone.editor.isHidden()
    assert alone.note.text() == RECORDED


def test_a_notice_says_that_the_file_is_absent_and_where_it_was_looked_for(alone, tmp_path):
    notice = "models.py was not found; these are the 9 lines that the ETRecord quotes."
    assert alone.missing.text.text() == notice
    searched = f"Searched:\n{RECORDED}\n{tmp_path}, and 3 levels above"
    assert alone.missing.text.hint == f"{notice}\n{searched}"
    assert alone.missing.button.accessibleDescription() == searched


def test_a_click_on_a_recorded_line_selects_its_operators(alone, qtbot):
    code = alone.code
    for line, label in ((48, "blocks.0.qkv · linear"), (54, "blocks.0.ln2 · layer_norm")):
        at = QPoint(300, code.top_of(line) + 5)
        qtbot.mouseClick(code.viewport(), Qt.MouseButton.LeftButton, pos=at)
        (chosen,) = alone.session.state.operators[1]
        assert operator_of(alone.session, 0, chosen).label == label
        assert code.marked == (line,)


def test_a_click_on_a_gap_selects_nothing(alone):
    before = alone.session.state
    y = alone.code.top_of(48) - alone.code.line_height + 5
    assert alone.code.line_at(y) == 0
    alone.code.line_clicked.emit(0)
    assert alone.session.state == before


def test_a_file_that_was_located_takes_the_place_of_its_recorded_lines(alone):
    alone.session.select_operators(0, (ATTENTION_0,))
    assert not alone.missing.isHidden()
    models = Path(SAMPLES[0].paths()[0]).parent
    add_substitution(alone.session, Substitution("/home/user/models", str(models)))
    assert alone.missing.isHidden()
    assert alone.code.numbers[0] == 1
    assert alone.code.marked == (52,)


def test_a_file_that_is_neither_here_nor_quoted_says_where_it_was_recorded(alone):
    alone.show_source("/home/user/models/other.py", 3)
    assert alone.sentence == (
        "other.py was not found at its recorded path, /home/user/models/other.py, or in or near "
        "the folders of the open files. Locate it once; Opscope then finds all sources in the same "
        "folder."
    )


def test_a_private_file_that_the_record_names_is_refused_with_the_reason(alone, tmp_path):
    key = tmp_path / "id_rsa"
    key.write_text("secret")
    alone.show_source(str(key), 1)
    assert alone.shown_file is None
    assert alone.sentence.startswith(
        f"Opscope reads only .py and .mlir files that a profile names, not {key}."
    )
    add_substitution(alone.session, Substitution(str(key), str(key), any_kind=True))
    assert alone.shown_file == str(key)
    assert f"Shown from {key}" in alone.note.hint


def test_a_link_shows_which_file_is_read(alone, tmp_path):
    (tmp_path / "real.py").write_text("x = 1\n")
    link = tmp_path / "model.py"
    link.symlink_to(tmp_path / "real.py")
    alone.show_source(str(link), 1)
    assert f"Shown from {link}, a link to {tmp_path / 'real.py'}" in alone.note.hint


def test_a_file_in_the_folder_above_is_shown_if_it_is_the_recorded_version(
    opened, make_panel, tmp_path
):
    runs = tmp_path / "runs"
    runs.mkdir()
    for path in SAMPLES[0].paths():
        shutil.copy(path, runs)
    source = Path(shutil.copy(Path(SAMPLES[0].paths()[0]).parent / "models.py", tmp_path))
    for text, is_shown in ((source.read_text(), True), ("# another model\n", False)):
        source.write_text(text)
        session = opened(*(runs / Path(p).name for p in SAMPLES[0].paths()))
        panel = make_panel(SourcePanel, session)
        session.select_operators(0, (ATTENTION_0,))
        assert panel.missing.isHidden() is is_shown
        assert not is_shown or panel.note.text() == f"shown from {source}"


def test_what_was_said_about_paths_is_listed_and_can_be_forgotten(panel, tmp_path):
    session = panel.session
    assert panel.paths.isHidden()
    session.select_operators(0, (ATTENTION_0,))
    moved = Substitution("/home/user", str(tmp_path))
    add_substitution(session, moved)
    assert not panel.paths.isHidden()
    panel.paths_menu.aboutToShow.emit()
    listed = [action.text() for action in panel.paths_menu.actions() if action.text()]
    assert listed == ["Locate the file models.py…", f"Forget /home/user → {tmp_path}"]
    for action in panel.paths_menu.actions():
        action.trigger()
    assert panel.host.asked == [("locate_source", RECORDED), ("forget_source", moved)]
    remove_substitution(session, moved)
    assert panel.paths.isHidden()


def test_an_unlinked_slice_shows_the_place_that_its_location_names(opened, data, make_panel):
    session = opened(data / "torq" / "compile_c3_taskid_mtu.csv")
    panel = make_panel(SourcePanel, session)
    trace = session.traces[0].trace
    locations = [str(trace.keys.location[key]) for key in trace.slices.key.tolist()]
    placed = next(i for i, place in enumerate(locations) if place.startswith(
        'loc(callsite("tiny_cnn.mlir":16:10'))  # fmt: skip
    session.select_slice(SliceRef(0, placed))
    assert session.traces[0].table.program is None
    assert panel.place == ("tiny_cnn.mlir", 16)
    assert panel.code.marked == (16,)


def test_an_mlir_text_is_its_own_source(opened, data, make_panel):
    torq = data / "torq"
    session = opened(torq / "compile_c0_callsite.csv", torq / "tiny_cnn.mlir")
    panel = make_panel(SourcePanel, session)
    table = session.traces[0].table
    conv = next(o for o in table.program.operators if o.op == "tosa.conv2d")
    session.select_operators(0, (conv.index,))
    assert panel.code.marked == (11,)
    assert 11 in panel.code.gutter.notes


def test_the_window_can_ask_for_any_line(panel):
    panel.show_source(RECORDED, 108)
    assert panel.place == (RECORDED, 108)
    assert panel.code.marked == (108,)


def test_of_a_very_long_file_the_lines_around_are_shown(theme, qtbot):
    view = CodeView(theme)
    qtbot.addWidget(view)
    view.show_lines(tuple(f"x{i}" for i in range(1, 20_001)), "python", 10_000)
    first, last = view.shown_range
    assert last - first + 1 == MOST_LINES
    assert first <= 10_000 <= last
    assert view.toPlainText().splitlines()[10_000 - first] == "x10000"


@pytest.fixture
def same_theme_after(theme):
    """Leave the shared theme as it was."""
    before = theme.choice
    yield
    theme.set_choice(before)


def colors_of_line(view, row):
    layout = view.document().findBlockByNumber(row).layout()
    return {one.format.foreground().color().name().upper() for one in layout.formats()}


@pytest.mark.usefixtures("same_theme_after")
def test_after_a_switch_of_theme_the_lines_in_view_are_colored_first(theme, qtbot):
    view = CodeView(theme)
    qtbot.addWidget(view)
    view.show_lines(("return 1",) * 500, "python", 1)
    view.resize(400, 300)
    view.show()
    was = {theme.tokens.code_keyword, theme.tokens.code_number}
    assert colors_of_line(view, 0) == colors_of_line(view, 499) == was
    theme.set_choice("light" if theme.dark else "dark")
    view.restyle()
    now = {theme.tokens.code_keyword, theme.tokens.code_number}
    assert colors_of_line(view, 0) == now
    assert colors_of_line(view, 499) == was
    qtbot.waitUntil(lambda: colors_of_line(view, 499) == now)
    assert all(colors_of_line(view, row) == now for row in range(500))


@pytest.mark.usefixtures("same_theme_after")
def test_another_file_shown_during_a_switch_of_theme_has_its_colors(theme, qtbot):
    view = CodeView(theme)
    qtbot.addWidget(view)
    view.show_lines(("return 1",) * 500, "python", 1)
    theme.set_choice("light" if theme.dark else "dark")
    view.restyle()
    view.show_lines(("return 2",) * 3, "python", 1)
    QApplication.processEvents()
    now = {theme.tokens.code_keyword, theme.tokens.code_number}
    assert [colors_of_line(view, row) for row in range(3)] == [now] * 3


def test_of_very_many_recorded_lines_those_around_are_shown(theme, qtbot):
    view = CodeView(theme)
    qtbot.addWidget(view)
    numbers = [n for line in range(10, 40_010, 10) for n in (line, GAP)]
    view.show_lines(tuple(map(str, numbers)), "python", 20_000, numbers)
    assert len(view.numbers) == MOST_LINES
    assert view.shows(20_000)
    assert view.line_at(view.top_of(20_000) + 5) == 20_000
    assert view.toPlainText().splitlines() == list(map(str, view.numbers))


def test_a_line_between_those_shown_is_not_marked(theme, qtbot):
    view = CodeView(theme)
    qtbot.addWidget(view)
    view.show_lines(("a", "", "b"), "python", 3, (3, GAP, 8))
    view.mark([5])
    assert view.marked_rects() == []
    view.mark([8])
    assert len(view.marked_rects()) == 1


def test_python_is_colored_by_words():
    found, state = spans('def f(x): return "a" + g(1)  # why', "python")
    kinds = [kind for _, _, kind in found]
    assert kinds == ["keyword", "call", "keyword", "string", "call", "number", "comment"]
    assert state == 0


def test_a_triple_quoted_string_lasts_until_it_is_closed():
    _, state = spans('x = """begins', "python")
    assert state == 1
    found, state = spans('ends""" + y', "python", state)
    assert (found[0], state) == ((0, 7, "string"), 0)


def test_quotes_inside_a_comment_open_nothing():
    assert spans('x = 1  # it\'s """ here', "python")[1] == 0


def test_mlir_is_colored_by_words():
    found, _ = spans('%0 = tosa.add %1, %2 {a = 3 : i32} loc("x")  // c', "mlir")
    assert [kind for _, _, kind in found] == [
        "call", "number", "keyword", "string", "comment"
    ]  # fmt: skip
    assert language_of("a/b.mlir") == "mlir"


# -- the calls that led there ----------------------------------------------------------------------


def links_of(panel):
    return re.findall(r'<a href="(\w+)"', panel.calls.text())


def test_the_calls_that_led_to_an_operator_are_walked(panel):
    panel.session.select_operators(0, (ATTENTION_0,))
    before = panel.session.state
    assert [step.text for step in panel.calls.steps] == [
        "TwoBlocks.forward", "AttentionBlock.forward"
    ]  # fmt: skip
    assert links_of(panel) == ["0"], "the call that is shown is no link"
    panel.calls.linkActivated.emit("0")
    assert panel.place == (RECORDED, 64)
    assert panel.code.marked == (64,)
    assert links_of(panel) == ["1"]
    panel.calls.linkActivated.emit("1")
    assert (panel.place, panel.code.marked) == ((RECORDED, 52), (52,))
    assert panel.session.state == before, "to look at a call selects nothing"


def test_a_call_is_chosen_by_the_keyboard_too(panel, qtbot):
    panel.session.select_operators(0, (ATTENTION_0,))
    panel.activateWindow()
    panel.calls.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(panel.calls.hasFocus)
    qtbot.keyClick(panel.calls, Qt.Key.Key_Tab)
    qtbot.keyClick(panel.calls, Qt.Key.Key_Return)
    assert panel.place == (RECORDED, 64)


def operator_called(*frames):
    node = GraphNode("n", "aten.add.Tensor", 1, frames=frames)
    return Operator(0, "forward", 1, (node,))


def test_frames_of_libraries_are_folded_until_they_are_asked_for():
    own, library = "/home/user/a.py", "/usr/lib/python3.11/site-packages/torch/nn/module.py"
    frames = [
        Frame(path, i, f"f{i}", "") for i, path in enumerate([own, library, library, own, library])
    ]
    operator = operator_called(*frames)
    assert [s.text for s in steps_of(operator)] == ["f0", "⋯ 2", "f3", "⋯ 1"]
    assert [s.text for s in steps_of(operator, unfolded=True)] == ["f0", "f1", "f2", "f3", "f4"]
    assert [s.text for s in steps_of(operator_called(*frames[1:3]))] == ["f1", "f2"]
    assert steps_of(operator_called()) == []


def test_folded_frames_unfold_by_a_click(theme, qtbot):
    library = "/usr/lib/python3.11/site-packages/torch/nn/module.py"
    frames = [Frame("/a.py", 3, "<b>own</b>", ""), Frame(library, 7, "call", "")]
    calls = CallPath(theme)
    qtbot.addWidget(calls)
    calls.show_path(operator_called(*frames), ("/a.py", 3), "a.py")
    assert "⋯ 1" in calls.text()
    assert "<b>own" not in calls.text()
    calls.linkActivated.emit("unfold")
    with qtbot.waitSignal(calls.chosen) as chosen:
        calls.linkActivated.emit("1")
    assert chosen.args == [library, 7]
    calls.show_path(None, ("/a.py", 3), "a.py")
    assert links_of(SimpleNamespace(calls=calls)) == []


def test_from_a_call_whose_file_is_not_here_one_walks_on(alone):
    alone.session.select_operators(0, (ATTENTION_0,))
    assert alone.missing.isVisible()
    assert alone.calls.isVisible()
    alone.calls.linkActivated.emit("0")
    assert (alone.place, alone.code.marked) == ((RECORDED, 64), (64,))


# -- another version -------------------------------------------------------------------------------


def test_a_file_of_another_version_is_told(opened, show_panel, tmp_path):
    folder = Path(SAMPLES[0].paths()[0]).parent
    for path in folder.iterdir():
        shutil.copy(path, tmp_path)
    models = tmp_path / "models.py"
    models.write_text("import os\n" + models.read_text())
    session = opened(*(tmp_path / Path(p).name for p in SAMPLES[0].paths()))
    panel = show_panel(SourcePanel, session)
    session.select_operators(0, (ATTENTION_0,))
    assert panel.version.isVisible()
    assert panel.version.text() == (
        "Different version of the file: line 33 was recorded as “return "
        "self.fc2(self.act(self.fc1(x)))”, and 8 other lines of 9 differ"
    )


def test_of_the_recorded_version_nothing_is_said(panel):
    panel.session.select_operators(0, (ATTENTION_0,))
    assert panel.version.isHidden()


def test_shares_of_the_inference_stand_beside_self_times(panel):
    panel.session.select_operators(0, (ATTENTION_0,))
    notes = panel.code.gutter.notes
    assert {line: note.of_all for line, note in notes.items()} == {
        48: f"9.8{NARROW}%", 52: f"29.0{NARROW}%", 54: f"2.2{NARROW}%"
    }  # fmt: skip
    assert panel.gutter_title.text() == "  Self, % of inference time"


@pytest.fixture
def wrapped(opened, show_panel, data):
    """A model of an installed package in a module of the user's own."""
    files = (data / "pte" / f"et_zoo_wrap.{end}" for end in ("etdp", "etrecord"))
    return show_panel(SourcePanel, opened(*files), 735, 560)


def test_the_lines_of_a_package_are_the_source_until_those_that_called_it_are_wanted(wrapped):
    panel = wrapped
    assert panel.by_caller.isVisible()
    assert panel.place[0].endswith("zoo/net.py")
    assert set(panel.code.gutter.notes) == {11, 12, 13, 25}
    panel.by_caller.click()
    assert panel.place == ("/home/user/models/tiny.py", 104)
    assert set(panel.code.gutter.notes) == {104, 105}
    panel.by_caller.click()
    assert panel.place[0].endswith("zoo/net.py")


def test_the_selection_stays_when_the_lines_that_called_a_package_are_shown(wrapped):
    panel, session = wrapped, wrapped._session
    number = next(o.index for o in session.traces[0].table.program.operators if o.op == "tanh")
    session.select_operators(0, (number,))
    assert panel.place[1] == 12
    panel.by_caller.click()
    assert panel.place == ("/home/user/models/tiny.py", 104)
    assert panel.code.marked == (104,)
    assert session.state.operators == (0, (number,))


def test_without_a_package_there_is_no_switch(panel):
    assert not panel.by_caller.isVisible()
