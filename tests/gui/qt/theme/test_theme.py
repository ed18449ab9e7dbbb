"""The look: readable tokens, one switch, fonts in proportion, icons in the color asked for."""

import re
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPalette
from PySide6.QtWidgets import QDialog, QLabel, QPushButton, QTableView, QWidget

from tests.paths import ROOT
from viewer.gui.qt.settings import FONT_SIZE
from viewer.gui.qt.theme.theme import DARK, FONT_SIZES, LIGHT, Theme, is_dark, make_palette, mix
from viewer.resources import resource

ICONS = """
    open back forward fit search previous next export close warning info file chevron-down
    chevron-right chevron-up sun moon theme zoom-in zoom-out undo redo help play layers code
    list check dot
""".split()  # noqa: SIM905


@pytest.fixture
def theme(qapp):
    palette = qapp.palette()
    theme = Theme(qapp, "light")
    yield theme
    qapp.styleHints().colorSchemeChanged.disconnect(theme._follow_scheme)
    theme.deleteLater()
    qapp.setPalette(palette)


def luminance(color):
    def linear(share):
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    c = QColor(color)
    return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF())


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("tokens", [DARK, LIGHT], ids=["dark", "light"])
@pytest.mark.parametrize(
    ("ink", "grounds", "least"),
    [
        ("text1", "canvas panel chrome raised hover selection related", 7.0),
        ("text2", "canvas panel chrome selection related", 4.5),
        ("text2", "raised hover", 4.5),
        ("text3", "canvas panel chrome", 4.5),
        ("accent", "canvas panel chrome", 4.5),
        ("warning", "canvas panel chrome", 4.5),
        ("error", "canvas panel chrome", 4.5),
        ("ok", "canvas panel chrome", 4.5),
        ("on_accent", "accent_fill", 4.5),
        ("slab_label", "slab", 4.5),
        ("frame_label", "frame", 4.5),
        ("counter_line", "canvas panel", 3.0),  # lines and edges, not text: WCAG 1.4.11
        ("diamond", "canvas", 3.0),
        ("ring", "canvas panel", 3.0),
        ("accent", "raised", 3.0),  # the border of a button that has the keys
        ("code_keyword", "canvas panel", 4.5),
        ("code_string", "canvas panel", 4.5),
        ("code_number", "canvas panel", 4.5),
        ("code_call", "canvas panel", 4.5),
        ("code_comment", "canvas panel", 4.5),
    ],
)
def test_every_ink_is_readable_on_its_grounds(tokens, ink, grounds, least):
    for ground in grounds.split():
        value = contrast(getattr(tokens, ink), getattr(tokens, ground))
        assert value >= least, f"{ink} on {ground}: {value:.2f}"


def test_the_tokens_are_plain_colors():
    for tokens in (DARK, LIGHT):
        assert all(re.fullmatch("#[0-9A-F]{6}", value) for value in asdict(tokens).values())


def test_a_color_with_an_opacity_leaves_the_shared_one_opaque(theme):
    assert theme.color("ring", 0.5).alphaF() == pytest.approx(0.5, abs=0.01)
    assert theme.color("ring").alpha() == 255
    assert theme.color("ring") is theme.color("ring")


@pytest.mark.slow
def test_only_colors_made_on_the_spot_are_changed():
    """A change of a shared color shows wherever its token is painted, until the program ends."""
    shared = []
    for path in (ROOT / "viewer" / "gui").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        changed = set(re.findall(r"(\w+)\.setAlpha", text))
        shared += [(path.name, one) for one in changed if f"{one} = QColor(" not in text]
    assert shared == []


def test_mixing_goes_from_one_color_to_the_other():
    assert mix("#000000", "#FFFFFF", 0) == "#000000"
    assert mix("#000000", "#FFFFFF", 1) == "#FFFFFF"
    assert mix("#102030", "#304050", 0.5) == "#203040"


