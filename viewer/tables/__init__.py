"""The tables of profiles: what each column is, and how its values are made."""
