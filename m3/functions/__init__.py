"""What the functions of :mod:`m3.dictionary` compute: one kernel each, by the same names."""

from __future__ import annotations

from collections.abc import Mapping

from m3.functions import jsons, moments, numbers, regexes, texts
from m3.functions.kernel import Compute
from m3.functions.regexes import (
    capture,
    check_replacement,
    count_groups,
    first_place,
    grows,
    is_lazy,
    may_lack,
    nonempty_regex,
    safe_regex,
    search_with,
    takes_longest,
)
from m3.functions.texts import like_regex

__all__ = [
    "KERNELS",
    "Compute",
    "capture",
    "check_replacement",
    "count_groups",
    "first_place",
    "grows",
    "is_lazy",
    "like_regex",
    "may_lack",
    "nonempty_regex",
    "safe_regex",
    "search_with",
    "takes_longest",
]

#: Name -> kernel.
KERNELS: Mapping[str, Compute] = {
    **texts.KERNELS,
    **regexes.KERNELS,
    **jsons.KERNELS,
    **numbers.KERNELS,
    **moments.KERNELS,
}
