"""Labels of streams: what may differ between orders, runs and replicas (Blazes, sections III-A and V-A).

In the order of severity: **Seal** (nondeterministic order, and punctuations say when a partition is complete), **Async** (nondeterministic
order, deterministic contents), **Run** (contents differ between runs), **Inst** (and between replicas in one run), **Diverge** (replicas'
states stay different for good). NDRead and Taint occur only within a component, until they are reconciled: a nondeterministic read of
state, and state that was written in a nondeterministic order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from cumulus_ops.coordination.labelling.annotations import Annotation, Dependency, Schema

__all__ = [
    "ASYNC",
    "DIVERGE",
    "INST",
    "KINDS",
    "NDREAD",
    "RUN",
    "SEAL",
    "TAINT",
    "Attributes",
    "Inference",
    "Label",
    "Outcome",
    "Rule",
    "compatible",
    "infer",
    "most_severe",
    "reconcile",
    "rules_of",
]


SEAL, ASYNC, RUN, INST, DIVERGE = KINDS = ("Seal", "Async", "Run", "Inst", "Diverge")
NDREAD, TAINT = "NDRead", "Taint"


@dataclass(frozen=True)
class Label:
    """Of a stream. ``key``: what it is sealed on (Seal only); ``gate``: of the read (NDRead only; None is ``*``). ``replicated`` (Rep): several
    instances get it.

    >>> str(Label("Seal", key=frozenset({"batch"}))), Label("Async").severity
    ('Seal_{batch}', 1)
    """

    kind: str
    key: frozenset[str] | None = None
    gate: frozenset[str] | None = None
    replicated: bool = False

    @property
    def severity(self) -> int:
        """From 0 (Seal) to 4 (Diverge); −1 of NDRead and Taint, which are not anybody's label in the end."""
        return KINDS.index(self.kind) if self.kind in KINDS else -1

    @property
    def deterministic(self) -> bool:
        """Whether its contents are the same in all orders, runs and replicas."""
        return self.kind in (SEAL, ASYNC)

    def with_replicated(self, replicated: bool | None) -> Label:
        """The same label with another Rep; None leaves it."""
        return self if replicated is None else replace(self, replicated=replicated)

    @property
    def bare(self) -> Label:
        """Without Rep."""
        return replace(self, replicated=False)

    def __str__(self) -> str:
        if self.kind == SEAL:
            return f"Seal_{{{','.join(sorted(self.key or ()))}}}"
        if self.kind == NDREAD:
            return f"NDRead_{'*' if self.gate is None else '{' + ','.join(sorted(self.gate)) + '}'}"
        return self.kind


def most_severe(labels: Iterable[Label]) -> Label:
    """The label of the highest severity, without Rep. Seals on one key are a seal on it, which takes a vote; on different keys, they
    are Async: no punctuation says that a value of one key has no more records in the other stream.

    >>> str(most_severe([Label("Async"), Label("Run")])), str(most_severe([Label("Seal", frozenset("a")), Label("Seal", frozenset("b"))]))
    ('Run', 'Async')
    """
    found = [label.bare for label in labels]
    highest = max(found, key=lambda label: label.severity)
    if highest.kind == SEAL and len({label.key for label in found}) > 1:
        return Label(ASYNC)
    return highest


# Which seals are compatible with which gates: injective functional dependencies, chased through projections and renamings.
#
# A seal says that no record of a key's value comes any more. That completes a partition of an order-sensitive path if the partition has
# records of that value only: if some attributes of its gate are **injectively determined** by the key (Blazes, section V-A). Of company,
# symbol and city, the symbol is, because a company has one symbol and a symbol one company; the city is not, for other companies
# are there, too.
#
# The attributes of a stream have origins, the names they had where they came from, so that what is known of these stays known when
# a projection leaves some of them out, or calls them otherwise.


Names = frozenset[str]
#: What is known: these attributes determine those.
Rule = tuple[Names, Names]


def compatible(gate: Names | None, key: Names, dependencies: Iterable[Dependency] = ()) -> bool:
    """Whether a seal on ``key`` completes partitions of ``gate`` (None: each record is one): some set of the gate's attributes is injectively
    determined by the key.

    >>> company, symbol, city = (frozenset({a}) for a in ("company", "symbol", "city"))
    >>> known = [Dependency(company, "symbol", injective=True), Dependency(company, "city")]
    >>> compatible(symbol, company, known), compatible(city, company, known), compatible(symbol | city, company, known)
    (True, False, True)
    """
    return Attributes("").compatible(gate, key, rules_of(dependencies))


