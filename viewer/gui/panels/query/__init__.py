"""The Query panel."""

from viewer.gui.panels.base.panel_spec import (
    PageSpec,
    PanelArea,
    PanelGroup,
    panel_of_page,
)

PANEL = panel_of_page(
    PageSpec("query", "Query", f"{__name__}.panel:QueryPanel", of_all=True),
    PanelArea.LEFT,
    PanelGroup.TIME,
)
