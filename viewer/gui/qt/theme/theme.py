"""The look of the application: color tokens, fonts by role, icons, and light or dark mode.

Widgets that paint themselves use `color`, `font`, `px` and `icon` of `Theme`, and repaint on
`changed`. It sets its own palettes because QStyleHints.setColorScheme does nothing on plain X11 and
offscreen. All sizes are in px for a 13 px system font, and scale up with larger fonts. Widgets take
their sizes from the size of fonts when they are made, so windows are made anew on `resized`.

Fonts are Inter for the window and JetBrains Mono for code. Every weight is a file of its own,
because Qt on Linux draws a variable font in its default weight only.

Laying a text out and measuring it takes several times as long as drawing it, and parts that repaint
in every frame show mostly the same texts as before: `PreparedTexts` keeps them.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

from PySide6.QtCore import QByteArray, QObject, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontDatabase,
    QFontInfo,
    QFontMetrics,
    QFontMetricsF,
    QGuiApplication,
    QIcon,
    QPainter,
    QPalette,
    QPixmap,
    QStaticText,
)
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication, QToolTip, QWidget

from viewer.codecs.temporary_folder import TemporaryFolder
from viewer.dataclasses import asdict
from viewer.gui.qt.theme import style_sheet
from viewer.gui.qt.theme.style_sheet import DARK, LIGHT, Tokens, mix
from viewer.model.text import visible_controls
from viewer.resources import resource

# fmt: off
FontRole = Literal[
    "title", "duration", "figure", "operator", "cost", "body", "cell", "tab", "tab_active", "label",
    "process", "header", "section", "caption", "ruler", "zero_length", "code",
]
# fmt: on

UI_FILES = ("Inter-Regular.ttf", "Inter-Medium.ttf", "Inter-SemiBold.ttf")
CODE_FILES = ("JetBrainsMono-Regular.ttf",)

# The size of "body", in px where the font of the system has 13.
FONT_SIZES: Mapping[str, float] = {"small": 12, "normal": 13, "large": 15, "larger": 17}

# Size in px and weight. The design's 650 is 600 here, the heaviest weight that is bundled.
_SIZES: dict[FontRole, tuple[float, QFont.Weight]] = {
    "title": (26, QFont.Weight.DemiBold),
    "duration": (19 * 1.4, QFont.Weight.DemiBold),  # 1.4 times the figures next to it
    "figure": (19, QFont.Weight.DemiBold),
    "operator": (15, QFont.Weight.DemiBold),
    "cost": (15, QFont.Weight.DemiBold),
    "body": (13, QFont.Weight.Normal),
    "cell": (12.5, QFont.Weight.Normal),
    "tab": (12.5, QFont.Weight.Normal),
    "tab_active": (12.5, QFont.Weight.DemiBold),
    "label": (12, QFont.Weight.Medium),
    "process": (12, QFont.Weight.DemiBold),
    "header": (11.5, QFont.Weight.Medium),
    "section": (11.5, QFont.Weight.DemiBold),
    "caption": (11.5, QFont.Weight.Normal),
    "ruler": (11, QFont.Weight.Normal),
    "zero_length": (10.5, QFont.Weight.Normal),
    "code": (12, QFont.Weight.Normal),
}

_MOST_KEPT = 1024
_MOST_MEASURED = 4096


def make_font(role: FontRole, scale: float) -> QFont:
    """Return the font of a role. scale: the size of the system font relative to 13 px."""
    px, weight = _SIZES[role]
    code = role == "code"
    kind = QFontDatabase.SystemFont.FixedFont if code else QFontDatabase.SystemFont.GeneralFont
    families = (
        bundled_family(CODE_FILES if code else UI_FILES),
        QFontDatabase.systemFont(kind).family(),
    )
    # The system's font has the letters that the bundled one lacks, such as Chinese ones. Named
    # here, because a font without a name has the features of the application's font.
    font = QFont(list(filter(None, families)))
    screen = QGuiApplication.primaryScreen()
    dpi = screen.logicalDotsPerInch() if screen else 96.0
    # setPixelSize accepts only whole numbers.
    font.setPointSizeF(px * scale * 72 / dpi)
    font.setWeight(weight)
    if code:
        font.setStyleHint(QFont.StyleHint.Monospace)
        font.setFixedPitch(True)
        # No ligatures: `!=` must not become one sign, in a font of the system either.
        for feature in ("liga", "calt"):
            font.setFeature(QFont.Tag(feature), 0)
    else:
        # Figures of one width, so that digits are below digits and do not move as they change.
        font.setFeature(QFont.Tag("tnum"), 1)
    return font


@lru_cache
def bundled_family(files: tuple[str, ...]) -> str:
    """Load all font files, or none: Qt would smear missing weights. Returns the family or ""."""
    numbers = []
    for name in files:
        path = resource("fonts", name)
        # Qt warns about a file that it cannot read; what is missing needs no warning.
        numbers.append(QFontDatabase.addApplicationFont(str(path)) if path.is_file() else -1)
    families = [QFontDatabase.applicationFontFamilies(number) for number in numbers if number >= 0]
    if len(families) == len(files) and all(families):
        return families[0][0]
    for number in numbers:
        if number >= 0:
            QFontDatabase.removeApplicationFont(number)
    return ""


class PreparedTexts:
    """Measures and draws texts like QFontMetrics and QPainter.drawText do, to the same pixels.

    Control characters are measured and drawn as escapes.
    """

    def __init__(self, font: QFont) -> None:
        self.font = font
        self._metrics = QFontMetrics(font)
        self.line_height = QFontMetricsF(font).height()  # px
        self._widths: dict[str, int] = {}
        self._texts: OrderedDict[str, QStaticText] = OrderedDict()

    def width(self, text: str) -> int:
        """The horizontal advance of a text in px."""
        width = self._widths.get(text)
        if width is None:
            if len(self._widths) >= _MOST_MEASURED:
                self._widths.clear()
            width = self._widths[text] = self._metrics.horizontalAdvance(visible_controls(text))
        return width

    def draw(self, painter: QPainter, x: float, top: float, height: float, text: str) -> None:
        """Draw a text from `x` on, centered between two lines; the painter has the font."""
        prepared = self._texts.get(text)
        if prepared is None:
            prepared = QStaticText(visible_controls(text))
            # Names come from files, and Qt would interpret markup in them.
            prepared.setTextFormat(Qt.TextFormat.PlainText)
            prepared.prepare(font=self.font)
            self._texts[text] = prepared
            if len(self._texts) > _MOST_KEPT:
                self._texts.popitem(last=False)
        else:
            self._texts.move_to_end(text)
        painter.drawStaticText(QPointF(x, top + (height - self.line_height) / 2), prepared)


__all__ = [
    "DARK",
    "LIGHT",
    "Choice",
    "FontRole",
    "Theme",
    "Tokens",
    "is_dark",
    "make_palette",
    "mix",
]

Choice = Literal["system", "light", "dark"]
SYSTEM_FONT_PX = 13.0
ICON_SIZE = 16
_OFF_OPACITY = 0.38

# Widgets with a font other than "body". A style sheet cannot request tabular figures.
_WIDGET_FONTS: dict[str, FontRole] = {
    "QAbstractItemView": "cell",
    "QHeaderView": "header",
    "QTabBar": "tab",
    "QStatusBar": "label",
    "QDockWidget": "tab",
    "QPlainTextEdit": "code",
}


def is_dark(palette: QPalette) -> bool:
    """Whether a palette is dark; the platform often does not report its color scheme."""
    return palette.color(QPalette.ColorRole.Base).lightness() < 128


@lru_cache(maxsize=512)
def _color(value: str, opacity: float) -> QColor:
    color = QColor(value)
    color.setAlphaF(opacity)
    return color


@lru_cache(maxsize=256)
def _pixel(value: str) -> int:
    return QColor(value).rgb() | 0xFF000000


class Theme(QObject):
    """The look of the application; switch it with `set_choice`."""

    changed = Signal()
    resized = Signal()  # another size of fonts
    _sheet_changed = Signal(str)

    def __init__(
        self, app: QApplication, choice: Choice = "system", font_size: str = "normal"
    ) -> None:
        super().__init__(app)
        self._app = app
        self._system_dark = is_dark(app.palette())
        self._system_scale = max(QFontInfo(app.font()).pixelSize(), 8) / SYSTEM_FONT_PX
        self.scale = self._scale_of(font_size)
        self._fonts: dict[FontRole, QFont] = {}
        self._texts: dict[FontRole, PreparedTexts] = {}
        self._icons: dict[tuple[str, str, int], QIcon] = {}
        # A style sheet can load images from files only, so recolored icons are written here.
        self._pictures: TemporaryFolder | None = None
        with contextlib.suppress(OSError):  # no folder for temporary files
            self._pictures = TemporaryFolder()
        self._choice: Choice = choice
        self._dark = self._wants_dark()
        app.setStyle("Fusion")
        self._apply()
        self._set_fonts()
        app.styleHints().colorSchemeChanged.connect(self._follow_scheme)

    def remove_pictures(self) -> None:
        """Delete the recolored icons, when no window uses the theme any more."""
        if self._pictures is not None:
            self._pictures.remove()

    @property
    def dark(self) -> bool:
        """Whether the dark tokens are in use."""
        return self._dark

    @property
    def tokens(self) -> Tokens:
        """The tokens in use."""
        return DARK if self._dark else LIGHT

    @property
    def choice(self) -> Choice:
        """The chosen mode: "system", "light" or "dark"."""
        return self._choice

    def set_choice(self, choice: Choice) -> None:
        """Choose a mode, and emit `changed` if the colors change; ValueError if it is unknown."""
        if choice not in get_args(Choice):
            raise ValueError(f"no theme {choice!r}; there are {', '.join(get_args(Choice))}")
        self._choice = choice
        self._update()

    def set_font_size(self, font_size: str) -> None:
        """Choose one of `FONT_SIZES`, and emit `resized` if it is another one."""
        scale = self._scale_of(font_size)
        if scale != self.scale:
            self.scale = scale
            self._fonts.clear()
            self._texts.clear()
            self._apply()
            self._set_fonts()
            self.resized.emit()

    def _scale_of(self, font_size: str) -> float:
        return self._system_scale * FONT_SIZES[font_size] / FONT_SIZES["normal"]

    def apply_to(self, window: QWidget) -> None:
        """Give a window without a parent the style sheet, now and after each switch.

        Everything in the window inherits it, and so do the windows of which it is the parent. It is
        not the sheet of the application, because Qt then styles each widget once for each of its
        ancestors when the sheet changes: 8 times on average.
        """
        window.setStyleSheet(self._sheet)
        self._sheet_changed.connect(window.setStyleSheet)

    def color(self, token: str, opacity: float = 1.0) -> QColor:
        """A color of the theme, which all that paints with it shares: it must not be modified."""
        return _color(getattr(self.tokens, token), opacity)

    def pixel(self, token: str) -> int:
        """A token of the current theme as an opaque pixel of an image, 0xffRRGGBB."""
        return _pixel(getattr(self.tokens, token))

    def font(self, role: FontRole) -> QFont:
        """The font of a role, scaled with the system font; figures have one width."""
        if role not in self._fonts:
            self._fonts[role] = make_font(role, self.scale)
        return QFont(self._fonts[role])

    def texts(self, role: FontRole) -> PreparedTexts:
        """Measures and draws lines of text in the font of a role; shared, with a cache."""
        if role not in self._texts:
            self._texts[role] = PreparedTexts(self.font(role))
        return self._texts[role]

    def px(self, size: float) -> int:
        """A design length in px, scaled up for larger system fonts but never down."""
        return round(size * max(1.0, self.scale))

    def icon(self, name: str, token: str = "text2", size: int = ICON_SIZE) -> QIcon:
        """resources/icons/<name>.svg in the color of a token, or at 38 % opacity when disabled.

        The icon keeps the current color, so request it again on `changed`. Raises
        FileNotFoundError.
        """
        key = (name, getattr(self.tokens, token), size)
        if key not in self._icons:
            self._icons[key] = self._make_icon(*key)
        return self._icons[key]

    def pixmap(self, name: str, token: str, size: int, ratio: float) -> QPixmap:
        """The same icon as a pixmap for a device pixel ratio, for custom painting."""
        return _render(_recolored(name, getattr(self.tokens, token)), size, ratio, 1.0)

    def _wants_dark(self) -> bool:
        return self._system_dark if self._choice == "system" else self._choice == "dark"

    def _follow_scheme(self, scheme: Qt.ColorScheme) -> None:
        # The application palette is ours by now, so only this signal reports the system's mode. On
        # platforms without one it is silent or Unknown, and the mode found at the start is kept.
        if scheme != Qt.ColorScheme.Unknown:
            self._system_dark = scheme == Qt.ColorScheme.Dark
            self._update()

    def _update(self) -> None:
        if self._wants_dark() != self._dark:
            self._dark = not self._dark
            self._apply()
            self.changed.emit()

    def _apply(self) -> None:
        palette = make_palette(self.tokens)
        self._app.setPalette(palette)
        QToolTip.setPalette(palette)
        pictures = {name: self._picture(name) for name in style_sheet.PICTURES}
        self._sheet = style_sheet.make(asdict(self.tokens), pictures, self.px)
        self._sheet_changed.emit(self._sheet)

    def _set_fonts(self) -> None:
        """Set the fonts of all widgets, after the style, which resets them."""
        QApplication.setFont(self.font("body"))
        for widget_class, role in _WIDGET_FONTS.items():
            QApplication.setFont(self.font(role), widget_class)  # type: ignore[arg-type]
        QToolTip.setFont(self.font("label"))

    def _make_icon(self, name: str, color: str, size: int) -> QIcon:
        svg = _recolored(name, color)
        icon = QIcon()
        for ratio in sorted({1.0, 2.0, self._app.devicePixelRatio()}):
            for mode, opacity in (
                (QIcon.Mode.Normal, 1.0),
                (QIcon.Mode.Disabled, _OFF_OPACITY),
            ):
                icon.addPixmap(_render(svg, size, ratio, opacity), mode)
        return icon

    def _picture(self, name: str) -> str:
        icon, token = style_sheet.PICTURES[name]
        color = getattr(self.tokens, token)
        # Qt caches images by path, so each color needs its own file.
        if self._pictures is not None:
            path = Path(self._pictures.path, f"{icon}-{color[1:]}.svg")
            with contextlib.suppress(OSError):  # no space on the disk
                if not path.exists():
                    path.write_bytes(_recolored(icon, color))
                return path.as_posix()
        return Path(resource("icons", f"{icon}.svg")).as_posix()  # black, without its color


def make_palette(tokens: Tokens) -> QPalette:
    """The palette of a theme, which colors whatever the style sheet does not cover."""
    roles = QPalette.ColorRole
    colors = {
        roles.Window: tokens.panel,
        roles.WindowText: tokens.text1,
        roles.Base: tokens.canvas,
        roles.AlternateBase: tokens.panel,
        roles.Text: tokens.text1,
        roles.PlaceholderText: tokens.text3,
        roles.Button: tokens.raised,
        roles.ButtonText: tokens.text1,
        roles.BrightText: tokens.error,
        roles.ToolTipBase: tokens.raised,
        roles.ToolTipText: tokens.text1,
        roles.Highlight: tokens.selection,
        roles.HighlightedText: tokens.text1,
        roles.Accent: tokens.accent,
        roles.Link: tokens.accent,
        roles.LinkVisited: tokens.accent,
        roles.Light: tokens.raised,
        roles.Midlight: tokens.hover,
        roles.Mid: tokens.hairline,
        roles.Dark: tokens.line,
        roles.Shadow: tokens.line,
    }
    palette = QPalette()
    for role, color in colors.items():
        palette.setColor(role, QColor(color))
    off = QColor(mix(tokens.panel, tokens.text1, _OFF_OPACITY))
    for role in (roles.WindowText, roles.Text, roles.ButtonText, roles.HighlightedText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, off)
    return palette


@lru_cache(maxsize=512)
def _recolored(name: str, color: str) -> bytes:
    svg = resource("icons", f"{name}.svg").read_bytes()
    return svg.replace(b"currentColor", color.encode())


def _render(svg: bytes, size: int, ratio: float, opacity: float) -> QPixmap:
    side = max(1, round(size * ratio))
    pixmap = QPixmap(QSize(side, side))
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    QSvgRenderer(QByteArray(svg)).render(painter, QRectF(0, 0, side, side))
    # Fade the finished image: strokes drawn with opacity would be darker where they cross.
    painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_DestinationIn)
    painter.fillRect(pixmap.rect(), QColor(0, 0, 0, round(255 * opacity)))
    painter.end()
    pixmap.setDevicePixelRatio(ratio)
    return pixmap
