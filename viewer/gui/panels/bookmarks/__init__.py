"""The Bookmarks panel."""

from viewer.gui.panels.base.panel_spec import PageSpec

PAGE = PageSpec(
    "marks",  # as sessions and settings of earlier versions name it
    "Bookmarks",
    f"{__name__}.panel:BookmarksPanel",
    ("mark.fit", "mark.rename", "mark.remove"),
    in_view=True,
)