def rules_of(dependencies: Iterable[Dependency]) -> frozenset[Rule]:
    """Dependencies as rules: an injective one holds in both directions."""
    found: set[Rule] = set()
    for known in dependencies:
        found.add((known.determinant, frozenset({known.dependent})))
        if known.injective:
            found.add((frozenset({known.dependent}), known.determinant))
    return frozenset(found)


def _closure(names: Names, rules: Iterable[Rule]) -> Names:
    """All that the attributes determine."""
    rules, size = list(rules), -1
    while len(names) != size:
        size = len(names)
        for determinant, dependents in rules:
            if determinant <= names:
                names |= dependents
    return names


@dataclass(frozen=True)
class Attributes:
    """The attributes of the records at an interface.

    ``origins`` are pairs (name, origin): an attribute with the same origin has the same values. None: each is its own origin. An attribute
    without an origin is new at ``place``. ``columns``: all there are, None if that is not known. ``rules`` are true of these records only."""

    place: str
    origins: frozenset[tuple[str, str]] | None = None
    columns: Names | None = None
    rules: frozenset[Rule] = frozenset()

    def origin(self, name: str) -> str:
        """Where the attribute comes from; no other attribute that is new has the same one."""
        if self.origins is None:
            return name
        return dict(self.origins).get(name, f"{name}@{self.place}")

    def _origins(self, names: Names) -> Names:
        return frozenset(map(self.origin, names))

    def compatible(self, gate: Names | None, key: Names, rules: Iterable[Rule]) -> bool:
        """See :func:`compatible`; ``rules`` are of origins."""
        if gate is None:
            return False
        known = [*rules, *self.rules]
        sealed = self._origins(key)
        # the largest set of the gate's attributes that the key determines; if any set determines the key, this one does
        within = _closure(sealed, known) & self._origins(gate)
        return sealed <= _closure(within, known)

    def described(self, schema: Schema | None, dependencies: Iterable[Dependency]) -> Attributes:
        """With what a stream's schema and its own dependencies say."""
        columns = self.columns if schema is None else frozenset(schema.columns)
        local = set(rules_of(dependencies))
        local |= {(key, columns) for key in (schema.keys if schema else ()) if columns is not None}
        rules = {(self._origins(a), self._origins(b)) for a, b in local}
        return replace(self, columns=columns, rules=self.rules | rules)

    def through(self, lineage: tuple[tuple[str, str], ...] | None, place: str) -> Attributes:
        """Those of what a path makes of these records."""
        if lineage is None:
            pairs = None if self.origins is None else self.origins
            return replace(self, place=place, origins=pairs, columns=None)
        return replace(
            self, place=place, origins=frozenset((out, self.origin(name)) for out, name in lineage), columns=None
        )

    def merged(self, other: Attributes) -> Attributes:
        """Those of the records of both: what is true of either alone may not be true of all."""
        if self.origins is None or other.origins is None:
            known = self.origins if other.origins is None else other.origins
            both = None if known is None else frozenset((a, b) for a, b in known if a == b)
        else:
            both = self.origins & other.origins
        columns = None if self.columns is None or other.columns is None else self.columns & other.columns
        return replace(self, origins=both, columns=columns, rules=self.rules & other.rules)

    def carried(self, key: Names, lineage: tuple[tuple[str, str], ...] | None, rules: Iterable[Rule]) -> Names | None:
        """What records made by a path are sealed on if these are sealed on ``key``: attributes that the path keeps, and that the key
        determines injectively. None: there are none."""
        kept = (
            {name: name for name in sorted(key | (self.columns or frozenset()))} if lineage is None else dict(lineage)
        )
        return self._sealed_by(key, kept, rules)

    def within(self, key: Names, columns: Names, rules: Iterable[Rule]) -> Names | None:
        """The same for a stream that has these ``columns`` only."""
        return self._sealed_by(key, {name: name for name in sorted(columns)}, rules)

    def _sealed_by(self, key: Names, kept: dict[str, str], rules: Iterable[Rule]) -> Names | None:
        """``kept``: new name -> name here."""
        back: dict[str, str] = {}
        for new, name in sorted(kept.items()):
            back.setdefault(name, new)
        if key <= back.keys():  # the identity, which is what people expect to read
            return frozenset(back[name] for name in key)
        known = [*rules, *self.rules]
        sealed = self._origins(key)
        determined = _closure(sealed, known)
        chosen = {new for new, name in kept.items() if self.origin(name) in determined}

        def seals(names: Iterable[str]) -> bool:
            return sealed <= _closure(self._origins(frozenset(kept[n] for n in names)), known)

        if not seals(chosen):
            return None
        for name in sorted(chosen):  # no more attributes than it takes
            if seals(chosen - {name}):
                chosen.discard(name)
        return frozenset(chosen)


