"""The command table: actions, keys, fuzzy match."""
