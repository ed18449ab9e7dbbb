"""Type aliases for the numpy arrays used throughout the program."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Codes = NDArray[np.uint32]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
