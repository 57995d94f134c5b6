"""The small files of the state folder: they say again what the catalog says, for those who do not ask it. Whether they do, and writing them again."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.identity import BEGINS, CLAIM, MARK, claim, claimed_by, has_log, is_intact
from cumulus_ops.coordination.plan import COORDINATION, read_plan, write_plan
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.names import NOTICES
from cumulus_ops.project.rhythm import TIMELINE, read_timeline
from cumulus_ops.project.settings import Project
from cumulus_ops.project.small_files import read_summed, replace_file
from cumulus_ops.publishing.telling import (
    tell_where_coordinators_are,
    write_notices,
)
from cumulus_ops.repair.damage import DAMAGED, MISSING, STATE_FILE, Damage, Outcome

__all__ = ["find_damaged_claim", "find_damaged_state_files", "repair_state_files"]


#: The files that are looked at here, and what they hold.
HOLDS = {
    CLAIM: "whose the state folder is",
    MARK: "what was seen of the catalog",
    BEGINS: "which generation is being begun",
    COORDINATION: "the coordination plan",
    TIMELINE: "where coordinators are",
    NOTICES: "what people are told in Airflow",
}
#: A file may be behind the catalog for as long as a process takes from a transaction to writing it.
LOOKS, LOOK_S = 5, 0.1
#: In `sources/`: what an installation's replication slots are called by.
SLOTS, SLOT_NAME = "*.installation", re.compile("[0-9a-f]{8}")
GONE, OTHER = "it is missing", "it is not what was written"


def find_damaged_claim(project: Project, catalog: Catalog) -> list[Damage]:
    """What keeps a project from being opened: the state folder does not say any more whose it is, though it is the one whose files the catalog names."""
    file = project.state / CLAIM
    if file.exists() and is_intact(file):
        return []
    named = catalog.log.files() if catalog.database.identity() is not None else []
    if not any((project.state / file.path).exists() for file in named):
        return []  # it may as well be another folder: who opens it says so
    return [_damage(CLAIM, file.exists())]


def find_damaged_state_files(rt: Runtime) -> Iterator[Damage]:
    """Those that are not what was written, or do not say what the catalog says."""
    state = rt.project.state
    for name in (MARK, BEGINS):
        if not is_intact(state / name):
            yield _damage(name, there=True)
    looks: dict[str, Callable[[], bool]] = {
        COORDINATION: lambda: read_plan(state) in (rt.coordination, _plan_now(rt)),
        TIMELINE: lambda: not (state / TIMELINE).exists() or bool(read_timeline(state)),  # as well
        NOTICES: lambda: read_summed(state / NOTICES) is not None,  # what it says may be of before
    }
    for name, is_right in looks.items():
        if not _becomes(is_right):
            yield _damage(name, (state / name).exists())
    for file in sorted((state / "sources").glob(SLOTS)):
        source, said = file.name.removesuffix(SLOTS[1:]), _read(file)
        if SLOT_NAME.fullmatch(said) is None or said != (_slots_are_called(rt, source) or said):
            holds = f"what the replication slots of source {source} are called by"
            yield Damage(STATE_FILE, f"sources/{file.name}", holds, DAMAGED, OTHER)


def _slots_are_called(rt: Runtime, source: str) -> str | None:
    """As the catalog says by the slot that it names; None if it names none yet."""
    from cumulus_ops.sources.postgres.slot import installation_of  # few projects have such a source

    return installation_of(source, rt.catalog.deliveries.source_position(source))


def _plan_now(rt: Runtime) -> object:
    """The plan as the catalog has it, whatever was deployed since the project was opened."""
    return rt.in_revision(rt.catalog.program.record()).coordination


def _becomes(is_right: Callable[[], bool]) -> bool:
    for _ in range(LOOKS):
        if is_right():
            return True
        time.sleep(LOOK_S)
    return False


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def _damage(name: str, there: bool) -> Damage:
    return Damage(STATE_FILE, name, HOLDS[name], *((DAMAGED, OTHER) if there else (MISSING, GONE)))


def repair_state_files(rt: Runtime, damages: list[Damage], on_progress: Callable[[str], None]) -> Outcome:
    """Write them again, as the catalog has it."""
    done = []
    for damage in damages:
        done.append((damage, _write(rt, damage)))
        on_progress(f"{damage.file}: {done[-1][1]}")
    return Outcome(tuple(done))


def _write(rt: Runtime, damage: Damage) -> str:
    state = rt.project.state
    match damage.file:
        case "coordination.json":
            write_plan(state, rt.in_revision(rt.catalog.program.record()).coordination)
        case "timeline.json":
            tell_where_coordinators_are(rt)
        case "notices.md":
            write_notices(rt)
        case "seen.json":
            rt.catalog.leases.renew()
        case "begins.json":
            (state / BEGINS).unlink(missing_ok=True)
            return "deleted: the catalog and the claim say the same, so no generation is being begun"
        case _:
            identity = rt.catalog.database.identity()
            assert identity is not None  # or else the project could not have been opened
            source = Path(damage.file).name.removesuffix(SLOTS[1:])
            replace_file(state / damage.file, _slots_are_called(rt, source) or identity.installation[:8], durable=True)
    return "written again, from the catalog"


def write_claim(project: Project, catalog: Catalog) -> None:
    """Let the state folder say again whose it is."""
    identity = catalog.database.identity()
    assert identity is not None
    assert has_log(project.state)
    claim(project.state, identity, instead=True)
    assert claimed_by(project.state) == identity
