"""The feeder lands each period's drops when its time has come, not before."""

import datetime

from cumulus_ops.demo.runner import Feeder
from cumulus_ops.project.rhythm import Rhythm


def stage(folder, periods):
    """A stream of two coordinators."""
    for coordinator in (0, 1):
        for period in range(periods):
            drop = folder / str(coordinator) / f"p{period:04d}"
            drop.mkdir(parents=True)
            (drop / "orders.parquet").write_text("x")


def landed(folder):
    return sorted(f"{p.parent.name}/{p.name}" for p in folder.glob("*/p*"))


def test_past_periods_land_at_once_and_future_ones_do_not(tmp_path):
    stage(tmp_path / "staging", 3)
    start = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)
    rhythm = Rhythm(start, datetime.timedelta(hours=1.6), coordinators=2)  # periods begin 60, 12 minutes ago, in 36
    feeder = Feeder(tmp_path / "staging", tmp_path / "landing", rhythm, 3)
    feeder._stopped.wait = lambda seconds: seconds > 0  # the first real wait ends the thread
    feeder.start()
    feeder.join()
    assert feeder.error is None
    assert landed(tmp_path / "landing") == ["0/p0000", "0/p0001", "1/p0000", "1/p0001"]


def test_stop_ends_a_waiting_feeder(tmp_path):
    stage(tmp_path / "staging", 1)
    start = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)
    feeder = Feeder(tmp_path / "staging", tmp_path / "landing", Rhythm(start, datetime.timedelta(hours=1), 2), 1)
    feeder.start()
    feeder.stop()
    assert not feeder.is_alive()
    assert landed(tmp_path / "landing") == []
