"""Whether a drop that was taken is still what it was: a copy that went on, a name that was used again, a restored backup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cumulus_ops.catalog import KnownDelivery, NewFileAside, Taken, TakenFile
from cumulus_ops.sources.drops import DropFolder, Entry, hash_file, is_hollow, printable, subject_of

__all__ = ["find_changed"]

HINT = "deliver it under a name of its own, or count its events now by `cumulus quarantine retry`"


def find_changed(
    coordinator: int, drop: DropFolder, known: KnownDelivery, names: Mapping[str, Sequence[str]], memory: int
) -> tuple[list[NewFileAside], Taken | None]:
    """The files of a drop that are not what was taken; contents are compared only where sizes are equal and times are not.

    Args:
        coordinator: whose drop it is.
        drop: its folder as it is now.
        known: what was taken.
        names: the relations' names, and those of their seals: what files of others hold is of no interest.
        memory: see :func:`~cumulus_ops.sources.drops.is_hollow`.

    Returns:
        the files, and, if there are none, and it looks differently with the same contents, how it looks now.
    """
    asides, same = [], dict[str, TakenFile]()
    for entry in drop.visible:
        taken = known.files.get(entry.name)
        found = _again(drop, entry, taken, is_folder_same=drop.identity == known.identity)
        if found is None:
            is_read = subject_of(entry.name, names) and not is_hollow(drop.path / entry.name, entry, memory)
            asides.append(_changed(coordinator, drop, entry, taken, _digest(drop, entry) if is_read else ""))
        else:
            same[entry.name] = found
    if asides or (drop.identity == known.identity and _all_equal(same, known.files)):
        return asides, None
    return [], Taken(coordinator, known.name, drop.identity, same)


def _again(drop: DropFolder, entry: Entry, taken: TakenFile | None, *, is_folder_same: bool) -> TakenFile | None:
    """How a file looks now that was taken, if it has the same contents. In another folder a time says nothing: copies keep it."""
    if taken is None or not entry.is_file or entry.bytes != taken.bytes:
        return None
    if is_folder_same and entry.modified == taken.changed:
        return taken
    return replace_time(taken, entry.modified) if _digest(drop, entry) == taken.digest else None


def _digest(drop: DropFolder, entry: Entry) -> str:
    """The hash of a file's contents; "" if it cannot be read, or is none."""
    try:
        return hash_file(drop.path / entry.name, entry.bytes) if entry.is_file else ""
    except OSError:
        return ""


def replace_time(taken: TakenFile, changed: int) -> TakenFile:
    """The same contents, written at another time."""
    return taken._replace(changed=changed)


def _all_equal(found: Mapping[str, TakenFile], known: Mapping[str, TakenFile]) -> bool:
    return all(known[name] == file for name, file in found.items())


def _changed(coordinator: int, drop: DropFolder, entry: Entry, taken: TakenFile | None, digest: str) -> NewFileAside:
    """What is said of a file; the hash, or else the size, tells its contents from others that may come under the name."""
    place = printable(drop.path / entry.name)
    if taken is None:
        kind, reason = "late-file", "appeared in its drop when that was appended already"
    else:
        kind = "changed-file"
        reason = f"its drop was appended already, and then this file had other contents, of {taken.bytes:,} bytes"
    told = f"sha256 {digest[:16]}.." if digest else f"{entry.bytes:,} bytes" if entry.is_file else entry.what
    reason = f"{reason} ({told})"
    return NewFileAside(coordinator, drop.path.name, None, place, kind, reason, HINT, entry.bytes)
