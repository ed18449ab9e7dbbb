"""A window that files can be dragged from, for check-desktop: drag_source.py FILES...

Of GTK 3, with Debian's own Python: another program and another toolkit than Opscope's.
"""

import sys
from pathlib import Path

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, Gtk  # noqa: E402


def main() -> None:
    """Show the window until it is closed."""
    window = Gtk.Window(title="Drag from here")
    source = Gtk.EventBox()
    source.add(Gtk.Label(label="Drag from here"))
    source.drag_source_set(Gdk.ModifierType.BUTTON1_MASK, [], Gdk.DragAction.COPY)
    source.drag_source_add_uri_targets()
    uris = [Path(name).resolve().as_uri() for name in sys.argv[1:]]
    source.connect("drag-data-get", lambda widget, context, data, info, time: data.set_uris(uris))
    window.add(source)
    window.connect("destroy", Gtk.main_quit)
    window.show_all()
    Gtk.main()


main()
