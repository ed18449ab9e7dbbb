"""Opening, saving, closing, exporting: what is done with files."""
