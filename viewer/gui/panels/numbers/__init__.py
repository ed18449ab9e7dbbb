"""The Numbers panel."""
