"""What tasks do about a folder that has changed: say what deploying it would do, and do just that once a person has agreed. No Airflow in here."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Literal, TypedDict

from cumulus_ops.light import lazy_module
from cumulus_ops.opening.resuming import resumes
from cumulus_ops.opening.runtime import Runtime, source_of
from cumulus_ops.orchestration.running import running
from cumulus_ops.project.errors import InputProblem

if TYPE_CHECKING:
    from cumulus_ops.cli import deploying as words
    from cumulus_ops.deploying import changes, deploy, preview
else:  # few tasks deploy anything
    words = lazy_module("cumulus_ops.cli.deploying")
    changes, deploy, preview = (
        lazy_module(f"cumulus_ops.deploying.{name}") for name in ("changes", "deploy", "preview")
    )

__all__ = ["Agreed", "deploy_agreed", "plan_deployment"]

log = logging.getLogger(__name__)
AGAIN = "trigger the DAG again: it plans anew, and asks"


class Agreed(TypedDict):
    """What a person is asked, as it travels between tasks. ``to_do`` is what is done if they agree, nothing if it is ""; ``markdown`` says it in full.

    A person agrees to that, and to nothing else: ``revision`` was current, ``newest`` was the last one that there was of any, ``source`` identifies the files. A rollback
    goes ``back_to`` a revision; ``under_way`` is the one that is to be given up."""

    to_do: Literal["deploy", "give up", ""]
    markdown: str
    revision: int
    newest: int
    source: str
    back_to: int | None
    under_way: int | None
    replan: bool


@resumes
def plan_deployment(
    folder: str, *, rollback: bool = False, give_up: bool = False, rows: bool = True, replan: bool = False
) -> Agreed:
    """What deploying the folder as it is now would do. Nothing is changed.

    Args:
        folder: the project.
        rollback: the revision before the current one, instead of the folder.
        give_up: giving up what is being deployed, instead.
        rows: whether the rows of changed views are computed, before and after.
        replan: all maps are made anew, as today's rules and ``rows:`` have them.

    Raises:
        InputProblem: it cannot be deployed.
        M3Error: a view is wrong.
    """
    with running(folder, "inprocess", None) as (_, runtime):
        begun = runtime.catalog.revisions.deployment()
        back_to = deploy.previous_revision(runtime) if rollback and not give_up else None
        rt = runtime if back_to is None else deploy.going_back(runtime, back_to)
        agreed = Agreed(
            to_do="",
            markdown="nothing is being deployed",
            revision=runtime.revision,
            newest=max(r.number for r in runtime.catalog.revisions.all()),
            source=source_of(rt.as_edited),
            back_to=back_to,
            under_way=None if begun is None else begun.number,
            replan=replan,
        )
        if give_up:
            if begun is not None:
                base = "nothing is filled yet" if begun.base is None else f"it is filled up to epoch {begun.base}"
                text = f"### Give up revision {begun.number}, which is being deployed?\n\nSo far {base}. Nothing that is maintained is concerned."
                agreed["to_do"], agreed["markdown"] = "give up", text
        else:
            change = changes.find_change(rt, replan=replan)
            found = preview.describe_change(rt, change, rows=rows)
            agreed["markdown"] = "\n".join(words.preview_lines(found, markdown=True))
            if not found.is_nothing:
                agreed["to_do"] = "deploy"
            if begun is not None and not found.is_nothing and begun.digest != change.record.digest:
                raise InputProblem(
                    f"revision {begun.number}, which is another one, is being deployed",
                    kind="deployment-under-way",
                    hint="wait, or trigger the DAG with `give up`; nothing that is maintained is concerned",
                )
    for line in filter(None, agreed["markdown"].splitlines()):
        log.info("%s", line)
    return agreed


@resumes
def deploy_agreed(folder: str, agreed: Agreed) -> dict[str, int]:
    """Do what a person has agreed to. Killed at any point it can be called again, and goes on.

    Returns:
        the ``revision`` that is current then; and if it was made so just now, ``since`` which epoch, and how many ``events`` were read for it.

    Raises:
        InputProblem: it is not what was agreed to any more; or it cannot be deployed.
    """
    with running(folder, None, None) as (_, runtime):
        if agreed["to_do"] == "give up":
            return _give_up(runtime, agreed)
        rt = runtime if agreed["back_to"] is None else deploy.going_back(runtime, agreed["back_to"])
        done = None
        if not _is_done(rt, agreed):
            done = deploy.deploy(
                runtime, lambda line: log.info("%s", line), replan=agreed["replan"], back_to=agreed["back_to"]
            )
    if done is None:  # somebody was killed behind the switch, or did the same by hand
        log.info("nothing is left to deploy: revision %d is current", runtime.revision)
        return {"revision": runtime.revision}
    log.info("deployed in %.1f s, of which batches waited %.1f s for the switch", done.seconds, done.switch_s)
    return {"revision": done.revision, "since": done.since, "events": done.filled}


def _give_up(runtime: Runtime, agreed: Agreed) -> dict[str, int]:
    begun = runtime.catalog.revisions.deployment()
    if begun is None or begun.number != agreed["under_way"]:
        log.info("revision %s is not being deployed any more", agreed["under_way"])
    else:
        deploy.abort(runtime)
        log.info("revision %d is given up", begun.number)
    return {"revision": runtime.revision}


def _is_done(rt: Runtime, agreed: Agreed) -> bool:
    """Whether what was asked is deployed already. Else what would be deployed is what was asked, and nobody has decided otherwise since.

    Raises:
        InputProblem: it is not.
    """
    later = [r for r in rt.catalog.revisions.all() if r.number > agreed["newest"] or r.number == agreed["under_way"]]
    given_up = [r.number for r in later if (r.problem or "").startswith(deploy.BY_REQUEST)]
    if given_up:
        said = f"revision {given_up[-1]} was given up"
    elif rt.revision != agreed["revision"]:
        is_replanned = any(r.changes.is_replanned for r in later if r.since is not None)
        if changes.find_change(rt).is_nothing and (is_replanned or not agreed["replan"]):
            return True
        said = f"revision {rt.revision} was deployed"
    elif source_of(rt.as_edited) != agreed["source"]:
        said = "the project's folder was edited"
    else:
        return False
    raise InputProblem(
        f"{said} since this was asked, so it is not what somebody has agreed to", kind="plan-over", hint=AGAIN
    )