# How labels come through a component: inference along each path, and reconciliation of what an output is made of.
#
# The rules are those of Blazes (technical report, section on label propagation), and two more, without which an "Async" could be refuted
# (decision 0034):
#
# ====  ===============================================  ============
# rule  a stream that comes through                      becomes
# ====  ===============================================  ============
# 1     {Async, Run} through OR_gate                     NDRead_gate
# 2     {Async, Run} through OW_gate                     Taint
# 3     Inst through CW or OW_gate                       Taint
# 4     Seal_key through OW_gate, not compatible         Taint
# 5     Seal_key through OR_gate                         NDRead_gate
# p     anything else                                    what it was
# ====  ===============================================  ============
#
# A rule that fires consumes the path's own label; Run alone stays beside an NDRead, for the requests themselves differ between runs.


@dataclass(frozen=True)
class Inference:
    """What came through a path. ``came`` is the label at the input, ``label`` what it became by ``rule``, and ``reason`` why. ``beside``: a Run that stays.
    ``attributes`` are those at the input; ``carried`` is what the output is sealed on if it is. ``counts``: the path leads to this output; if not, it
    writes state that an order-sensitive path to it meets."""

    path: Annotation
    came: Label
    label: Label
    rule: str
    reason: str
    attributes: Attributes
    beside: Label | None = None
    carried: frozenset[str] | None = None
    counts: bool = True

    @property
    def used_seal(self) -> bool:
        """Whether a compatible seal makes an order-sensitive write deterministic."""
        return self.label.kind == SEAL and self.path.order_sensitive


@dataclass(frozen=True)
class Outcome:
    """What a label of an output was reconciled to, and why."""

    labels: tuple[Label, ...]
    label: Label
    reason: str
    seals: tuple[Inference, ...] = ()


def infer(path: Annotation, came: Label, attributes: Attributes, rules: frozenset[Rule]) -> Inference:
    """What a label becomes along a path.

    >>> count = Annotation("words", "counts", "OW", frozenset({"word", "batch"}))
    >>> for label in (Label("Async"), Label("Seal", frozenset({"batch"})), Label("Seal", frozenset({"user"}))):
    ...     found = infer(count, label, Attributes("words"), frozenset())
    ...     print(label, "through", count.text, "becomes", found.label, "by rule", found.rule)
    Async through OW_{batch,word} becomes Taint by rule 2
    Seal_{batch} through OW_{batch,word} becomes Seal_{batch} by rule p
    Seal_{user} through OW_{batch,word} becomes Taint by rule 4
    """
    label, rule, reason = _ruled(path, came, attributes, rules)
    beside = Label(RUN) if rule == "1" and came.kind == RUN else None
    carried = None
    if label.kind == SEAL and label.key is not None and not path.order_sensitive:
        carried = attributes.carried(label.key, path.lineage, rules)
    return Inference(path, came, label, rule, reason, attributes, beside, carried)


def _ruled(path: Annotation, came: Label, attributes: Attributes, rules: frozenset[Rule]) -> tuple[Label, str, str]:
    kind, read = came.kind, Label(NDREAD, gate=path.gate)
    if path.label == "OR" and kind in (ASYNC, RUN):
        return read, "1", "what it reads depends on when it comes"
    if path.label == "OR" and kind == SEAL:
        return read, "5", "a seal of the requests does not say that the state they read is complete"
    if path.label == "OW" and kind in (ASYNC, RUN):
        return Label(TAINT), "2", "the state depends on the order in which the records come"
    if path.writes and kind == INST:
        return Label(TAINT), "3", "what differs between replicas is written into the state"
    if path.label == "OW" and kind == SEAL:
        key = ", ".join(sorted(came.key or ()))
        if not attributes.compatible(path.gate, came.key or frozenset(), rules):
            return Label(TAINT), "4", _incompatible(path, key)
        gate = ", ".join(sorted(path.gate or ()))
        return came.bare, "p", f"a partition by {gate} is processed once it is complete: {key} is sealed"
    return came.bare, "p", "confluent" if not path.order_sensitive else "it differs already"


