"""What a user does, drawn at random: commands, keys, mouse, wheel, drops, files, sessions."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QPoint, Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QDialog,
    QLineEdit,
    QMenu,
    QMessageBox,
    QWidget,
)

from tests.gui.events import (
    CTRL,
    LEFT,
    MIDDLE,
    PLAIN,
    SHIFT,
    drag,
    drop,
    has_controller,
    move,
    press,
    release,
    wheel,
)
from viewer.gui.window.controller import WindowController
from viewer.gui.window.main_window import MainWindow

_QUERIES = ("a", "conv", "", "dur>10ns", "(", '"', "op:add", "🙂", "is:linked", "-x", "dur>", "*")
_KEYS = [
    *(getattr(Qt.Key, f"Key_{letter}") for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    *(Qt.Key(Qt.Key.Key_0 + digit) for digit in range(10)),
    *(Qt.Key(Qt.Key.Key_F1 + number) for number in range(12)),
    Qt.Key.Key_Escape, Qt.Key.Key_Return, Qt.Key.Key_Tab, Qt.Key.Key_Backtab, Qt.Key.Key_Space,
    Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Home,
    Qt.Key.Key_End, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown, Qt.Key.Key_Delete,
    Qt.Key.Key_Backspace, Qt.Key.Key_Slash, Qt.Key.Key_Period, Qt.Key.Key_Comma, Qt.Key.Key_Menu,
    Qt.Key.Key_Plus, Qt.Key.Key_Minus, Qt.Key.Key_BracketLeft, Qt.Key.Key_Question,
]  # fmt: skip
_HELD = (PLAIN, PLAIN, PLAIN, CTRL, SHIFT, CTRL | SHIFT, Qt.KeyboardModifier.AltModifier)
_THEMES = "view.theme_"
_MOST_FILES = 6
_OPENED_MS, _SHOWN_MS = 2000, 100


class User:
    """Uses a window at random. window: returns the current one. files: to open and to change."""

    def __init__(
        self, chosen: random.Random, window: Callable[[], MainWindow], files: list[Path]
    ) -> None:
        self.random, self._window, self._files = chosen, window, files
        self._folder = files[0].parent
        self._actions = [
            (name.removeprefix("do_"), getattr(self, name), weight)
            for name, weight in _WEIGHTS.items()
        ]

    def choose(self) -> tuple[str, Callable[[], str]]:
        """The name of the next action, and the action itself, which returns its details."""
        weights = [weight for _, _, weight in self._actions]
        name, act, _ = self.random.choices(self._actions, weights)[0]
        return name, act

    def show_everything(self, *, all_files: bool) -> None:
        """Open files and show each panel in both themes: what is made on first use is made then.

        all_files: one group after another, and not only the first one; then every command once.
        """
        groups = [self._files[i :: -(-len(self._files) // _MOST_FILES)]
                  for i in range(-(-len(self._files) // _MOST_FILES))]  # fmt: skip
        for group in groups if all_files else groups[:1]:
            self._window().open([str(path) for path in group])
            QTest.qWait(_OPENED_MS)
            commands = self._controller.commands
            for id in [one for one in commands.commands if one.startswith(("panel.", _THEMES))]:
                commands.actions[id].trigger()
                QTest.qWait(_SHOWN_MS)
            if all_files:
                self._controller.session.close_all()
        if all_files:
            self._window().open([str(path) for path in groups[0]])
            QTest.qWait(_OPENED_MS)
            for id in [*self._controller.commands.commands]:
                table = self._controller.commands
                table.refresh()
                if id in table.actions and table.actions[id].isEnabled():
                    table.actions[id].trigger()
                QTest.qWait(_SHOWN_MS)
                dismiss_all()

    @property
    def _controller(self) -> WindowController:
        return self._window().controller

    # -- commands and keys -------------------------------------------------------------------

    def do_command(self) -> str:
        table = self._controller.commands
        id = self.random.choice([*table.commands])
        table.refresh()
        action = table.actions[id]
        if action.isEnabled():
            action.trigger()
        return id

    def do_key(self) -> str:
        target = QApplication.focusWidget() or self._window()
        key, held = self.random.choice(_KEYS), self.random.choice(_HELD)
        QTest.keyClick(target, key, held)
        return f"{held.name} {key.name} on {type(target).__name__}"

    def do_text(self) -> str:
        fields = [f for f in self._window().findChildren(QLineEdit) if f.isVisible()]
        if not fields:
            return ""
        field, text = self.random.choice(fields), self.random.choice(_QUERIES)
        field.setFocus()
        field.selectAll()
        QTest.keyClick(field, Qt.Key.Key_Delete)
        if text.isascii():
            QTest.keyClicks(field, text)
        else:  # QTest aborts, since no key has it
            field.insert(text)
        return f"{text!r} in {type(field).__name__}"

    # -- mouse -------------------------------------------------------------------------------

    def _target(self) -> QWidget:
        """A visible part of the window; half of the time the timeline."""
        strips = self._controller.timeline.strips if has_controller(self._window()) else []
        canvas = [s.view.viewport() for s in strips if s.view.viewport().isVisible()]
        if canvas and self.random.random() < 0.4:
            return self.random.choice(canvas)
        parts = [w for w in self._window().findChildren(QWidget) if w.isVisible()]
        return self.random.choice(parts or [self._window()])

    def _point(self, part: QWidget) -> QPoint:
        return QPoint(
            self.random.randrange(max(part.width(), 1)),
            self.random.randrange(max(part.height(), 1)),
        )

    def do_click(self) -> str:
        part = self._target()
        at, held = self._point(part), self.random.choice(_HELD)
        button = self.random.choice((LEFT, LEFT, LEFT, MIDDLE, Qt.MouseButton.RightButton))
        press(part, at, button, held)
        release(part, at, button, held)
        return f"{button.name} {held.name} on {type(part).__name__} at {at.x()}, {at.y()}"

    def do_double_click(self) -> str:
        part = self._target()
        at = self._point(part)
        QTest.mouseDClick(part, LEFT, PLAIN, at)
        return f"on {type(part).__name__} at {at.x()}, {at.y()}"

    def do_drag(self) -> str:
        part = self._target()
        start, end, held = self._point(part), self._point(part), self.random.choice(_HELD)
        drag(part, start, end, held=held)
        return f"{held.name} on {type(part).__name__} to {end.x()}, {end.y()}"

    def do_wheel(self) -> str:
        part, held = self._target(), self.random.choice(_HELD)
        notches = self.random.choice((-5, -1, 0.25, 1, 5))
        wheel(part, self._point(part), notches, held=held)
        return f"{notches} {held.name} on {type(part).__name__}"

    def do_hover(self) -> str:
        part = self._target()
        move(part, self._point(part))
        return type(part).__name__

    # -- files -------------------------------------------------------------------------------

    def _some_files(self) -> list[str]:
        return [str(f) for f in self.random.sample(self._files, self.random.randrange(1, 4))]

    def do_open(self) -> str:
        if len(self._controller.session.workspace.paths) >= _MOST_FILES:
            return self.do_close()
        paths = self._some_files()
        self._window().open(paths)
        return ", ".join(Path(path).name for path in paths)

    def do_drop(self) -> str:
        if len(self._controller.session.workspace.paths) >= _MOST_FILES:
            return ""
        urls = self.random.choice(
            [self._some_files(), ["https://example.org/x"], [str(self._folder / "missing.csv")], []]
        )
        drop(self._controller, urls, "text" if not urls else "")
        return ", ".join(Path(url).name for url in urls)

    def do_close(self) -> str:
        self._controller.commands.run("file.close_all")
        return ""

    def do_change_file(self) -> str:
        """Another program writes, cuts or removes a file."""
        path = self.random.choice(self._files)
        original = self._folder.parent / "originals" / path.name
        how = self.random.choice(("rewrite", "rewrite", "cut", "empty", "remove", "another"))
        if how == "remove":
            path.unlink(missing_ok=True)
        elif how == "cut":
            path.write_bytes(original.read_bytes()[: self.random.randrange(2000)])
        elif how == "empty":
            path.write_bytes(b"")
        else:
            source = self.random.choice(self._files).name if how == "another" else path.name
            shutil.copyfile(original.with_name(source), path)
        if has_controller(self._window()):
            self._controller.session_files.look()
        return f"{how} {path.name}"

    def do_save_session(self) -> str:
        name = f"session{self.random.randrange(3)}.opscope"
        if not self._controller.session.is_empty:
            self._controller.session_files._write(str(self._folder / name))
        return name

    def do_open_session(self) -> str:
        found = sorted(self._folder.glob("*.opscope"))
        if not found:
            return ""
        path = self.random.choice(found)
        self._window().open([str(path)])
        return path.name

    def do_history(self) -> str:
        id = self.random.choice(("go.undo", "go.undo", "go.redo", "go.back", "go.forward"))
        self._controller.commands.run(id)
        return id

    def do_resize(self) -> str:
        width, height = self.random.randrange(300, 2000), self.random.randrange(200, 1200)
        self._window().resize(width, height)
        return f"{width} x {height}"

    def do_wait(self) -> str:
        milliseconds = self.random.randrange(5, 200)
        QTest.qWait(milliseconds)
        return f"{milliseconds} ms"

    # -- dialogs and menus -------------------------------------------------------------------

    def answer(self) -> str:
        """Use the open menu or dialog once, or close it; returns what was done, "" without any."""
        popup = QApplication.activePopupWidget()
        if popup is not None:
            return self._answer_popup(popup)
        dialogs = [w for w in QApplication.topLevelWidgets() if _is_dialog(w)]
        dialog = QApplication.activeModalWidget() or (dialogs[-1] if dialogs else None)
        if dialog is None:
            return ""
        buttons = [
            b for b in dialog.findChildren(QAbstractButton) if b.isVisible() and b.isEnabled()
        ]
        if buttons and (isinstance(dialog, QMessageBox) or self.random.random() < 0.5):
            button = self.random.choice(buttons)
            text = button.text()
            button.click()
            return f"{text!r} in {type(dialog).__name__}"
        if self.random.random() < 0.5:
            QTest.keyClick(QApplication.focusWidget() or dialog, self.random.choice(_KEYS))
            return f"key in {type(dialog).__name__}"
        dialog.close()
        return f"closed {type(dialog).__name__}"

    def _answer_popup(self, popup: QWidget) -> str:
        if isinstance(popup, QMenu) and self.random.random() < 0.7:
            actions = [a for a in popup.actions() if _is_choice(a)]
            if actions:
                action = self.random.choice(actions)
                text = action.text()
                popup.close()
                action.trigger()
                return f"menu {text!r}"
        if self.random.random() < 0.5:
            QTest.keyClick(popup, self.random.choice((Qt.Key.Key_Down, Qt.Key.Key_Return)))
        popup.close()
        return f"closed {type(popup).__name__}"


def dismiss_all() -> None:
    """Close all menus and dialogs without an answer."""
    for _ in range(20):
        popup = QApplication.activePopupWidget()
        if popup is None:
            break
        popup.close()
    for widget in QApplication.topLevelWidgets():
        if _is_dialog(widget):
            widget.close()
    QCoreApplication.processEvents()


def _is_dialog(widget: QWidget) -> bool:
    return widget.isVisible() and (
        isinstance(widget, QDialog)
        or (widget.isWindow() and widget.windowType() is Qt.WindowType.Window
            and not isinstance(widget, MainWindow))
    )  # fmt: skip


def _is_choice(action: QAction) -> bool:
    return action.isEnabled() and not action.isSeparator() and action.menu() is None


_WEIGHTS = {
    "do_command": 20, "do_key": 20, "do_text": 4, "do_click": 20, "do_double_click": 4,
    "do_drag": 8, "do_wheel": 10, "do_hover": 6, "do_open": 6, "do_drop": 3, "do_close": 2,
    "do_change_file": 2, "do_save_session": 2, "do_open_session": 2, "do_history": 6,
    "do_resize": 2, "do_wait": 6,
}  # fmt: skip
