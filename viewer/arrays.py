"""Types of the numpy arrays that the whole program passes around."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Codes = NDArray[np.uint32]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
