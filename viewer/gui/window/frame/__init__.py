"""The parts around the content: shell, docks, status bar, message bar."""
