"""The Sizes panel."""
