"""The DAGs' documentation, as the Airflow UI shows it (Markdown)."""

from __future__ import annotations

from dataclasses import dataclass

from cumulus_ops.coordination import barriers
from cumulus_ops.coordination.barriers import (
    ALL,
    KINDS,
    REFRESH,
    SETTLE,
    VALUE_SEAL,
    VALUE_VOTE,
    VOTE,
    in_force,
    left_out,
    waits_for_any,
)
from cumulus_ops.coordination.plan import Barrier, read_plan
from cumulus_ops.orchestration.assets import page
from cumulus_ops.project.names import NOTICES, code, escape
from cumulus_ops.project.rhythm import Rhythm, length_text, read_timeline
from cumulus_ops.project.settings import Project, ValidationSettings
from cumulus_ops.project.small_files import read_summed

__all__ = [
    "ABOUT_VOTE",
    "APPLY",
    "APPROVE",
    "COMPLETE",
    "DEPLOY",
    "FINALISE",
    "PLAN",
    "PUBLISH",
    "VALIDATE",
    "VALIDATE_FINAL",
    "Waits",
    "checkpoint",
    "commit",
    "coordinator",
    "coordinators_of",
    "deploy",
    "final",
    "notices",
    "run_epochs",
    "validate",
    "waits_of",
]


# What a project's DAGs have to wait for: the barriers of its plan, as far as they are in force with the coordinators there are.
#
# Both are read from small files in the state folder, which the project's steps write; nothing is computed. Before they have, all is waited for.


@dataclass(frozen=True)
class Waits:
    """The ``planned`` barriers, who works, and how many coordinators may have something to wait for: those that are gone, too."""

    planned: tuple[Barrier, ...]
    coordinators: tuple[int, ...]
    ever: int

    @property
    def barriers(self) -> tuple[Barrier, ...]:
        """Those that are in force."""
        return in_force(self.planned, self.ever)

    @property
    def left_out(self) -> dict[str, str]:
        """name -> why, of what is not waited for."""
        return left_out(self.planned, self.ever)

    def has(self, *names: str) -> bool:
        """Whether there is a barrier of one of the names."""
        return waits_for_any(self.barriers, *names)

    @property
    def votes(self) -> bool:
        """Whether several have to agree on the end of an epoch."""
        return self.has(VOTE)

    @property
    def commit_task(self) -> str:
        """The task that makes a snapshot, by all that it does.

        >>> Waits(ALL, (0, 1), 2).commit_task, Waits(ALL, (0,), 1).commit_task, Waits((), (0, 1), 2).commit_task
        ('correct_refresh_and_checkpoint', 'refresh_and_checkpoint', 'checkpoint')
        """
        before = [word for name, word in ((SETTLE, "correct"), (REFRESH, "refresh")) if self.has(name)]
        return "_".join([*before, "and", "checkpoint"] if before else ["checkpoint"])

    @property
    def seals(self) -> tuple[tuple[str, str], ...]:
        """The (relation, seal) by which rows of some view become final before their epoch ends."""
        found = (b.about.partition(".") for b in self.barriers if b.name in (VALUE_SEAL, VALUE_VOTE))
        return tuple((relation, seal) for relation, _, seal in found)


def waits_of(project: Project) -> Waits:
    """What the project's steps have written last. Who is gone still counts: its last vote may be awaited."""
    plan, timeline = read_plan(project.state), read_timeline(project.state)
    barriers = ALL if plan is None else plan.barriers
    return Waits(barriers, coordinators_of(project), len(timeline) or project.coordinators)


def coordinators_of(project: Project) -> tuple[int, ...]:
    """Who has an epoch to work in, as the project's steps have written it last; before they have, as many as its file says."""
    timeline = read_timeline(project.state)
    return tuple(sorted(c for c, stay in timeline.items() if not stay.gone)) or tuple(range(project.coordinators))


