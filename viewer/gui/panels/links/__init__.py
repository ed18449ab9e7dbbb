"""The Links panel."""
