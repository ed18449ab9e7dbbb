"""The Program panel."""

from viewer.gui.panels.base.panel_spec import PageSpec

PAGE = PageSpec("program", "Program", f"{__name__}.panel:ProgramPanel", choice="Tree", leads=True)
