"""The Handle map panel."""
