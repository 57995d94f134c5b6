"""A project at a glance: what its views, epochs and coordinators are like now. Reads of the catalog only, as many for a long history as
for a short one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cumulus_ops.catalog import (
    Catalog,
    EpochNumbers,
    FileAside,
    InError,
    LeftOut,
    Membership,
    Newest,
    Quarantined,
    Transition,
    in_error,
    missing_from,
)

__all__ = ["EpochStory", "Overview", "ViewState", "epoch_story", "overview", "view_states"]


@dataclass(frozen=True)
class ViewState:
    """A view: the ``newest`` snapshot that has rows of it, why it is in error in the newest of all, and (epoch, rows) of what was
    published lately, ascending."""

    name: str
    newest: Newest | None
    error: InError | None = None
    rows: Sequence[tuple[int, int]] = ()


@dataclass(frozen=True)
class Overview:
    """A project. ``epochs``: the latest, ascending; ``totals``: the sums of all; ``set_aside``: the batches about which somebody has to
    decide; ``settled``: whether tentative answers are those of all that is applied, if not, ``behind``: how many batches have yet
    to be corrected."""

    epochs: Sequence[EpochNumbers]
    views: Sequence[ViewState]
    totals: EpochNumbers
    transitions: Sequence[Transition]
    membership: Membership
    set_aside: Sequence[LeftOut]
    quarantined: Sequence[Quarantined]
    files_aside: Sequence[FileAside]
    token: int
    settled: bool
    behind: int


def overview(catalog: Catalog, views: Sequence[str], epochs: int = 60, drawn: int = 8) -> Overview:
    """What there is to say now.

    Args:
        catalog: the project's.
        views: its views.
        epochs: how many of the latest to look at.
        drawn: and of how many of them the moments as well.
    """
    newest = catalog.newest_epoch()
    settled = catalog.unsettled() is None
    return Overview(
        catalog.epoch_numbers(newest - epochs + 1),
        view_states(catalog, views, newest - epochs + 1),
        catalog.totals(),
        catalog.transitions(newest - drawn),
        catalog.membership(),
        [batch for batch in catalog.failed() if batch.state == "aside"],
        catalog.quarantined(),
        catalog.files_aside(),
        catalog.token(),
        settled,
        0 if settled else catalog.behind(),
    )


def view_states(catalog: Catalog, views: Sequence[str], first: int) -> list[ViewState]:
    """The views, with what was published of them in the epochs from ``first`` on."""
    snapshot = catalog.newest_snapshot()
    errors = {e.view: e for e in in_error(catalog.view_errors(), -1 if snapshot is None else snapshot)}
    newest, rows = catalog.newest_right(views), catalog.published_rows(first)
    return [ViewState(name, newest.get(name), errors.get(name), rows.get(name, ())) for name in views]


@dataclass(frozen=True)
class EpochStory:
    """All about one epoch. ``numbers`` is None where nothing is known of it. ``without``: the batches that its snapshot does not have."""

    epoch: int
    numbers: EpochNumbers | None
    members: Sequence[int]
    transitions: Sequence[Transition]
    in_error: Sequence[InError]
    without: Sequence[LeftOut]
    findings: Sequence[str]
    seconds: float | None
    expired: Sequence[str]


def epoch_story(catalog: Catalog, epoch: int) -> EpochStory:
    """What is known of one epoch."""
    numbers = next(iter(catalog.epoch_numbers(epoch, epoch)), None)
    validation = catalog.validations().get(epoch)
    return EpochStory(
        epoch,
        numbers,
        catalog.membership().of(epoch),
        catalog.transitions(epoch, epoch),
        in_error(catalog.view_errors(), epoch),
        missing_from(catalog.failed(), epoch),
        validation.failures if validation else (),
        validation.seconds if validation else None,
        catalog.expired().get(epoch, ()),
    )
