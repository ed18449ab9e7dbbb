"""What frames the content: shell, docks, status bar, message bar."""
