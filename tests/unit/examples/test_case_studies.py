"""The case studies: their grey-box files have the labels that they say, and stores differ exactly where the labels say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from cumulus_ops.coordination.analysis import analyse
from cumulus_ops.coordination.annotation_file import read_dataflow
from examples.replay import STUDIES, Outcome, compare, make_input, play, play_by_arrival

EXAMPLES = Path(__file__).parents[3] / "examples"
GREY_BOX = sorted(EXAMPLES.glob("*/greybox/*.yaml"))


@pytest.mark.parametrize("file", GREY_BOX, ids=lambda f: f.stem)
def test_a_grey_box_has_the_label_that_it_says(file: Path) -> None:
    title = file.read_text().splitlines()[0]
    assert title.endswith(f": {analyse(read_dataflow(file)).label}")


def test_all_queries_are_there_sealed_and_not() -> None:
    queries = set(STUDIES["ads"].asked)
    assert {f.stem for f in GREY_BOX} >= {*queries, *(f"{q}_sealed" for q in queries), "wordcount", "wordcount_sealed"}


@pytest.fixture(scope="module", params=list(STUDIES))
def outcomes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], Outcome]:
    """By view and policy: two runs of two replicas."""
    folder = tmp_path_factory.mktemp(request.param)
    given = make_input(STUDIES[request.param], folder / "drops")
    free = [play(given, folder / f"free-{seed}", seed) for seed in range(2)]
    arriving = [play_by_arrival(given, folder / f"arriving-{seed}", seed) for seed in range(2)]
    return {(o.view, o.policy): o for o in (*compare(free), *compare(arriving))}
