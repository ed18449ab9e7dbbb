"""The Events panel."""

from viewer.gui.panels.base.panel_spec import CHOSEN, PageSpec

PAGE = PageSpec(
    "events", "Events", f"{__name__}.panel:EventsPanel", (*CHOSEN, "panel.source", "panel.graph")
)
