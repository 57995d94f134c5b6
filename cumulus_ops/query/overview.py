"""A project at a glance: what its views, epochs and coordinators are like now. Reads of the catalog only, as many for a long history as
for a short one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cumulus_ops.catalog import (
    Catalog,
    EpochNumbers,
    FileAside,
    InError,
    LeftOut,
    Membership,
    Newest,
    Quarantined,
    StepProblem,
    Transition,
    in_error,
    missing_from,
)
from cumulus_ops.query.lag import failing_steps

__all__ = ["EpochStory", "Overview", "ViewState", "epoch_story", "overview", "view_states"]


@dataclass(frozen=True)
class ViewState:
    """A view: the ``newest`` snapshot that has rows of it, why it is in error in the newest of all, and (epoch, rows) of what was
    published lately, ascending."""

    name: str
    newest: Newest | None
    error: InError | None = None
    rows: Sequence[tuple[int, int]] = ()

    @property
    def published(self) -> int | None:
        """The newest epoch of which it was published lately."""
        return self.rows[-1][0] if self.rows else None


@dataclass(frozen=True)
class Overview:
    """A project. ``epochs``: the latest, ascending; ``totals``: the sums of all; ``set_aside``: the batches about which somebody has to
    decide; ``settled``: whether tentative answers are those of all that is in the log, but for what is set aside; if not, ``unapplied``: how many batches
    are in none of them, and ``behind``: how many have yet to be corrected. ``failing``: the steps that failed when they were tried last; ``corrected``: which groups of maps were corrected in the
    epochs, None where that is not known."""

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
    unapplied: int
    failing: Sequence[StepProblem] = ()
    corrected: Mapping[int, frozenset[str] | None] = field(default_factory=dict)


def overview(catalog: Catalog, views: Sequence[str], epochs: int = 60, drawn: int = 8) -> Overview:
    """What there is to say now.

    Args:
        catalog: the project's.
        views: its views.
        epochs: how many of the latest to look at.
        drawn: and of how many of them the moments as well.
    """
    newest = catalog.newest_epoch()
    is_corrected = catalog.unsettled() is None
    unapplied = sum(batches for batches, _ in catalog.waiting_rows().values())
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
        is_corrected and not unapplied,
        0 if is_corrected else catalog.behind(),
        unapplied,
        failing_steps(catalog),
        catalog.corrected_maps(newest - epochs + 1),
    )


def view_states(catalog: Catalog, views: Sequence[str], first: int) -> list[ViewState]:
    """The views, with what was published of them in the epochs from ``first`` on."""
    snapshot = catalog.newest_snapshot()
    errors = {e.view: e for e in in_error(catalog.view_errors(), -1 if snapshot is None else snapshot)}
    newest, rows = catalog.newest_right(views), catalog.published_rows(first)
    return [ViewState(name, newest.get(name), errors.get(name), rows.get(name, ())) for name in views]


@dataclass(frozen=True)
class EpochStory:
    """All about one epoch. ``numbers`` is None where nothing is known of it. ``without``: the batches that its snapshot does not have;
    ``proved``: how many views the validation found to be what."""

    epoch: int
    numbers: EpochNumbers | None
    members: Sequence[int]
    transitions: Sequence[Transition]
    in_error: Sequence[InError]
    without: Sequence[LeftOut]
    findings: Sequence[str]
    seconds: float | None
    expired: Sequence[str]
    proved: str = ""


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
        validation.findings if validation else (),
        validation.seconds if validation else None,
        catalog.expired().get(epoch, ()),
        validation.summary if validation else "",
    )
