"""One module per menu or topic; each returns a list of `Command` and contains nothing else."""
