"""The cost of operators, source lines and modules; every instant is charged once."""