APPLY = """Takes each drop as it lands: validates, stamps and appends its events to the log, computes the deltas of
all maps, and commits both. Readers of tentative answers see them at once. A killed task is resumed, not repeated. A
batch that keeps failing is set aside, with its reason in the log and on this page, and the rest goes on; `cumulus batch` decides about it. What
processes of other coordinators had appended when they died is applied here as well."""
ABOUT_VOTE = """Ends the epoch for this coordinator: nothing can be stamped into it any more. Only the holder of the token
may vote; the token goes round in the order of the coordinators. A holder that is late loses it to who waits, where versions are by batch after seconds; one that is late
for long is fenced: what it has appended is applied here, and another one votes in its name. The log says so, and `cumulus status`."""
COMPLETE = """Says that an epoch is complete: that every coordinator that takes part in it has voted to end it. Skipped while one has not."""
CORRECT = """Repairs what was computed too early: where a batch had read a map before an earlier event arrived there,
the difference is pushed."""
ABOUT_REFRESH = """Brings derived maps (MIN, DISTINCT, HAVING, ...) up to date with what they are derived from."""
CHECKPOINT = """All versions up to the end of the epoch become one snapshot."""
FINALISE = """Writes the rows of all values that every producer has sealed into the table of final rows of each view that is final by
the seal. Nothing can change them any more; their epoch need not have ended."""
VALIDATE_FINAL = """Recomputes each final partition from the log's rows of its value alone, and compares."""
PUBLISH = """Writes each view as one new version of its Delta table, with the epoch in the commit's metadata. A view in error has
nothing to write: its table keeps the last right rows and says so in its properties, and this page and the log say why."""
VALIDATE = """Runs the views' SQL on Spark over the event log and compares it with the snapshot, value by value,
in both directions. The report has a table of differing groups."""
PLAN = """Compiles the project's folder as it is now, and compares it with what is maintained: which views are added, changed and removed, and why; which maps are
reused, new and dropped; what has to be read; and the rows of changed views before and after. It changes nothing. The log has it, and the next task asks it."""
APPROVE = """Asks a person, on its page *Required Actions*, whether the plan is to be done. Nothing runs meanwhile. Skipped if there is nothing to do; if the answer is no,
nothing is deployed."""
DEPLOY = """Fills what is new from the event log while coordinators apply and epochs commit, then switches at an epoch's end. Killed or tried again it goes on. It does what was
agreed to: if the folder was edited since, or something else was deployed, it fails, and nothing is changed."""

PLAN_RECOVERY = """Looks at every file under the state folder, or at those of the form: whether it is there and is what was written. Says from what each that is not is made again, and for
how long that takes. It changes nothing. The log has it, and the next task asks it."""
RECOVER = """Makes again what is damaged, from what is intact, and proves it; nothing else is written. Epochs go on, and a deployment waits. Killed or tried again it goes on. What cannot be made again
is named, with what that concerns, and the task fails."""


def notices(project: Project) -> str:
    """What is to be known of the running project, as its steps have written it last, nothing at most times; and where to see more."""
    told = read_summed(project.state / NOTICES)
    return f"{told + chr(10) if told else ''}[Views, epochs, lag and reports of {project.name}]({page(project.name, '')})\n\n"


def checkpoint(waits: Waits) -> str:
    """Documentation of the task that makes a snapshot."""
    parts = [(barriers.SETTLE, CORRECT), (barriers.REFRESH, ABOUT_REFRESH)]
    return "\n\n".join([*(text for name, text in parts if waits.has(name)), CHECKPOINT])


#: The barriers that a DAG may have.
OF_COORDINATOR = (barriers.APPLIED,)
OF_COMMIT = (
    barriers.SINGLE_VOTE,
    barriers.VOTE,
    barriers.APPLIED,
    barriers.SETTLE,
    barriers.REFRESH,
    barriers.CHECKPOINT,
)
OF_FINAL = (barriers.VALUE_SEAL, barriers.VALUE_VOTE, barriers.APPLIED, barriers.SETTLE, barriers.REFRESH)


def waited_for(project: Project, waits: Waits, names: tuple[str, ...]) -> str:
    """What a DAG waits for and why, and what it need not wait for: of the barriers called so."""
    lines = [
        f"| **{b.name}** {'' if b.about == barriers.PROGRAM else code(b.about)} | {KINDS[b.name].step} | {KINDS[b.name].waits_for} | {escape(b.reason)} |"
        for b in waits.barriers
        if b.name in names
    ]
    table = ["| barrier | before | until | seen without it |", "|---|---|---|---|", *lines]
    needless = [f"- no **{name}**: {escape(why)}" for name, why in waits.left_out.items() if name in names]
    return "\n".join(
        [
            "### What is waited for",
            *table,
            *(["", "Left out, because nobody would see a difference:", *needless] if needless else []),
            "",
            f"[The coordination report]({page(project.name, 'coordination')}) says how that follows from the program.",
            "",
        ]
    )


def final(project: Project, waits: Waits) -> str:
    """Documentation of the DAG that makes partitions final."""
    values = "\n".join(f"last seal of a value of {relation}, seal {seal} ──┐" for relation, seal in waits.seals)
    return f"""{notices(project)}### What is final before its epoch ends, in {project.name}
Runs when every producer of a value has sealed it. Who they are, the catalog knows; the tasks that append and seal say so, by an asset event whose
partition key is the value.
```
{values}
                                              └─► finalise ─► validate
```
One run does all that is ready; a run that finds nothing left does no harm. Coordinators finalise meanwhile, too.

{waited_for(project, waits, OF_FINAL)}"""


