"""DOUBLEs for random values: few, so that they meet, with all that behaves otherwise than a number on paper."""

from __future__ import annotations

import math

#: NaN is one object, as in rows of the interpreter, so that tuples with it are equal; sums of the finite ones are exact.
DOUBLES = (-math.inf, -1.5, -0.0, 0.0, 0.5, 2.0, math.inf, math.nan)
