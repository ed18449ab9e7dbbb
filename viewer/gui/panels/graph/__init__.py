"""The Graph panel."""
