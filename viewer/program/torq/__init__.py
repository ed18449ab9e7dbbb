"""Debug info of the Torq compiler."""
