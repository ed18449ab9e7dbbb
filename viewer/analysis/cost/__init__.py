"""The cost of operators, source lines and modules: self and wall time."""
