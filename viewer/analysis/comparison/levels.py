"""The levels of a comparison: what its rows are."""

from viewer.model.recorded_names import ACTION, JOB, LOCATION, TASK

# The default level: instructions, and events inside delegate calls.
CALLS = "operator"
# Levels whose rows are sums of calls: those of each delegate, and none but the whole inference.
DELEGATE, INFERENCE = "delegate", "inference"
# A level whose rows are call paths (`path_changes`).
PATH = "path"
LEVELS_OF_CALLS = (CALLS, DELEGATE, INFERENCE)

NODE, LINE, MODULE, TYPE, SET, NAME = "node", "line", "module", "type", "operator_set", "name"
LEVELS = (NODE, LINE, MODULE, TYPE)
# The busy time of each unit of an NPU. Units work at once, so their times do not add up.
UNIT = "unit"
IDENTITIES = (LOCATION, ACTION, JOB, TASK, UNIT)
