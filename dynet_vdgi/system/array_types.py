"""Types of arrays, by what they hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Floats32 = NDArray[np.float32]

Ints = NDArray[np.int64]

Flags = NDArray[np.bool_]

Codes = NDArray[np.uint64]

Bytes = NDArray[np.int8]
