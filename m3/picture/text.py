"""Text in boxes: how wide it is, and what to leave out of long names."""

from __future__ import annotations

from m3.picture.nodes import Node

__all__ = ["KEYS_CHARACTERS", "NAME_CHARACTERS", "height_of", "label_width", "name_lines", "shortened", "width_of"]

NAME_CHARACTERS, KEYS_CHARACTERS = 28, 34
NAME_WIDTH, KEYS_WIDTH, LABEL_WIDTH = 7.4, 5.7, 5.9
PADDING, LEAST = 30.0, 96.0
HEIGHT, LINE = 38.0, 15.0


def shortened(text: str, limit: int) -> str:
    """At most ``limit`` characters: what is in the middle of a name matters least."""
    if len(text) <= limit:
        return text
    tail = (limit - 1) // 3
    return f"{text[: limit - 1 - tail]}…{text[-tail:]}"


def name_lines(name: str) -> list[str]:
    """A name in one line, or in two that part after an underscore where there is one near the middle."""
    if len(name) <= NAME_CHARACTERS:
        return [name]
    places = [i + 1 for i, c in enumerate(name) if c == "_" and i < NAME_CHARACTERS] or [NAME_CHARACTERS]
    place = min(places, key=lambda i: abs(i - len(name) / 2))
    return [shortened(name[:place], NAME_CHARACTERS), shortened(name[place:], NAME_CHARACTERS)]


def height_of(node: Node) -> float:
    """The height of a node's box."""
    return HEIGHT + LINE * (len(name_lines(node.key[1])) - 1)


def width_of(node: Node) -> float:
    """The width of a node's box."""
    name, keys = max(map(len, name_lines(node.key[1]))), min(len(node.keys), KEYS_CHARACTERS)
    return max(LEAST, PADDING + max(name * NAME_WIDTH, keys * KEYS_WIDTH))


def label_width(text: str) -> float:
    """The width of an edge's label."""
    return LABEL_WIDTH * len(text)
