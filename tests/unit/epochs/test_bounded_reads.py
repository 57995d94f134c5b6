"""What `cumulus run` reads of the catalog for an epoch does not grow with all that ever was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import pytest

from cumulus_ops.catalog.commits import Commits
from cumulus_ops.catalog.leases import Leases
from cumulus_ops.catalog.log import FEW_NAMES, EventLog
from cumulus_ops.catalog.results import Results
from cumulus_ops.catalog.snapshots import Snapshots
from cumulus_ops.epochs.driver import run_epochs, run_waiting
from cumulus_ops.epochs.status import status
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.publishing.publishing import publish_lost
from cumulus_ops.validation.run import choose_bases
from tests.support.drops import make_shop


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Runtime]:
    project = make_shop(tmp_path, periods=6)
    initialise(project)
    with open_runtime(project, "inprocess") as rt:
        yield rt


@pytest.mark.parametrize("run", [run_waiting, lambda rt, **how: run_epochs(rt, 1, **how)], ids=["all", "by periods"])
def test_no_step_of_an_epoch_reads_all_batches_or_the_names_of_all_drops(
    run: Callable[..., object], shop: Runtime
) -> None:
    batches, drops, asked = EventLog.batches, EventLog.drops, []

    def bounded(self: EventLog, **by: object) -> object:
        assert any(by.get(name) is not None for name in ("state", "epoch", "since")), by
        asked.append("batches")
        return batches(self, **by)  # type: ignore[arg-type]

    def named(self: EventLog, *of: object, among: object = None) -> object:
        assert among is not None
        asked.append("drops")
        return drops(self, *of, among=among)  # type: ignore[arg-type]

    with patch.object(EventLog, "batches", bounded), patch.object(EventLog, "drops", named):
        run(shop, validating=False)
        publish_lost(shop)
    assert shop.catalog.snapshots.newest() == 0
    assert {*asked} == {"batches", "drops"}


def test_nor_all_that_was_published_corrected_and_validated_nor_the_names_of_all_log_files(shop: Runtime) -> None:
    whole = [(Results, "published"), (Results, "validations"), (Commits, "corrections"), (Snapshots, "own")]
    run_epochs(shop, 1, validating=False)
    with ExitStack() as patches:
        for part, name in whole:
            real = getattr(part, name)

            def some(self: object, *of: object, _real: Callable[..., object] = real, _name: str = name) -> object:
                assert of, f"all of {_name}"
                return _real(self, *of)

            patches.enter_context(patch.object(part, name, some))
        looked = patches.enter_context(patch.object(Leases, "garbage", autospec=True, side_effect=Leases.garbage))
        run_waiting(shop, validating=False)
        publish_lost(shop)
        choose_bases(shop, 1)
        status(shop)
    assert shop.catalog.snapshots.newest() == 1
    assert {name.partition("/")[0] for call in looked.call_args_list for name in call.args[1]} == {"runs"}


@pytest.mark.parametrize("names", [0, 2, FEW_NAMES + 1])
def test_names_of_drops_are_found_however_many_are_asked_for(names: int, shop: Runtime) -> None:
    run_waiting(shop, validating=False)
    every = shop.catalog.log.drops(0)
    asked = [*sorted(every)[:1], *(f"x{i}" for i in range(names))][:names]
    assert shop.catalog.log.drops(0, among=asked) & {*asked} == every & {*asked}
