"""A deployment leaves some cores to others while it fills new maps, and gives back what it has taken."""

from __future__ import annotations

import os

import pyarrow as pa
import pytest

from cumulus_ops.deploying import deploy


@pytest.mark.parametrize(("cores", "allowed", "used"), [(None, 2, 1), (None, 1, 1), (None, 8, 4), (3, 8, 3), (9, 2, 2)])
def test_so_many_are_used(cores: int | None, allowed: int, used: int, monkeypatch: pytest.MonkeyPatch) -> None:
    bound = [set(range(allowed))]
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: bound[-1])
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, chosen: bound.append(set(chosen)))
    threads = pa.cpu_count()
    with deploy.some_cores(cores):
        assert len(bound[-1]) == used
        assert bound[-1] <= bound[0]
        assert pa.cpu_count() == min(threads, used)
    assert bound[-1] == bound[0]
    assert pa.cpu_count() == threads
