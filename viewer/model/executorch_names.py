"""What the ExecuTorch runtime calls its own events, in every dump and in tables made of one.

Of executorch's runtime/executor/method.cpp and program.cpp, and of the code that registers kernels.
"""

from __future__ import annotations

# The runtime's own scopes, outside any instruction.
INIT = "Method::init"
LOAD = "Program::load_method"
# One step of an inference that the caller drives; it opens no event block.
STEP = "Method::step"
# The scope of one whole inference; the runtime logs it when the run came to its end.
EXECUTE = "Method::execute"
SCOPES = frozenset({INIT, LOAD, STEP, EXECUTE})

# Instructions: one operator, one call of a delegate, and those without an operator.
OPERATOR_CALL = "OPERATOR_CALL"
DELEGATE_CALL = "DELEGATE_CALL"
# The instruction of control flow: it goes on elsewhere if a value is false.
JUMP = "JF_CALL"
CONTROL = frozenset({"MOVE_CALL", JUMP, "FREE_CALL"})

# A kernel inside an operator's call: what follows is the operator's name.
KERNEL_PREFIX = "native_call_"
