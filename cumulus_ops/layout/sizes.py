"""About how many bytes a row of a copy takes in a merged run: what `cumulus compile` and `cumulus explain` show.

What is assumed, for a run's real encodings follow from its rows:

- A whole number as a key takes the bits of its type: a BOOL 1, a DATE 12 (11 years), a TIMESTAMP 48 (9 years), a DECIMAL those
  of its digits, an INT 32. If declared rows tell how many values an INT has at most, it takes the bits of that many: keys
  are taken to be dense.
- The numbers that a copy is sorted by are bits of one search code; what is no number, or finds no more room, adds a hash of 32.
  The code takes 1, 2, 4 or 8 bytes, and so does a number that is not in it.
- A text takes 20 bytes, a DOUBLE 8. (Texts that repeat take 1 or 2 in truth.)
- A count takes 1 byte, any other value 4.
- The version takes nothing: after an epoch's merge all rows have one.

Checksums and headers are left out: they are 5 bytes in 65,536, and some kB a run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from cumulus_ops.layout.groups import Group
from cumulus_ops.layout.plans import ProgramPlan
from cumulus_ops.mapstore import AccessPath, is_number, physical_type
from m3.datatypes import Type
from m3.explain.access import Access
from m3.explain.sizes import Sizes
from m3.scalars import variables

__all__ = ["CopySizes"]

CODE_BITS, HASH_BITS = 64, 32
TEXT_BYTES, DOUBLE_BYTES = 20, 8
COUNT_BYTES, VALUE_BYTES = 1, 4
BITS = {"bool": 1, "date": 12, "timestamp": 48, "int": 32}


class CopySizes:
    """Estimates for the copies of a plan's groups.

    Args:
        plan: the plan.
        rows: rows by relation, where they are known better than the program knows them.
    """

    def __init__(self, plan: ProgramPlan, rows: Mapping[str, float] | None = None) -> None:
        self._plan, self._sizes = plan, Sizes(plan.program, rows)

    def row_bytes(self, path: AccessPath) -> int:
        """The bytes of a row of a copy."""
        group = self._plan.groups[path.map]
        kept = range(len(group.keys)) if path.keys is None else path.keys
        bits = {i: self._bits(group, i) for i in kept if is_number(physical_type(group.keys[i].type))}
        packed: list[int] = []
        for place in path.bound:
            if place not in bits or sum(bits[i] for i in [*packed, place]) > CODE_BITS:
                break
            packed.append(place)
        code = sum(bits[i] for i in packed)
        rest = path.bound[len(packed) :]
        if rest and path.order not in rest:
            code += min(HASH_BITS, CODE_BITS - code)
        others = (_whole_bytes(bits[i]) if i in bits else _bytes(group.keys[i].type) for i in kept if i not in packed)
        names = group.members if path.values is None else path.values
        values = (COUNT_BYTES if self._counts(group, name) else VALUE_BYTES for name in names)
        return _whole_bytes(code) + sum(others) + sum(values)

    def _bits(self, group: Group, place: int) -> int:
        type_ = group.keys[place].type
        if type_.kind == "decimal":
            return min(CODE_BITS, math.ceil(type_.precision * math.log2(10)))
        values = self._values(group, place) if type_.kind == "int" else None
        return BITS[type_.kind] if values is None else min(BITS["int"], math.ceil(math.log2(max(values, 1.0))))

    def _values(self, group: Group, place: int) -> float | None:
        """How many values a key column has at most: the entries, divided by those of one value of it as far as they are
        known; None where the entries are not."""
        size = self._sizes.size(group.name)
        if size is None or len(group.keys) == 1:
            return size
        free = tuple((i, key.name) for i, key in enumerate(group.keys) if i != place)
        found = self._sizes.matches(Access(group.name, (place,), free)).known
        return size if found is None else size / found

    def _counts(self, group: Group, name: str) -> bool:
        """Whether a member counts: nothing but constants and other counts goes into it."""
        products = (p for s in self._plan.statements[group.name] for p in s.products if p.map == name)
        factors = (factor for product in products for factor in (*product.factors, *product.late_factors))
        variable = any(True for factor in factors for _ in variables(factor))
        return self._plan.program.map_by_name[name].value.kind == "int" and not variable


def _whole_bytes(bits: int) -> int:
    """The narrowest of the stored widths that holds so many bits."""
    return next(size for size in (0, 1, 2, 4, 8) if bits <= 8 * size)


def _bytes(type_: Type) -> int:
    return DOUBLE_BYTES if type_.kind == "double" else TEXT_BYTES
