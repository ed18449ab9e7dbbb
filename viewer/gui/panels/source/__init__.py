"""The Source panel."""

from viewer.gui.panels.base.panel_spec import PageSpec, PanelArea, PanelGroup, panel_of_page

PAGE = PageSpec("source", "Source", f"{__name__}.panel:SourcePanel", ("edit.source",))
PANEL = panel_of_page(PAGE, PanelArea.RIGHT, PanelGroup.MODEL)
