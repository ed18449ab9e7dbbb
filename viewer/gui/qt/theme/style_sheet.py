"""The colors of the window as named tokens, and the style sheet built from them.

Hues are reserved for slices and for marking the current or clickable item; all else is gray. Lowest
contrast against canvas, panel and chrome: text1 >= 12.5, text2 >= 6.3, text3 >= 4.7, accent >= 4.9.
The colors of slices are in `viewer.render.palette`.

Besides standard widgets, the sheet styles these properties, each set once with `setProperty`:

    QPushButton     primary=true          the main button of a view
    QToolButton     framed=true           a toolbar button with text
    QToolButton     low=true              a button in a header of 26 px
    QFrame          segmented=true        joined tool buttons, of which one is checked
    QFrame          card=true             a card: canvas background with a border
    any QWidget     surface="canvas" | "panel" | "chrome"   background (needs WA_StyledBackground)
    QLabel          tone="text1" | "text2" | "text3" | "accent" | "warning" | "error" | "ok"

The theme sets fonts per widget class, because a style sheet cannot request tabular figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from string import Template

from PySide6.QtGui import QColor

from viewer.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tokens:
    """The colors of one theme as "#RRGGBB". Only text1 and text2 are readable on a selected row."""

    canvas: str
    panel: str
    chrome: str
    raised: str
    hover: str
    hairline: str
    line: str
    grid: str
    load: str
    text1: str
    text2: str
    text3: str
    accent: str
    accent_fill: str
    on_accent: str
    selection: str
    related: str
    ring: str
    hit: str  # search hits
    warning: str
    error: str
    ok: str
    slab: str
    slab_label: str
    frame: str
    frame_label: str
    diamond: str
    counter_area: str
    counter_peak: str
    counter_line: str
    code_keyword: str
    code_string: str
    code_number: str
    code_call: str
    code_comment: str
    unit_dma: str  # activity of an NPU unit: moving data, computing, both at once, host
    unit_compute: str
    unit_both: str
    unit_host: str
    slower: str  # changes between two arms, and the rows of slower and faster lines
    faster: str
    slower_row: str
    faster_row: str


DARK = Tokens(
    canvas="#14161A",
    panel="#1B1E23",
    chrome="#23272D",
    raised="#2D323A",
    hover="#2A2F36",
    hairline="#30353D",
    line="#444B56",
    grid="#1F2329",
    load="#2A2F36",
    text1="#E8EBEF",
    text2="#AAB2BD",
    text3="#8A93A0",
    accent="#5AA2FF",
    accent_fill="#2B6FD6",
    on_accent="#FFFFFF",
    selection="#1E3A60",
    related="#1C2939",
    ring="#FFFFFF",
    hit="#FF6AD5",
    warning="#E8B44C",
    error="#F47C7C",
    ok="#5CC28A",
    slab="#4A5361",
    slab_label="#F2F4F7",
    frame="#2B3139",
    frame_label="#C9D0D9",
    diamond="#9BA4B0",
    counter_area="#3B444F",
    counter_peak="#282E36",
    counter_line="#AAB2BD",
    code_keyword="#C49BF0",
    code_string="#8CC48B",
    code_number="#E0A875",
    code_call="#7FB8F5",
    code_comment="#8A93A0",
    unit_dma="#4E9BF5",
    unit_compute="#E5A13C",
    unit_both="#B48BE6",
    unit_host="#5FBFA8",
    slower="#EA8B54",
    faster="#AEFDCC",
    slower_row="#43301F",
    faster_row="#1D3A2B",
)

LIGHT = Tokens(
    canvas="#FFFFFF",
    panel="#F8F9FB",
    chrome="#ECEFF3",
    raised="#FFFFFF",
    hover="#E9EDF2",
    hairline="#DDE1E7",
    line="#BEC6D1",
    grid="#F3F5F7",
    load="#E6E9EE",
    text1="#191C21",
    text2="#4E5764",
    text3="#616A77",
    accent="#1763D0",
    accent_fill="#1763D0",
    on_accent="#FFFFFF",
    selection="#CFE2FC",
    related="#EDF4FE",
    ring="#101318",
    hit="#B8007F",
    warning="#8F5F00",
    error="#C4313B",
    ok="#1A7A48",
    slab="#CCD0D4",
    slab_label="#191C21",
    frame="#E8ECF1",
    frame_label="#3A424E",
    diamond="#6B7480",
    counter_area="#D7DDE5",
    counter_peak="#EDF0F4",
    counter_line="#6B7480",
    code_keyword="#7A3EB1",
    code_string="#2B7A2F",
    code_number="#A3541A",
    code_call="#1559B0",
    code_comment="#616A77",
    unit_dma="#2F78D6",
    unit_compute="#C97F17",
    unit_both="#8A5BC4",
    unit_host="#2C8C78",
    slower="#A84C09",
    faster="#0A7466",
    slower_row="#FDE9D8",
    faster_row="#DDF3EF",
)


def mix(color: str, other: str, share: float) -> str:
    """Blend `share` (0 to 1) of `other` into `color`, per channel; returns "#RRGGBB"."""
    a, b = QColor(color), QColor(other)
    channels = zip((a.red(), a.green(), a.blue()), (b.red(), b.green(), b.blue()), strict=True)
    return "#" + "".join(f"{round(x + (y - x) * share):02X}" for x, y in channels)


# Name in the sheet -> (icon, color token)
PICTURES: Mapping[str, tuple[str, str]] = {
    "down": ("chevron-down", "text2"),
    "right": ("chevron-right", "text2"),
    "up": ("chevron-up", "text2"),
    "check": ("check", "text1"),
    "checked": ("check", "on_accent"),
    "dot": ("dot", "on_accent"),
    "cross": ("close", "text2"),
}
# Colors of control states, as mixes: token, other token, share of the other.
_STATES: Mapping[str, tuple[str, str, float]] = {
    "pressed": ("hover", "line", 0.35),
    "off": ("panel", "text1", 0.38),
    "accent_hover": ("accent_fill", "text1", 0.12),
}
_SURFACES = ("canvas", "panel", "chrome")
_TONES = ("text1", "text2", "text3", "accent", "warning", "error", "ok")
# Design lengths used in the sheet in px, written as ${pxN}.
_LENGTHS = (4, 6, 8, 10, 12, 14, 16, 20, 22, 24, 25, 26, 28, 30)

# The margin of separators: where they are 1 px, Qt makes hidden widgets each time that docks are
# shown, and never removes them (6.8 to 6.11).
_SHEET = Template("""
QMainWindow, QDialog { background: $panel; }
QMainWindow::separator { background: $line; width: 1px; height: 1px; margin: 1px; }
QMainWindow::separator:hover { background: $accent; }
QToolTip { background: $raised; color: $text1; border: 1px solid $line; padding: 4px 6px; }

