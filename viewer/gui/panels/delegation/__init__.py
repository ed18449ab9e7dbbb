"""The Delegation panel."""
