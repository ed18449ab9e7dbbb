"""The order of inferences: phases, changes over time, and the time between them."""
