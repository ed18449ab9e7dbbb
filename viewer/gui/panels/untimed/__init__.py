"""The Untimed events panel."""
