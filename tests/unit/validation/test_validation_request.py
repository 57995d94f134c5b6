"""What is handed to a validation."""

from __future__ import annotations

from pathlib import Path

from cumulus_ops.epochs.checkpoint import commit
from cumulus_ops.epochs.voting import vote
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.validation.run import validation_request
from m3.datatypes import INT
from m3.program import Column, Relation
from tests.support.projects import append_events, make_project

R = Relation("r", (Column("a", INT),))
PROGRAM = "PROGRAM p SEMANTICS SNAPSHOT; RELATION r(a INT); MAP m[a INT] : INT; ON +r(A) DO { m[A] += 1; }"


def test_a_program_without_views_can_be_validated(tmp_path: Path) -> None:
    project = make_project(tmp_path, (R,), program=PROGRAM, coordinators=1)
    initialise(project)
    with open_runtime(project) as rt:
        from cumulus_ops.epochs.minibatch import apply_batch

        apply_batch(rt, append_events(rt, 0, [("r", 1, (1,))], "d"))
        vote(rt, 0, 0)
        commit(rt, 0)
        request = validation_request(rt, 0, tmp_path)
    assert request.views == ()
    assert request.groups is None
    assert request.voted_epochs == {0: 0}
    assert len(request.log_files["r"]) == 1
