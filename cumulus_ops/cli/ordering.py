"""Whether the order of a program's events is free, for people and for scripts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from m3.confluence import Confluence

__all__ = ["ordering_json", "ordering_lines"]

WIDTH = 116
BATCH = "by batch: an epoch's events may come in any order, and all of a relation in a batch are added up by key"
EVENT = "by event: each event reads what was stamped before it, because"


def ordering_lines(found: Confluence) -> Iterator[str]:
    """What versions a program's events get, and why."""
    yield "VERSIONS"
    if found.grain == "batch":
        yield f"  {BATCH}"
        return
    yield f"  {EVENT}"
    for reason in found.reasons:
        yield from textwrap.wrap(reason, WIDTH, initial_indent="    ", subsequent_indent="      ")
    free = [v.relation for v in found.verdicts.values() if v.grain == "batch"]
    if free:
        yield from textwrap.wrap(f"the order of {', '.join(free)} would be free", WIDTH, initial_indent="    ")


def ordering_json(found: Confluence) -> dict[str, object]:
    """The same for scripts: the program's grain and each relation's."""
    relations = {v.relation: {"grain": v.grain, "reason": v.reason} for v in found.verdicts.values()}
    return {"grain": found.grain, "confluent": found.is_confluent, "relations": relations}