def test_the_choice_decides_and_is_told_once(theme, qtbot):
    with qtbot.waitSignal(theme.changed):
        theme.set_choice("dark")
    assert theme.dark
    assert theme.tokens is DARK
    assert theme.choice == "dark"
    assert theme.color("canvas") == QColor(DARK.canvas)
    with qtbot.assertNotEmitted(theme.changed):
        theme.set_choice("dark")


@pytest.fixture
def sized(qapp, theme):
    """Make a theme in a font size, as if the application had just started."""
    font = qapp.font()

    def make(font_size):
        qapp.setFont(font)
        return Theme(qapp, "light", font_size)

    yield make
    make("normal")


def test_the_normal_font_size_is_that_of_the_system(theme, sized):
    assert FONT_SIZE.choices == tuple(FONT_SIZES)
    normal = sized(FONT_SIZE.default)
    assert normal.scale == theme.scale
    assert normal.font("cell") == theme.font("cell")


@pytest.mark.parametrize(("font_size", "px"), [("small", 12), ("large", 15), ("larger", 17)])
def test_the_font_size_scales_all_fonts_and_lengths(theme, sized, font_size, px):
    other = sized(font_size)
    for role in ("label", "cell", "code"):
        ratio = other.font(role).pointSizeF() / theme.font(role).pointSizeF()
        assert ratio == pytest.approx(px / 13, rel=0.01)
    assert other.px(130) == round(130 * max(1, theme.scale * px / 13))


def test_an_unknown_choice_is_refused(theme):
    with pytest.raises(ValueError, match="purple"):
        theme.set_choice("purple")


def test_system_follows_the_palette_at_the_start_even_where_the_scheme_is_unknown(theme, qapp):
    qapp.setPalette(make_palette(DARK))
    assert is_dark(qapp.palette())
    assert Theme(qapp, "system").dark
    qapp.setPalette(make_palette(LIGHT))
    assert not Theme(qapp, "system").dark


def test_system_follows_a_platform_that_tells_of_a_change(theme, qtbot):
    theme.set_choice("system")
    theme._follow_scheme(Qt.ColorScheme.Dark)
    assert theme.dark
    theme._follow_scheme(Qt.ColorScheme.Unknown)
    assert theme.dark
    theme.set_choice("light")
    theme._follow_scheme(Qt.ColorScheme.Dark)
    assert not theme.dark


def test_the_palette_and_the_sheet_have_the_colors(theme, qtbot):
    for choice, tokens in (("dark", DARK), ("light", LIGHT)):
        theme.set_choice(choice)
        button = QPushButton("Open files")
        button.setProperty("primary", True)
        label = QLabel("assumed")
        label.setProperty("tone", "warning")
        for widget in (button, label):
            qtbot.addWidget(widget)
            theme.apply_to(widget)
        assert label.palette().color(QPalette.ColorRole.Window) == QColor(tokens.panel)
        button.resize(120, 28)
        assert button.grab().toImage().pixelColor(60, 4) == QColor(tokens.accent_fill)
        image = label.grab().toImage()
        inks = {image.pixelColor(x, y).name() for x in range(image.width())
                for y in range(image.height())}  # fmt: skip
        assert tokens.warning.lower() in inks


