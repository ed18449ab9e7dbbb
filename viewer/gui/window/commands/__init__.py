"""One module per menu or theme: a list of `Command` each, and nothing else."""
