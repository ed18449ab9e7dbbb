"""Print what AT-SPI tells of the program "opscope": a line of JSON per control,
[role, name, is shown, description]. It waits until a control of the name that it is given is there.

Run by the system's Python, which has GObject introspection, in the D-Bus session of the program.
"""

import contextlib
import json
import sys
import time

from gi.repository import Gio, GLib

ROOT = "/org/a11y/atspi/accessible/root"
ACCESSIBLE = "org.a11y.atspi.Accessible"
MOST, MOST_CHILDREN = 4000, 60
SHOWING = 25  # the bit of this state
WAITED_FOR = sys.argv[1]


def call(bus, where, interface, method, arguments=None, patience=5000):
    answer = bus.call_sync(
        *where, interface, method, arguments, None, Gio.DBusCallFlags.NONE, patience, None
    )
    return answer.unpack()


def accessibility_bus():
    session = Gio.bus_get_sync(Gio.BusType.SESSION, None)
    (address,) = call(session, ("org.a11y.Bus", "/org/a11y/bus"), "org.a11y.Bus", "GetAddress")
    flags = Gio.DBusConnectionFlags
    return Gio.DBusConnection.new_for_address_sync(
        address, flags.AUTHENTICATION_CLIENT | flags.MESSAGE_BUS_CONNECTION, None, None
    )


def children(bus, where):
    return call(bus, where, ACCESSIBLE, "GetChildren")[0]


def told(bus, where):
    """Role, name and description."""
    texts = []
    for what in ("Name", "Description"):
        get = GLib.Variant("(ss)", (ACCESSIBLE, what))
        texts.append(call(bus, where, "org.freedesktop.DBus.Properties", "Get", get)[0])
    return call(bus, where, ACCESSIBLE, "GetRoleName")[0], *texts


def program(bus, until):
    """The program, once its window has been told of."""
    while time.monotonic() < until:
        # The registry may be still starting, and a program that is busy does not answer in time.
        with contextlib.suppress(GLib.Error):
            for where in children(bus, ("org.a11y.atspi.Registry", ROOT)):
                if children(bus, where):
                    return where
        time.sleep(0.2)
    sys.exit("no program has told of itself")


def is_shown(bus, where):
    """Whether it can be seen; the program as a whole has no state."""
    try:
        return bool(call(bus, where, ACCESSIBLE, "GetState")[0][0] & 1 << SHOWING)
    except GLib.Error:
        return True


def walk(bus, waiting):
    """[role, name, whether it can be seen, description] of all below."""
    seen = []
    while waiting and len(seen) < MOST:
        where = waiting.pop()
        try:
            role, name, description = told(bus, where)
            # Cells of tables are thousands; that there are some is enough.
            waiting += children(bus, where)[:MOST_CHILDREN]
        except GLib.Error:
            continue  # it went away meanwhile
        seen.append((role, name, is_shown(bus, where), description))
    return seen


def main():
    """Wait until the files are open, then print."""
    bus = accessibility_bus()
    until = time.monotonic() + 60
    seen = []
    while time.monotonic() < until and not any(name == WAITED_FOR for _, name, *_ in seen):
        seen = walk(bus, [program(bus, until)])
    for line in seen:
        print(json.dumps(line))


main()