QMenuBar { background: $chrome; border: 0; padding: 0 ${px6}; }
QMenuBar::item { background: transparent; padding: 6px ${px8}; border-radius: 5px; }
QMenuBar::item:selected, QMenuBar::item:pressed { background: $pressed; }
QMenuBar QToolButton, QMenuBar QToolButton:focus { padding: 0 4px; min-height: ${px16};
  max-height: ${px16}; border-width: 1px; margin-top: ${px4}; }
QMenu { background: $raised; border: 1px solid $line; padding: 4px; }
QMenu::item { background: transparent; padding: 5px ${px24} 5px ${px8}; border-radius: 4px; }
QMenu::item:selected { background: $selection; color: $text1; }
QMenu::item:disabled { background: transparent; color: $off; }
QMenu::icon { padding-left: ${px6}; }
QMenu::separator { height: 1px; background: $line; margin: 4px ${px8}; }
QMenu::indicator { width: ${px16}; height: ${px16}; padding-left: ${px6}; }
QMenu::indicator:checked { image: url("$check"); }
QMenu::right-arrow { image: url("$right"); width: ${px12}; height: ${px12}; }

QToolBar { background: $chrome; border: 0; border-bottom: 1px solid $line;
  padding: 3px ${px12} 4px ${px8}; spacing: 6px; }
