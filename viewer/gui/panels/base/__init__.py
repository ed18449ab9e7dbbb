"""Base classes and widgets that the panels share: frames, tables, charts, costs."""
