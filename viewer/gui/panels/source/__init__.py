"""The Source panel."""
