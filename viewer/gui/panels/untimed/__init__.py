"""The Untimed events panel."""

from viewer.gui.panels.base.panel_spec import PageSpec

PAGE = PageSpec("untimed", "Untimed events", f"{__name__}.panel:UntimedPanel", ("panel.details",))
