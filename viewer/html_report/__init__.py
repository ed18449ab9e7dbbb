"""A report of open profiles as one HTML file that opens anywhere, or as Markdown."""