QToolBar::separator { width: 5px; background: transparent; border-left: 1px solid $line;
  margin: 4px 0 4px 5px; }
QToolButton { background: transparent; color: $text1; border: 1px solid transparent;
  border-radius: 5px; padding: 0 5px; min-height: ${px26}; max-height: ${px26};
  min-width: ${px16}; }
QToolButton[framed="true"] { background: $raised; border-color: $line;
  padding: 0 2px 0 ${px8}; }
QToolButton[low="true"], QToolButton[low="true"]:focus { min-height: ${px16};
  max-height: ${px16}; min-width: 0; padding: 0 4px; color: $text2; }
QToolButton:hover { background: $pressed; }
QToolButton:pressed, QToolButton:checked { background: $pressed; border-color: $line; }
QToolButton:disabled { color: $off; }
QFrame[segmented="true"] { background: $raised; border: 1px solid $line; border-radius: 5px; }
QFrame[segmented="true"] QToolButton { padding: 0 ${px8}; min-height: ${px22}; max-height: ${px22};
  margin: 1px; border-radius: 4px; }
QFrame[segmented="true"] QToolButton:checked { background: $selection; border-color: $accent; }
QToolButton::menu-indicator { image: none; width: 0; }
QToolBarExtension { min-width: ${px16}; padding: 0; }

QPushButton { background: $raised; color: $text1; border: 1px solid $line; border-radius: 5px;
  padding: 0 ${px12}; min-height: ${px26}; }
QPushButton:hover { background: $pressed; }
QPushButton:pressed { background: $line; }
QPushButton:disabled { background: transparent; color: $off; border-color: $hairline; }
QPushButton[primary="true"] { background: $accent_fill; color: $on_accent;
  border-color: $accent_fill; }
QPushButton[primary="true"]:hover { background: $accent_hover; border-color: $accent_hover; }
QPushButton[primary="true"]:pressed { background: $accent_fill; }
QPushButton[primary="true"]:disabled { background: $hairline; color: $off;
  border-color: $hairline; }
QPushButton[flat="true"] { background: transparent; border-color: transparent; }
QPushButton[flat="true"]:hover { background: $pressed; }

QLineEdit, QAbstractSpinBox, QComboBox { background: $canvas; color: $text1;
  border: 1px solid $line; border-radius: 5px; padding: 0 ${px8}; min-height: ${px26};
  selection-background-color: $accent_fill; selection-color: $on_accent; }
QLineEdit[small="true"] { padding: 0 ${px4}; min-height: 20px; }
QComboBox { background: $raised; padding: 0 4px 0 ${px10}; }
QComboBox:hover { background: $pressed; }
QLineEdit:disabled, QAbstractSpinBox:disabled, QComboBox:disabled { background: transparent;
  color: $off; border-color: $hairline; }
QComboBox::drop-down { border: 0; width: ${px22}; }
QComboBox::down-arrow { image: url("$down"); width: ${px14}; height: ${px14}; }
QComboBox QAbstractItemView { background: $raised; border: 1px solid $line; padding: 4px;
  outline: 0; selection-background-color: $selection; selection-color: $text1; }
QComboBox QAbstractItemView::item { min-height: ${px26}; padding: 0 ${px16} 0 ${px28};
  border-radius: 4px; }
