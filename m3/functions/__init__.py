"""What the functions of :mod:`m3.dictionary` compute: one kernel each, by the same names."""

from __future__ import annotations

from collections.abc import Mapping

from m3.functions import jsons, moments, numbers, texts
from m3.functions.kernel import Compute
from m3.functions.texts import like_regex, safe_regex, search_with

__all__ = ["KERNELS", "Compute", "like_regex", "safe_regex", "search_with"]

#: Name -> kernel.
KERNELS: Mapping[str, Compute] = {**texts.KERNELS, **jsons.KERNELS, **numbers.KERNELS, **moments.KERNELS}
