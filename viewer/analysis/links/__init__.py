"""Which slices belong to which operators, why or why not, and how well a record fits."""