QComboBox QAbstractItemView::item:disabled { color: $off; }
QAbstractSpinBox { padding: 0 ${px20} 0 6px; max-height: ${px26}; }
QAbstractSpinBox::up-button { border: 0; width: ${px20}; subcontrol-position: top right; }
QAbstractSpinBox::down-button { border: 0; width: ${px20}; subcontrol-position: bottom right; }
QAbstractSpinBox::up-arrow { image: url("$up"); width: ${px10}; height: ${px10}; }
QAbstractSpinBox::down-arrow { image: url("$down"); width: ${px10}; height: ${px10}; }
QLineEdit QToolButton, QTabBar QToolButton { border: 0; padding: 0; min-height: 0; min-width: 0; }
QAbstractSpinBox QLineEdit, QComboBox QLineEdit { background: transparent; border: 0;
  padding: 0; min-height: 0; }
QCheckBox, QRadioButton { spacing: ${px8}; }
QCheckBox::indicator, QRadioButton::indicator, QAbstractItemView::indicator {
  width: ${px14}; height: ${px14}; background: $canvas; border: 1px solid $text3; }
QCheckBox::indicator, QAbstractItemView::indicator { border-radius: 3px; }
QRadioButton::indicator { border-radius: ${round}; }
QCheckBox::indicator:checked, QAbstractItemView::indicator:checked {
  background: $accent_fill; border-color: $accent_fill; image: url("$checked"); }
QRadioButton::indicator:checked { background: $accent_fill; border-color: $accent_fill;
  image: url("$dot"); }
QCheckBox::indicator:disabled, QRadioButton::indicator:disabled { border-color: $line; }

QAbstractScrollArea { border: 0; }
QAbstractItemView, QPlainTextEdit, QTextEdit { background: $panel; color: $text1; border: 0;
  alternate-background-color: $panel; selection-background-color: $selection;
  selection-color: $text1; outline: 0; gridline-color: $hairline; }
QTreeView::item, QListView::item { min-height: ${px25}; }
QTableView::item { padding: 0 ${px6}; }
QAbstractItemView::item { border: 0; }
QAbstractItemView::item:hover { background: $hover; }
QAbstractItemView::item:selected { background: $selection; color: $text1; }
QTreeView::branch { background: transparent; }
QTreeView::branch:selected { background: $selection; }
QTreeView::branch:has-children:closed { image: url("$right"); }
QTreeView::branch:has-children:open { image: url("$down"); }
QHeaderView { background: $panel; border: 0; border-bottom: 1px solid $hairline; }
QHeaderView::section { background: $panel; color: $text2; border: 0; padding: 0 ${px6};
  min-height: ${px25}; border-bottom: 1px solid $hairline; }
QHeaderView::section:hover { color: $text1; }
QHeaderView::up-arrow { image: url("$up"); width: ${px12}; height: ${px12};
  subcontrol-origin: padding; subcontrol-position: center right; right: 4px; }
QHeaderView::down-arrow { image: url("$down"); width: ${px12}; height: ${px12};
  subcontrol-origin: padding; subcontrol-position: center right; right: 4px; }
QTableCornerButton::section { background: $panel; border: 0; }

QTabWidget::pane { border: 0; border-top: 1px solid $line; }
QTabBar { background: $chrome; qproperty-drawBase: 0; qproperty-usesScrollButtons: 1;
  qproperty-elideMode: ElideNone; }
QTabBar::tab { background: $chrome; color: $text2; border: 0; height: ${px30};
  padding: 2px ${px14} 0 ${px14}; border-bottom: 2px solid $chrome; }
QTabBar::tab:hover { color: $text1; }
QTabBar::tab:selected { color: $text1; font-weight: 600; border-bottom: 2px solid $accent; }
QTabBar::close-button { image: url("$cross"); subcontrol-position: right; }
QTabBar::tear { width: 0; border: 0; }
QDockWidget { color: $text1; }
QDockWidget::title { background: $chrome; padding: ${px8} ${px12};
  border-bottom: 1px solid $line; }

QStatusBar { background: $chrome; color: $text2; border-top: 1px solid $line;
  min-height: ${px25}; }
QStatusBar::item { border: 0; }
QStatusBar QToolButton { color: $text2; padding: 0 ${px8}; min-height: ${px22};
  max-height: ${px22}; }
