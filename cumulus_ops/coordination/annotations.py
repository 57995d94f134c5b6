"""Annotated dataflows: components with paths from input to output interfaces, and the streams between them (Blazes, section IV).

An annotation says of one path through a component whether it is confluent or order-sensitive (C, O), and whether it only reads or
also writes the component's state (R, W). Of an order-sensitive path the **gate** says over which partitions of its input it works: a
set of attributes, None if each record is a partition of its own (``OR_*``, ``OW_*``), so that no seal is compatible.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Annotation", "Component", "Dataflow", "Dependency", "Stream"]


@dataclass(frozen=True)
class Annotation:
    """Of the path from an input to an output interface: ``label`` is ``CR``, ``CW``, ``OR`` or ``OW``; ``gate`` only of the latter two.
    ``lineage``: which output attribute is which input attribute, unchanged (None: attributes keep their names)."""

    source: str
    target: str
    label: str
    gate: frozenset[str] | None = None
    lineage: tuple[tuple[str, str], ...] | None = None


@dataclass(frozen=True)
class Component:
    """A component and its paths; ``replicated`` (Rep): there are several instances of it. ``state``: the paths share it."""

    name: str
    paths: tuple[Annotation, ...]
    replicated: bool = False


@dataclass(frozen=True)
class Stream:
    """From an output interface (``component``, ``interface``) to an input; ``source`` None: from outside, ``target`` None: a sink. ``seal``: the attributes
    that it is punctuated on; ``replicated`` (Rep): each consumer instance gets all of it."""

    name: str
    source: tuple[str, str] | None
    target: tuple[str, str] | None
    seal: frozenset[str] | None = None
    replicated: bool = False


@dataclass(frozen=True)
class Dependency:
    """A functional dependency: ``determinant`` determines ``dependent``; ``injective``: and no two values of it the same one."""

    determinant: frozenset[str]
    dependent: str
    injective: bool = False


@dataclass(frozen=True)
class Dataflow:
    """Components, the streams between them, and what is known of their attributes."""

    name: str
    components: tuple[Component, ...]
    streams: tuple[Stream, ...]
    dependencies: tuple[Dependency, ...] = field(default=())
