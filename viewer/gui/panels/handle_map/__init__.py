"""The Handle map panel."""

from viewer.gui.panels.base.panel_spec import CHOSEN, PageSpec

PAGE = PageSpec(
    "handle_map", "Handle map", f"{__name__}.panel:HandleMapPanel", (*CHOSEN, "panel.source")
)
