"""What an analysis says of a dataflow's streams, against what executions of it show."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cumulus_ops.coordination.labelling.annotations import Dataflow
from cumulus_ops.coordination.labelling.labels import Label
from tests.support.dataflow_executions import ANOMALIES, TooLong, observe
from tests.support.dataflow_worlds import World, draw_world

__all__ = ["Judgement", "Labels", "Refuted", "judge"]

#: What an analysis says: a label for each stream.
Labels = Callable[[Dataflow], Mapping[str, Label]]


class Refuted(AssertionError):
    """Some execution shows what the analysis excludes."""


@dataclass
class Judgement:
    """How often, over the ``streams`` of many dataflows, a label was said and an anomaly was the worst that was seen; ``worst``: of the last dataflow, by
    stream. ``endless``: worlds whose records went round a cycle for ever, which say nothing."""

    dataflows: int = 0
    endless: int = 0
    streams: Counter[tuple[str, str]] = field(default_factory=Counter)
    worst: dict[str, str] = field(default_factory=dict)

    @property
    def over_cautious(self) -> float:
        """The share of streams whose label is worse than all that was seen."""
        worse = sum(n for (said, seen), n in self.streams.items() if _severity(said) > _severity(seen))
        return worse / max(1, self.streams.total())

    def describe(self) -> str:
        """As text: a table of labels against what was seen."""
        kinds = ("Seal", *ANOMALIES)
        lines = [f"{self.dataflows} dataflows, {self.streams.total()} streams; over-cautious: {self.over_cautious:.1%}"]
        lines += ["said \\ seen " + "".join(f"{seen:>9}" for seen in ANOMALIES)]
        lines += [f"{said:>12}" + "".join(f"{self.streams[said, seen]:>9}" for seen in ANOMALIES) for said in kinds]
        return "\n".join(lines)


def _severity(kind: str) -> int:
    return 0 if kind == "Seal" else ANOMALIES.index(kind)


def judge(
    dataflow: Dataflow,
    labels: Labels,
    choose: random.Random,
    judgement: Judgement,
    worlds: int = 1,
    ordered: Mapping[str, str] | None = None,
) -> None:
    """Execute a dataflow in some worlds, with the seals that the analysis says there are, and compare. ``ordered``: components whose input has one order
    (:func:`~tests.support.dataflow_executions.observe`).

    Raises:
        Refuted: an execution shows more than the label of a stream allows, or breaks a seal.
    """
    said = labels(dataflow)
    keys = {s.name: s.seal for s in dataflow.streams if s.source is None and s.seal}
    keys |= {name: label.key for name, label in said.items() if label.kind == "Seal" and label.key}
    worst = dict.fromkeys((s.name for s in dataflow.streams if s.source is not None), "Async")
    for _ in range(worlds):
        world = draw_world(choose, dataflow)
        try:
            seen = observe(world, keys, choose, ordered)
        except TooLong:
            judgement.endless += 1
            continue
        for name, anomaly in seen.anomalies.items():
            if _severity(anomaly) > _severity(said[name].kind):
                raise Refuted(_refuted(world, f"{name} is said to be {said[name]}, and shows {anomaly}"))
            if _severity(anomaly) > _severity(worst[name]):
                worst[name] = anomaly
        for name in seen.broken:
            raise Refuted(
                _refuted(world, f"{name} is said to be {said[name]}: it has records after their seal, or without one")
            )
    judgement.dataflows += 1
    judgement.worst = worst
    judgement.streams.update((said[name].kind, anomaly) for name, anomaly in worst.items())


def _refuted(world: World, what: str) -> str:
    lines = [what, *(f"  {s}" for s in world.dataflow.streams)]
    lines += [f"  {c.name}, replicated: {c.replicated}" for c in world.dataflow.components]
    for c in world.dataflow.components:
        lines += [f"  {c.name} {p}: {world.behaviours[c.name, n]}" for n, p in enumerate(c.paths)]
    lines += [
        f"  {name}: {sorted(rows)}, sealed {sorted(world.sealed.get(name, ()), key=repr)}"
        for name, rows in world.inputs.items()
    ]
    return "\n".join(lines)
