"""What a child of a test does; by itself, so that it has little to import."""

from __future__ import annotations

from collections.abc import Iterator

from cumulus_ops.project.errors import NotYet


def speak(words: list[bytes], end: str) -> Iterator[bytes]:
    """Yields the words, and ends in one of several ways."""
    print("this is no message")
    yield from words
    if end == "all":
        bytearray(1 << 40)
    elif end == "ours":
        raise NotYet("wait", kind="wait", place="here", hint="a bit")
    elif end:
        raise ZeroDivisionError("oh")
