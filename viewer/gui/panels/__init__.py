"""One dock each. A panel knows the session and never another panel."""
