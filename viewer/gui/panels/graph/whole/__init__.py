"""The whole model: nested groups that open and close."""