QStatusBar QLabel { color: $text2; padding: 0 ${px8}; }
QProgressBar { background: $hairline; border: 0; border-radius: 2px; max-height: 4px;
  min-height: 4px; }
QProgressBar::chunk { background: $accent; border-radius: 2px; }
QSplitter::handle { background: $line; }
QSplitter::handle:hover { background: $accent; }
QSplitter::handle:horizontal { width: 1px; }
QSplitter::handle:vertical { height: 1px; }
QScrollBar { background: transparent; border: 0; margin: 0; }
QScrollBar:vertical { width: ${px12}; }
QScrollBar:horizontal { height: ${px12}; }
QScrollBar::handle { background: $line; border-radius: 3px; }
QScrollBar::handle:vertical { margin: 2px 3px; min-height: ${px28}; }
QScrollBar::handle:horizontal { margin: 3px 2px; min-width: ${px28}; }
QScrollBar::handle:hover, QScrollBar::handle:pressed { background: $text3; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QAbstractScrollArea::corner { background: transparent; border: 0; }
QGroupBox { border: 0; margin-top: ${px20}; padding: 0; }
QGroupBox::title { subcontrol-origin: margin; color: $text2; padding: 0; }

QFrame[card="true"] { background: $canvas; border: 1px solid $line; border-radius: 6px; }
QFrame[card="true"]:hover { border-color: $text3; }
QFrame[card="true"]:focus { border: 2px solid $accent; }
QLabel { background: transparent; border: 0; }
""")

# Last, because the order decides between rules of equal specificity.
_FOCUS = Template("""
QPushButton:focus, QToolButton:focus, QComboBox:focus, QPushButton[primary="true"]:focus {
  border: 2px solid $accent; min-height: ${px24}; }
/* In the light theme the accent is what it is filled with. */
QPushButton[primary="true"]:focus { border-color: $text1; }
QToolButton:focus { max-height: ${px24}; }
/* The border shows the focus; without this, Qt adds a second, gray frame inside it. */
QPushButton, QTabBar { outline: 0; }
QPushButton:focus { padding: 0 ${px12_1}; }
QToolButton:focus { padding: 0 4px; }
QToolButton[framed="true"]:focus { padding: 0 ${px8_1}; }
QComboBox:focus { padding: 0 3px 0 ${px10_1}; }
QLineEdit:focus { border: 2px solid $accent; padding: 0 ${px8_1}; min-height: ${px24}; }
QLineEdit[small="true"]:focus { border-width: 1px; padding: 0 ${px4}; min-height: 20px; }
QAbstractSpinBox:focus { border-color: $accent; }
QAbstractSpinBox QLineEdit:focus, QComboBox QLineEdit:focus { border: 0; padding: 0; }
QCheckBox:focus, QRadioButton:focus { color: $accent; }
QCheckBox::indicator:focus, QRadioButton::indicator:focus { border: 2px solid $accent;
  width: ${px12}; height: ${px12}; }
""")


def make(colors: Mapping[str, str], pictures: Mapping[str, str], px: Callable[[float], int]) -> str:
    """Build the style sheet from colors by token, image paths by `PICTURES` name, and scaling."""
    values: dict[str, str] = {**colors, **pictures}
    for name, (token, other, share) in _STATES.items():
        values[name] = mix(colors[token], colors[other], share)
    # With a radius beyond half the size, Qt would draw a square.
    values["round"] = f"{px(14) // 2 + 1}px"
    for length in _LENGTHS:
        values[f"px{length}"] = f"{px(length)}px"
        values[f"px{length}_1"] = f"{px(length) - 1}px"
    rules = [_SHEET.substitute(values), _FOCUS.substitute(values)]
    rules += [f'QWidget[surface="{name}"] {{ background: {colors[name]}; }}' for name in _SURFACES]
    rules += [f'QLabel[tone="{name}"] {{ color: {colors[name]}; }}' for name in _TONES]
    return "\n".join(rules)
