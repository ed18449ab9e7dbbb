"""The main figures of one trace or one model."""
