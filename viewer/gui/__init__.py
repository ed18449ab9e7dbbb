"""Everything that uses Qt: the application, its windows, panels and timeline."""