def _incompatible(path: Annotation, key: str) -> str:
    if path.gate is None:
        return "every record is a partition of its own, which no seal completes"
    gate = ", ".join(sorted(path.gate)) or "nothing, a single partition"
    return f"a seal on {key} does not complete a partition by {gate}"


def reconcile(found: Sequence[Inference], replicated: bool, rules: frozenset[Rule]) -> list[Outcome]:
    """What the labels of an output's paths come to; the output's label is the most severe one of them (:func:`most_severe`).

    A Taint is Diverge if the component is replicated, and else Run. An NDRead is harmless (Async) only if every other label is the same
    NDRead or a compatible seal, and else Inst if replicated, Run if not. A compatible seal of an order-sensitive write is used up (Async) if
    whatever else is written is sealed compatibly, too, and else a Taint.
    """
    outcomes: list[Outcome] = []
    for number, one in enumerate(found):
        others = [other for i, other in enumerate(found) if i != number]
        outcomes.extend(_reconciled(one, others, replicated, rules))
    return outcomes


def _reconciled(
    one: Inference, others: Sequence[Inference], replicated: bool, rules: frozenset[Rule]
) -> Iterator[Outcome]:
    labels = (one.label, *(o.label for o in others))
    if one.label.kind == TAINT:
        yield Outcome(labels, _tainted(replicated), _words(one.reason, replicated, "diverge"))
    elif one.label.kind == NDREAD:
        yield _read(one, others, replicated, rules)
    elif one.used_seal:
        yield _sealed_write(one, others, replicated, rules)
    elif (
        one.counts or not one.label.deterministic
    ):  # what differs differs in the state, whatever output it was written for
        yield _plain(one, labels)
    if one.beside is not None and one.counts:
        yield Outcome(labels, one.beside, "the requests differ between runs")


def _tainted(replicated: bool) -> Label:
    return Label(DIVERGE if replicated else RUN)


def _words(reason: str, replicated: bool, anomaly: str) -> str:
    return f"{reason}; replicas {anomaly}" if replicated else f"{reason}; not replicated, so runs differ"


def _read(one: Inference, others: Sequence[Inference], replicated: bool, rules: frozenset[Rule]) -> Outcome:
    """An NDRead, protected or not."""
    labels = (one.label, *(o.label for o in others))
    racing = [o for o in others if o.label != one.label and not _completes(o, one.path.gate, rules)]
    if racing:
        first = racing[0]
        reason = f"{one.path.source} races with {first.path.source}, which is {first.label}"
        return Outcome(labels, Label(INST if replicated else RUN), _words(reason, replicated, "answer differently"))
    seals = tuple(o for o in others if o.label.kind == SEAL)
    names = " and ".join(
        dict.fromkeys(f"{o.path.source} is sealed on {', '.join(sorted(o.label.key or ()))}" for o in seals)
    )
    return Outcome(
        labels, Label(ASYNC), f"protected: {names}" if seals else "nothing that it reads is ever written", seals
    )


def _sealed_write(one: Inference, others: Sequence[Inference], replicated: bool, rules: frozenset[Rule]) -> Outcome:
    """A compatible seal through an order-sensitive write, which other writes may disturb."""
    labels = (one.label, *(o.label for o in others))
    racing = [o for o in others if o.path.writes and not _completes(o, one.path.gate, rules)]
    if racing:
        reason = (
            f"{one.path.source} is sealed, but meets what {racing[0].path.source} writes, which is {racing[0].label}"
        )
        return Outcome(labels, _tainted(replicated), _words(reason, replicated, "diverge"))
    return Outcome(labels, Label(ASYNC), "the seal has been used: the contents are deterministic", (one,))


def _completes(other: Inference, gate: frozenset[str] | None, rules: frozenset[Rule]) -> bool:
    """Whether what comes through another path is sealed, compatibly with a gate."""
    key = other.label.key
    return other.label.kind == SEAL and key is not None and other.attributes.compatible(gate, key, rules)


def _plain(one: Inference, labels: tuple[Label, ...]) -> Outcome:
    if one.label.kind != SEAL:
        return Outcome(labels, one.label, "as it came")
    if one.carried is None:
        return Outcome(labels, Label(ASYNC), "the attributes of its seal are left out on the way")
    return Outcome(labels, replace(one.label, key=one.carried), "as it came")
