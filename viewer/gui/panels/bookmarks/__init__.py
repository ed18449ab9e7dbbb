"""The Bookmarks panel."""

from viewer.gui.panels.base.panel_spec import PageSpec

PAGE = PageSpec(
    "marks",
    "Bookmarks",
    f"{__name__}.panel:BookmarksPanel",
    ("mark.fit", "mark.rename", "mark.remove"),
    in_view=True,
)