def coordinator(project: Project, index: int, waits: Waits) -> str:
    """Documentation of one coordinator's DAG."""
    picture = f"""landing/{index}/<drop>/ ──► apply ──► apply ──► … ──► vote ──► asset event "{index} has voted to end epoch e"
                       mini-batches, as they land      """
    picture += (
        """│  └──► complete ──► asset event "epoch e complete", by the last to vote
                                                       └ waits for the token (0 → 1 → … → 0)"""
        if waits.votes
        else """└──► asset event "epoch e complete": there is nobody else to wait for"""
    )
    return f"""{notices(project)}### Coordinator {index} of {project.name}
Takes part of the event stream, and works for one epoch per run: from the beginning of its data interval to its end.

{staggering(project, index)}
```
{picture}
```
An epoch may end early (`cumulus epoch end`, or `epochs: events` in cumulus.yaml); the next run follows then.
It never waits for another coordinator before applying an event{": that is what corrections are for" if waits.has(barriers.SETTLE) else ""}.

{waited_for(project, waits, OF_COORDINATOR)}"""


def staggering(project: Project, index: int) -> str:
    """A picture of the coordinators' epochs against time, with one row marked."""
    n = project.coordinators
    width = 4 * n
    rhythm, rows = Rhythm.of(project), []
    for i in range(n):
        bar = "".join(f"|{f' epoch {e}':<{width - 1}}" for e in range(2))
        rows.append(f"{'►' if i == index else ' '} coordinator {i}  {' ' * (4 * i * rhythm.staggered)}{bar}|")
    moves = (
        f"one coordinator moves every {length_text(rhythm.period)}" if rhythm.staggered else "all move at the same time"
    )
    return "```\n" + "\n".join(rows) + f"\n```\nEpoch: {length_text(rhythm.length)}; {moves}.\n"


def commit(project: Project, waits: Waits) -> str:
    """Documentation of the commit DAG."""
    steps = waits.commit_task.replace("_and_", "_").replace("_", " ─► ")
    wakes = "votes on epoch e by all of its members ──► complete" if waits.votes else "vote on epoch e"
    return f"""{notices(project)}### Snapshots of {project.name}
Runs when **every** member of an epoch has voted to end it: coordinators can be added and drained, and the catalog knows who takes part in which.
```
{wakes} ──► asset event "epoch e complete"
{" " * len(wakes)}     └─► {steps} ─► publish ─► asset event "snapshot"
```
Asset events only wake this DAG up. It commits whatever the catalog says is complete and not yet committed, in order; so a
lost, doubled or early event does no harm.

{waited_for(project, waits, OF_COMMIT)}"""


def validate(project: Project) -> str:
    """Documentation of the validation DAG."""
    return f"""{notices(project)}### Is it right?
Every snapshot of {project.name} must equal its SQL, run from scratch over the event log up to that epoch.
```
event log ─► Spark SQL ─► expected ┐
                                   ├─► Great Expectations ─► report ({project.reports})
maps ─────► snapshot ──► maintained┘
```
{_policy(project.validation)}
"""


def _policy(settings: ValidationSettings) -> str:
    """What is proved when, and what a difference does."""
    if settings.policy == "off":
        return "Policy **off**: nothing is proved, except by `cumulus validate EPOCH`."
    when = "Every epoch" if settings.every == 1 else f"Every {settings.every} epochs"
    what = "all views" if settings.views is None else f"{settings.views} views in turn"
    effect = "fails" if settings.policy == "fail" else "does not fail"
    unproved = "fails" if settings.unproved == "fail" else "does not fail"
    return (
        f"{when}, {what}. Policy **{settings.policy}**: a difference {effect} the task, and a view that cannot be compared "
        f"(*unproved*) {unproved} it."
    )


def run_epochs(project: Project, waits: Waits) -> str:
    """Documentation of the DAG that people trigger."""
    return f"""{notices(project)}### Run epochs now
Choose how many epochs to run and where. What has landed is spread evenly over them; then, for each epoch:
```
apply 0 ─ vote 0 ┐
apply 1 ─ vote 1 ├─► {waits.commit_task} ─► publish ─► validate
…                ┘
```
The coordinators work side by side. Pause the coordinators' own DAGs if the epochs should be yours alone; running both is
safe, since every step asks the catalog what is left to do.
"""


def deploy(project: Project) -> str:
    """Documentation of the DAG that deploys the project's folder."""
    return f"""{notices(project)}### Change what {project.name} maintains
What is maintained was deployed; edits of the project's folder change nothing until they are. Trigger this DAG to deploy the folder as it is now.
```
folder ─► plan ─► approve, by a person ─► deploy: fill ─► switch ─► current from the next epoch on
            └ nothing to do: the rest is skipped
```
Epochs go on all the time. **Roll back** in the form deploys the revision before the current one. **Make all maps anew** plans them as if nothing had been there. **Give up what is under way** ends a deployment that has not
switched yet; the run that does it stops. `cumulus plan` and `cumulus deploy` do the same.
"""


def recover(project: Project) -> str:
    """Documentation of the DAG that makes damaged files again."""
    return f"""{notices(project)}### Make damaged files of {project.name} again
Trigger this DAG when a file under the state folder is damaged or missing: tasks that need it say so, and so does the project's page.
```
files ─► plan ─► approve, by a person ─► recover
           └ nothing is damaged, or *Only plan*: the rest is skipped
```
Epochs go on all the time. `cumulus fsck`, `cumulus recover --dry-run` and `cumulus recover` do the same.
"""
