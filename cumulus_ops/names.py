"""Names that several parts must agree on: DAGs and assets of a project, and a file."""

from __future__ import annotations

__all__ = [
    "NOTICES",
    "commit_dag",
    "coordinator_dag",
    "epoch_asset",
    "final_dag",
    "run_epochs_dag",
    "seal_asset",
    "snapshot_asset",
    "validate_dag",
    "value_asset",
]

#: In the state folder: what the DAGs' pages say of the running project, in Markdown.
NOTICES = "notices.md"


def coordinator_dag(project: str, coordinator: int) -> str:
    """The DAG that works for one coordinator."""
    return f"{project}_coordinator_{coordinator}"


def commit_dag(project: str) -> str:
    """The DAG that turns sealed epochs into snapshots."""
    return f"{project}_commit"


def final_dag(project: str) -> str:
    """The DAG that makes partitions final when their values are sealed; of projects in which some view is final by a seal."""
    return f"{project}_final"


def validate_dag(project: str) -> str:
    """The DAG that proves snapshots right."""
    return f"{project}_validate"


def run_epochs_dag(project: str) -> str:
    """The DAG that runs chosen epochs from beginning to end."""
    return f"{project}_run_epochs"


def seal_asset(project: str, coordinator: int) -> str:
    """The asset updated when ``coordinator`` seals an epoch; the epoch is the partition key."""
    return f"{project}_seal_{coordinator}"


def epoch_asset(project: str) -> str:
    """The asset updated when all members have sealed an epoch."""
    return f"{project}_epoch"


def snapshot_asset(project: str) -> str:
    """The asset updated when snapshots are committed and published."""
    return f"{project}_snapshot"


def value_asset(project: str, relation: str, seal: str) -> str:
    """The asset updated when all producers have sealed a value; its text is the partition key."""
    return f"{project}_{relation}_{seal}_closed"
