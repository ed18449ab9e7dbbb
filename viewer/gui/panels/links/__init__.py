"""The Links panel."""

from viewer.gui.panels.base.panel_spec import PageSpec

PAGE = PageSpec("links", "Links", f"{__name__}.panel:LinksPanel", of_all=True)
