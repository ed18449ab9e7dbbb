"""The Selection panel."""

from viewer.gui.panels.base.panel_spec import LINE, PageSpec

PAGE = PageSpec(
    "selection",
    "Selection",
    f"{__name__}.panel:SelectionPanel",
    ("view.fit", "selection.area", "selection.export", LINE, "mark.keep"),
    in_view=True,
)
