"""What the pages of the help mention."""

import re

from viewer.gui.window.help.pages import filled, text_of

_PICTURE = re.compile(r"!\[[^\]]+\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def commands_in(page):
    """The ids of all commands that a page mentions."""
    ids = []

    def note(id):
        ids.append(id)
        return ""

    filled(page, note)
    return ids


def pictures_in(page):
    """The pictures of a page, as paths relative to the folder of the pages."""
    return _PICTURE.findall(_FENCE.sub("", text_of(page)))
