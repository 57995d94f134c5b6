"""Annotated dataflows: components with paths from input to output interfaces, and the streams between them (Blazes, section IV).

An annotation says of one path through a component whether it is confluent or order-sensitive (C, O), and whether it only reads or
also writes the component's state (R, W). Of an order-sensitive path the **gate** says over which partitions of its input it works: a
set of attributes, None if each record is a partition of its own (``OR_*``, ``OW_*``), so that no seal is compatible.

The paths of a component are all that connects its interfaces: an output contains nothing of an input that no path leads from. The
component's state is one, and all its paths share it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Annotation", "Component", "Dataflow", "Dependency", "Schema", "Stream"]


@dataclass(frozen=True)
class Annotation:
    """Of the path from an input to an output interface: ``label`` is ``CR``, ``CW``, ``OR`` or ``OW``; ``gate`` only of the latter two.

    ``lineage``: pairs (output attribute, input attribute) that are the same; what is not named is new, or changed. None: attributes keep
    their names. An output record has the value of **every** input record that it was made of: a path that combines records with
    different values of an attribute does not keep it, and has to say so.

    >>> Annotation("words", "counts", "OW", frozenset({"word", "batch"})).text
    'OW_{batch,word}'
    """

    source: str
    target: str
    label: str
    gate: frozenset[str] | None = None
    lineage: tuple[tuple[str, str], ...] | None = None

    @property
    def order_sensitive(self) -> bool:
        """Whether another order of the same input may give other output."""
        return self.label[0] == "O"

    @property
    def writes(self) -> bool:
        """Whether it changes the component's state."""
        return self.label[1] == "W"

    @property
    def severity(self) -> int:
        """1 to 4 (figure 7)."""
        return ("CR", "CW", "OR", "OW").index(self.label) + 1

    @property
    def text(self) -> str:
        """As the paper writes it: with its gate as a subscript."""
        if not self.order_sensitive:
            return self.label
        return f"{self.label}_*" if self.gate is None else f"{self.label}_{{{','.join(sorted(self.gate))}}}"


@dataclass(frozen=True)
class Component:
    """A component and its paths. ``replicated`` (Rep): several instances of it get the same input; None: if a stream into it is. ``replicas``: how
    many, if that is known."""

    name: str
    paths: tuple[Annotation, ...]
    replicated: bool | None = None
    replicas: int | None = None


@dataclass(frozen=True)
class Stream:
    """From an output interface (``component``, ``interface``) to an input; ``source`` None: from outside, ``target`` None: a sink.

    ``seal``: the attributes that it is punctuated on. ``replicated`` (Rep): each of several instances of the consumer gets all of it; None: as what it
    is made of. ``label``: what it is, coming from outside: ``Async``, ``Run`` or ``Inst``. ``producers``: how many instances produce records of one
    sealed value, if that is known."""

    name: str
    source: tuple[str, str] | None
    target: tuple[str, str] | None
    seal: frozenset[str] | None = None
    replicated: bool | None = None
    label: str = "Async"
    producers: int | None = None


@dataclass(frozen=True)
class Dependency:
    """A functional dependency: ``determinant`` determines ``dependent``; ``injective``: and no two values of it the same one. It is true of the
    records of ``stream``; None: wherever these attributes are, of all records together."""

    determinant: frozenset[str]
    dependent: str
    injective: bool = False
    stream: str | None = None


@dataclass(frozen=True)
class Schema:
    """The attributes of a stream, all of them, and its keys: no two of its records agree in one."""

    stream: str
    columns: tuple[str, ...]
    keys: tuple[frozenset[str], ...] = ()


@dataclass(frozen=True)
class Dataflow:
    """Components, the streams between them, and what is known of their attributes."""

    name: str
    components: tuple[Component, ...]
    streams: tuple[Stream, ...]
    dependencies: tuple[Dependency, ...] = field(default=())
    schemas: tuple[Schema, ...] = field(default=())
