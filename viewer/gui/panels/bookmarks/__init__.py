"""The Bookmarks panel."""
