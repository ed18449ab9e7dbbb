"""The sections of a report, from its contents to HTML."""
