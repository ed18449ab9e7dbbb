"""Tables of layers without starts: the profiles of many runtimes, and spreadsheets."""
