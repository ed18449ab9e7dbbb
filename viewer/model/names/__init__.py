"""Names that runtimes and profilers give their own scopes, events and columns."""