def test_a_window_follows_a_switch_with_the_dialogs_that_it_has(theme, qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    theme.apply_to(window)
    dialog = QDialog(window)
    for choice, tokens in (("dark", DARK), ("light", LIGHT)):
        theme.set_choice(choice)
        dialog.resize(40, 40)
        assert dialog.grab().toImage().pixelColor(20, 20) == QColor(tokens.panel)


def test_a_switch_styles_each_widget_at_most_twice(theme, qtbot):
    # With the sheet on the application, Qt styles a widget once for each of its ancestors.
    class Restyled(QWidget):
        times = 0

        def changeEvent(self, event):
            self.times += event.type() is QEvent.Type.StyleChange

    window = parent = QWidget()
    qtbot.addWidget(window)
    theme.apply_to(window)
    for _ in range(8):
        parent = QWidget(parent)
    deep = Restyled(parent)
    window.show()
    deep.times = 0
    theme.set_choice("dark")
    assert 1 <= deep.times <= 2


def test_controls_have_the_height_of_the_toolbar(theme, qtbot):
    button = QPushButton("Open")
    qtbot.addWidget(button)
    theme.apply_to(button)
    assert button.sizeHint().height() == theme.px(28)


def test_fonts_keep_their_proportions_and_tables_have_theirs(theme, qtbot):
    body = theme.font("body").pointSizeF()
    assert theme.font("title").pointSizeF() == pytest.approx(body * 26 / 13)
    assert theme.font("cell").pointSizeF() == pytest.approx(body * 12.5 / 13)
    table = QTableView()
    qtbot.addWidget(table)
    theme.apply_to(table)
    table.ensurePolished()
    table.horizontalHeader().ensurePolished()
    assert table.font().pointSizeF() == pytest.approx(theme.font("cell").pointSizeF(), abs=0.01)
    header = table.horizontalHeader().font().pointSizeF()
    assert header == pytest.approx(theme.font("header").pointSizeF(), abs=0.01)


def test_the_sizes_grow_with_the_system_font_and_do_not_shrink(theme):
    theme.scale = 1.5
    assert theme.px(28) == 42
    theme.scale = 0.9
    assert theme.px(28) == 28


@pytest.mark.parametrize("name", ICONS)
def test_an_icon_is_drawn_in_one_color_on_the_grid(theme, name):
    root = ElementTree.parse(resource("icons", f"{name}.svg")).getroot()
    assert root.get("viewBox") == "0 0 16 16"
    assert root.get("stroke") == "currentColor"
    image = theme.pixmap(name, "error", 16, 2.0).toImage()
    assert image.size() == QSize(32, 32)
    solid = [
        image.pixelColor(x, y)
        for x in range(32)
        for y in range(32)
        if image.pixelColor(x, y).alpha() == 255
    ]
    error = QColor(LIGHT.error)
    assert solid, "nothing is drawn"
    # Within the rounding of strokes that cross.
    for pixel in solid:
        assert pixel.red() == pytest.approx(error.red(), abs=3)
        assert pixel.green() == pytest.approx(error.green(), abs=3)
        assert pixel.blue() == pytest.approx(error.blue(), abs=3)
    edge = [image.pixelColor(x, y).alpha() for x in range(32) for y in (0, 31)]
    assert max(edge) == 0, "it is cut at its edge"


def test_an_icon_that_is_off_is_fainter(theme):
    icon = theme.icon("close", "text1")

    def strongest(mode):
        image = icon.pixmap(QSize(16, 16), mode).toImage()
        return max(image.pixelColor(x, y).alpha() for x in range(16) for y in range(16))

    assert strongest(QIcon.Mode.Normal) == 255
    assert strongest(QIcon.Mode.Disabled) == pytest.approx(0.38 * 255, abs=2)


def test_an_icon_follows_the_theme_when_taken_again(theme):
    light = theme.icon("open")
    theme.set_choice("dark")
    assert theme.icon("open").cacheKey() != light.cacheKey()
    assert theme.icon("open").cacheKey() == theme.icon("open").cacheKey()


def test_a_missing_icon_is_an_error_where_it_is_asked_for(theme):
    with pytest.raises(FileNotFoundError):
        theme.icon("no-such-icon")


def test_the_icon_of_the_application_shows_its_slices_at_16_px(qapp):
    image = QIcon(str(resource("icons", "app.svg"))).pixmap(16, 16).toImage()
    hues = {image.pixelColor(x, y).name() for x in range(16) for y in range(16)}
    assert {"#eead92", "#5fbbff", "#61efc1"} <= hues


def test_pictures_of_the_style_sheet_need_no_space_on_disk(theme, monkeypatch):
    def full(path, data):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_bytes", full)
    theme.set_choice("dark")
    pictures = re.findall(r"url\(\"?([^)\"]+)", theme._sheet)
    assert pictures
    assert [path for path in pictures if not Path(path).exists()] == []
