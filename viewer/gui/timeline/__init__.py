"""The timeline widget: view, ruler, overview, legend, bookmarks bar."""
