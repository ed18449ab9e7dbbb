"""All Qt of the program is below here, and nowhere else."""
