"""The Search results panel."""

from viewer.gui.panels.base.panel_spec import CHOSEN, LINE, PageSpec

PAGE = PageSpec(
    "search",
    "Search",
    f"{__name__}.panel:HitsPanel",
    (*CHOSEN, "panel.source", "panel.graph", LINE, "mark.keep", "view.only_hits"),
    in_view=True,
)
