"""The catalog's tables: the only mutable state of the system, and its only commit point.

Files are written first, under fresh names; one transaction here makes them visible. A file that no row names does not
exist. Every committing transaction begins by taking the next number from the ``program`` row, which locks it: commits
are totally ordered, and whoever sees commit n sees all before it. All about locks: :mod:`cumulus_ops.catalog.database`.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

__all__ = [
    "backup",
    "batch",
    "boundary",
    "commit",
    "consumption",
    "coordinator",
    "correction",
    "delivery",
    "file_aside",
    "final_partition",
    "installation",
    "key_index",
    "key_run",
    "lease",
    "log_file",
    "member",
    "metadata",
    "net_table",
    "program",
    "published",
    "published_table",
    "quarantine",
    "reading_clock",
    "revision",
    "run",
    "seal_producer",
    "seal_value",
    "snapshot",
    "source_epoch",
    "source_position",
    "source_problem",
    "step_problem",
    "validation",
    "vote",
]

metadata = MetaData()
BigKey = BigInteger().with_variant(Integer, "sqlite")  # SQLite only numbers rows by itself for INTEGER keys

program = Table(
    "program",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(200), nullable=False),
    Column("granularity", String(10), nullable=False),  # the version scheme's name, see coordination
    Column("revision", Integer, nullable=False),  # the current one
    Column("last_commit", BigInteger, nullable=False),
    Column(
        "merge_horizon", BigInteger, nullable=False
    ),  # runs with origin <= this may have been merged with each other
    Column("token", Integer, nullable=False),  # the coordinator that may move to its next epoch
    Column("coordinators", Integer, nullable=False),  # with which it was registered; who they are now, `member` says
    Column("refreshed", BigInteger),  # the maps that depend on derivations incorporate commits <= this; NULL: none do
    Column("format", Integer, nullable=False),  # of the runs, see mapstore
    Column("forgotten", BigInteger, nullable=False),  # rows of runs replaced by commits <= this may be gone
    Column("oldest_readable", Integer, nullable=False),  # versions of earlier epochs may be merged into this one's
    Column("token_number", BigInteger, nullable=False),  # grows with each hand-over: fences off who had it before
    Column("declared", String(64)),  # digest of what appends have to keep to (seals, insert_only); NULL: not known
    Column("generation", BigInteger, nullable=False, server_default="1"),  # the installation's: whoever locks sees it
)

#: What is maintained, and was (docs/adr/0062).
revision = Table(
    "revision",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),  # from 1 on
    Column("digest", String(64), nullable=False),  # of the text
    Column("text", Text, nullable=False),  # M3, for people
    Column("compiled", Text, nullable=False),  # the same program as JSON, see m3.formatting
    Column("choices", Text, nullable=False),  # JSON: how its maps are kept, see layout.choices
    Column("definition", Text, nullable=False),  # JSON: the rest of the project's definition, see project.definition
    Column("coordination", Text),  # its coordination plan as JSON; NULL: it was registered before there was one
    Column("source", String(64)),  # digest of the files that it was compiled from; NULL: not known
    Column("other", String(64)),  # digest of files that define something else, which waits to be deployed; NULL: none
    Column("since", Integer),  # the first epoch that is its own; NULL: it is not deployed
    Column("made_at", DateTime(timezone=True), nullable=False),
    # while it is being deployed:
    Column("base", Integer),  # the epoch up to which its new groups have all there is; NULL: they have nothing yet
    Column("pinned", Integer),  # the epoch whose snapshot has to stay readable
    Column("lease", BigInteger),  # of the step that switches to it, see lease
    Column("step", BigInteger),
    Column("worker", BigInteger),  # the lease of the process that is at it, while that is at it; see lease
    Column("problem", Text),  # why it was given up; NULL: it was not
    Column("changes", Text),  # JSON: what it changes, see revisions.Changes; NULL: it is the first one
)

#: Whose this catalog is (:mod:`cumulus_ops.catalog.identity`); one row.
installation = Table(
    "installation",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("name", String(32), nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("home", Text),  # JSON: where its state folder and catalog are; NULL: it has claimed none yet
)

coordinator = Table(
    "coordinator",
    metadata,
    Column("index", Integer, primary_key=True),  # also its priority: 0 is the highest
    Column("epoch", Integer, nullable=False),  # the open epoch
    Column("next_sequence", BigInteger, nullable=False),  # in the open epoch
    Column(
        "sealed_values", BigInteger, nullable=False, server_default="0"
    ),  # by it, or in its name: grows with each, and when it leaves
)

member = Table(
    "member",
    metadata,
    Column("coordinator", Integer, primary_key=True, autoincrement=False),
    Column("first_epoch", Integer, primary_key=True, autoincrement=False),  # inclusive
    Column("last_epoch", Integer),  # inclusive; NULL: there is no last one
    Column("awaited_since", Float),  # since when others wait for its vote, by the database's clock; NULL: they do not
)

boundary = Table(
    "boundary",
    metadata,
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("coordinator", Integer, primary_key=True, autoincrement=False),
    Column("ends_at", Float, nullable=False),  # exclusive; whole microseconds, as seconds since 1970
    Column("reason", String(10), nullable=False),  # 'clock'; or early: 'voted', 'request', 'events', 'fence'
)

vote = Table(
    "vote",
    metadata,
    Column("coordinator", Integer, primary_key=True),
    Column("epoch", Integer, primary_key=True),
    Column("voted_at", DateTime(timezone=True), nullable=False),
    Column("fenced_by", Integer),  # who has voted in its name; NULL with a reason: a person has
    Column("reason", Text),  # why others did; NULL: it has voted by itself
)

lease = Table(
    "lease",
    metadata,
    Column("id", BigKey, primary_key=True, autoincrement=True),  # never given out twice
    Column("holder", String(200), nullable=False),  # machine and process, for people; and where its number counts
    Column("expires", Float, nullable=False),  # seconds since 1970, by the database's clock
    Column("floor", BigInteger, nullable=False),  # it may read what is visible at this commit, or a later one
    Column("first_step", BigInteger, nullable=False),  # its steps before this one are over
    sqlite_autoincrement=True,
)

batch = Table(
    "batch",
    metadata,
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("coordinator", Integer, nullable=False),
    Column("drop", String(200), nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("first_sequence", BigInteger, nullable=False),  # inclusive
    Column("next_sequence", BigInteger, nullable=False),  # exclusive
    Column("inserts", BigInteger, nullable=False),
    Column("deletes", BigInteger, nullable=False),
    Column("quarantined", BigInteger, nullable=False),
    Column("duplicates", BigInteger, nullable=False),
    Column("ticket", BigInteger),
    Column("read_at", BigInteger),  # the commit its apply reads at, while it is under way
    Column("state", String(10), nullable=False),  # 'appended', 'applied', 'retired'; 'aside', 'retried', 'dropped'
    Column("commit", BigInteger),
    Column("seconds", Float, nullable=False),
    Column("part", Integer, nullable=False),  # a large drop is several batches, appended together: 0, 1, ...
    Column("lease", BigInteger),  # of whoever has appended it, then of the apply under way; NULL: not known
    Column("step", BigInteger),  # of the apply under way; once it or its lease is over, nobody is reading
    Column("failures", Integer, nullable=False),  # attempts to apply it that failed for a defect
    Column("unended", Integer, nullable=False),  # attempts, the latest in a row, of which nobody has seen the end
    Column("reason", Text),  # of the latest failure, its traceback below
    Column("retry_of", BigInteger),  # the batch whose events it has, stamped anew
    Column("retracted_by", BigInteger),  # the commit with the negative of what the batch's own commit made visible
    Column(
        "clock", BigInteger, index=True
    ),  # its reading clock, that others may share; while it is applied, and not retired
    Column("space", String(200), nullable=False),  # whose names `drop` is among: "" those of drops, see Delivery.space
    Column(
        "deaths", Integer, nullable=False
    ),  # how often its events were set aside, because a process that did nothing else died
    Column("retry_at", Float),  # when it is tried again by itself, seconds since 1970; NULL: when somebody says so
    Column(
        "tick", BigInteger
    ),  # what now() is from it on, microseconds since 1970: no drop's, and without rows; NULL: no tick
    UniqueConstraint("coordinator", "space", "drop", "part"),
    # what is looked at again and again is some of all batches that there ever were
    Index("ix_batch_state", "state", "coordinator"),
    Index("ix_batch_epoch", "epoch"),
    Index("ix_batch_retry_of", "retry_of"),
)

log_file = Table(
    "log_file",
    metadata,
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("batch", BigInteger, nullable=False, index=True),
    Column("relation", String(200), nullable=False),
    Column("path", Text, nullable=False),  # relative to the state folder
    Column("rows", BigInteger, nullable=False),
    Column("source", String(400), nullable=False),
    Column("min_offset", BigInteger, nullable=False),  # inclusive
    Column("max_offset", BigInteger, nullable=False),  # inclusive
    Column("checksums", Text),  # CRC-32 of each 64 KiB, in hexadecimal digits; NULL of files of old
    Column("first_version", BigInteger, nullable=False, server_default="0"),  # added to the stamps in the file
)

#: The rows of relations as of committed epochs (docs/adr/0065).
net_table = Table(
    "net_table",
    metadata,
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("relation", String(200), nullable=False),
    Column("epoch", Integer, nullable=False),  # as of its end
    Column("base", Integer),  # the epoch of the one that it was made from; NULL: it was made from the whole log
    Column("columns", Text, nullable=False),  # JSON list of their names in the log
    Column("path", Text, nullable=False),  # relative to the state folder
    Column("rows", BigInteger, nullable=False),
    Column("checksums", Text, nullable=False),  # as those of log files
    Column("proved", Boolean, nullable=False),  # a validation has found it right
    Column("total", BigInteger),  # linear hash of its rows, see maps.hashes; NULL of those of old
    Column("retired_by", BigInteger, index=True),  # the first commit after it was replaced, NULL while it counts
)

quarantine = Table(
    "quarantine",
    metadata,
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("batch", BigInteger, nullable=False, index=True),
    Column("relation", String(200), nullable=False),
    Column("path", Text, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("state", String(10), nullable=False),  # 'kept', 'retried', 'dropped'
    Column("reasons", Text, nullable=False),  # JSON: kind of reason -> rows
    Column("source", String(400), nullable=False),  # of the rows' events
    Column("transactional", Boolean, nullable=False),  # the events are transactions, with rows of other relations
    Column("checksums", Text),  # as those of log files
)

delivery = Table(
    "delivery",
    metadata,
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("coordinator", Integer, nullable=False),
    Column("name", String(200), nullable=False),
    Column(
        "arrived_at", Float, nullable=False
    ),  # seconds since 1970; decides its epoch, recorded when it is first seen
    Column("identity", String(200), nullable=False),  # what its folder looked like when it was taken; cheap to compare
    Column(
        "files", Text, nullable=False
    ),  # JSON: name -> [bytes, change time in ns, digest] of the files that were taken
    Column("digest", String(64), index=True),  # of their contents; NULL: not taken
    Column("space", String(200), nullable=False),  # whose names `name` is among, as in `batch`
    UniqueConstraint("coordinator", "space", "name"),
)

source_position = Table(
    "source_position",
    metadata,
    Column("source", String(200), primary_key=True),
    Column("position", Text, nullable=False),  # what comes before it is in the log
)

source_problem = Table(
    "source_problem",
    metadata,
    Column(
        "source", String(200), primary_key=True
    ),  # it stands still; a source without a row does not, as far as anybody knows
    Column("problem", Text, nullable=False),
    Column("since", Float, nullable=False),  # seconds since 1970
)

#: Steps that failed when they were tried last. A step without a row has succeeded, or was never tried.
step_problem = Table(
    "step_problem",
    metadata,
    Column("step", String(40), primary_key=True),
    Column("coordinator", Integer, primary_key=True, autoincrement=False),  # -1: the step is of the whole project
    Column("kind", String(100), nullable=False),
    Column("problem", Text, nullable=False),  # the first line of the latest failure's error
    Column("log", Text, nullable=False),  # where that failure is told of at length, '' if that is not known
    Column("since", Float, nullable=False),  # of the first failure in a row; seconds since 1970
    Column("at", Float, nullable=False),  # of the latest one
    Column("times", Integer, nullable=False),
    Column("failures", Text),  # JSON: kind, text and file of each, kind and problem are those of the first; NULL of old
)

#: What is not as it was written (docs/adr/0087), as far as somebody has looked.
damage = Table(
    "damage",
    metadata,
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("kind", String(20), nullable=False),  # of the file
    Column("file", Text, nullable=False, index=True),  # relative to the state folder if it is in there
    Column("offset", BigInteger),  # where a run begins in it; NULL: all of the file
    Column("holds", Text, nullable=False),
    Column("problem", String(20), nullable=False),
    Column("detail", Text, nullable=False),
    Column("hint", Text, nullable=False),
    Column("found_at", Float, nullable=False),  # first; seconds since 1970
)

#: Who repairs what is damaged: at most one row.
recovery = Table(
    "recovery",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),  # 1
    Column("lease", BigInteger, nullable=False),
    Column("step", BigInteger, nullable=False),
    Column("begun_at", Float, nullable=False),  # seconds since 1970
    Column("doing", Text, nullable=False),  # in words
)

source_epoch = Table(
    "source_epoch",
    metadata,
    Column("source", String(200), primary_key=True),
    Column("epoch", BigInteger, primary_key=True, autoincrement=False),
    Column("position", Text, nullable=False),  # what comes before it is in the epoch or an earlier one
)

file_aside = Table(
    "file_aside",
    metadata,
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("coordinator", Integer, nullable=False),
    Column("batch", BigInteger, index=True),  # the first one of its delivery; NULL: found later
    Column("delivery", String(200), nullable=False),
    Column("relation", String(200)),  # NULL: it belongs to none
    Column("place", Text, nullable=False),
    Column("kind", String(100), nullable=False),
    Column("reason", Text, nullable=False),
    Column("hint", Text, nullable=False),
    Column("bytes", BigInteger),
    Column("waits_for", Text, nullable=False),  # JSON: columns that are not deployed yet
    Column("recorded_at", Float, nullable=False),
    Column("state", String(10), nullable=False),  # 'aside', 'retried', 'dropped'
)

#: What is known of a relation's keys. An append that has judged events by it changes it in its own transaction, if it is as it was.
key_index = Table(
    "key_index",
    metadata,
    Column("relation", String(200), primary_key=True),
    Column("version", BigInteger, nullable=False),  # grows by one with each run that is added
    Column("signature", String(64), nullable=False),  # of the relation's columns and key
    Column("covers", BigInteger, nullable=False),  # log files of the relation with higher ids are not in it
)

key_run = Table(
    "key_run",
    metadata,
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("relation", String(200), nullable=False, index=True),
    Column("path", Text, nullable=False, index=True),
    Column("offset", BigInteger, nullable=False),  # where in the file, in bytes
    Column("bytes", BigInteger, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("lowest", BigInteger, nullable=False),  # code, inclusive
    Column("highest", BigInteger, nullable=False),  # code, inclusive
    Column("first", BigInteger, nullable=False),  # the versions of the index that it holds, inclusive
    Column(
        "last", BigInteger, nullable=False
    ),  # inclusive; of a key's entries the one in the run with the highest counts
    Column("retired_by", BigInteger, index=True),  # the first commit after it was replaced, NULL while it counts
    Column("root", String(32)),  # digest of its blocks' checksums, in hexadecimal digits; NULL of runs of old
)

#: Of each the recipe (docs/adr/0085), as long as a run may have to be made again by it.
commit = Table(
    "commit",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    # 'start', 'apply', 'correct', 'refresh', 'merge', 'retract', 'fill', 'switch', 'forget', 'repair'
    Column("kind", String(10), nullable=False),
    Column("committed_at", DateTime(timezone=True), nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("revision", Integer),  # whose plan it was made by; NULL: not known
    Column("read_at", BigInteger),  # the commit that its step has read (inclusive); NULL: none, or it is not known
    Column("recipe", Text),  # JSON, see recipes; NULL: not known, or not needed any more
)

correction = Table(
    "correction",
    metadata,
    Column("commit", BigInteger, primary_key=True, autoincrement=False),
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("rows", BigInteger, nullable=False),
    Column("maps", Text),  # JSON list of the groups that the commit changed; NULL: not known
)

run = Table(
    "run",
    metadata,
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("map", String(400), nullable=False),
    Column("access_path", String(200), nullable=False),
    Column("path", Text, nullable=False, index=True),  # a pack: the runs of one step in one file
    Column("offset", BigInteger, nullable=False),  # where in the pack, in bytes
    Column("commit", BigInteger, nullable=False, index=True),  # visible from this commit on (inclusive)
    Column(
        "origin", BigInteger, nullable=False
    ),  # the latest commit whose deltas are in it; reading clocks speak of it
    Column("min_version", BigInteger, nullable=False),  # inclusive
    Column("max_version", BigInteger, nullable=False),  # inclusive
    Column("rows", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("retired_by", BigInteger, index=True),  # the commit that replaced it, NULL while it counts
    Column("root", String(32)),  # digest of its blocks' checksums, in hexadecimal digits; NULL of runs of old
    Column("content", BigInteger),  # linear hashes of its rows, see maps.hashes: with versions, and without
    Column("total", BigInteger),  # NULL of runs of old; of `content` also where versions were folded
)

#: Never changed: who advances a clock makes another one and moves the batches there. So batches leave a clock, and none joins it.
reading_clock = Table(
    "reading_clock",
    metadata,
    Column("id", BigKey, primary_key=True, autoincrement=True),  # never given out twice
    Column("prefix", BigInteger, nullable=False),  # every commit <= prefix is incorporated
    Column("exceptions", Text, nullable=False),  # JSON list of later commits that are, too
    sqlite_autoincrement=True,
)

snapshot = Table(
    "snapshot",
    metadata,
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),  # inclusive
    Column("commit", BigInteger, nullable=False),
    Column("entries", BigInteger, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("committed_at", DateTime(timezone=True), nullable=False),
    Column("repeats", Integer),  # the epoch that it is the same as, for nothing was appended since; NULL: none
    Column("now", BigInteger),  # what now() is in it, microseconds since 1970; NULL: no tick has come yet
)

published = Table(
    "published",
    metadata,
    Column("view", String(200), primary_key=True),
    Column("epoch", Integer, primary_key=True),
    Column("delta_version", BigInteger, nullable=False),
    Column("rows", BigInteger),  # NULL: it was not counted
)

#: The Delta tables that this installation has written, as it has left them.
published_table = Table(
    "published_table",
    metadata,
    Column("name", String(200), primary_key=True),  # of its folder: a view, or a view and `.final`
    Column("table_id", String(64), nullable=False),  # drawn when the table was made
    Column("mark", BigInteger, nullable=False),  # version of our application transaction in it, see snapshot.ownership
)

view_error = Table(
    "view_error",
    metadata,
    Column("view", String(200), primary_key=True),
    Column("epoch", Integer, primary_key=True),
    Column("kind", String(100), nullable=False),
    Column("message", Text, nullable=False),
    Column("place", Text, nullable=False),
    Column("hint", Text, nullable=False),
)

consumption = Table(
    "consumption",
    metadata,
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("consumer", String(20), primary_key=True),  # 'publish', 'validate'
    Column("outcome", String(10), nullable=False),  # 'done', 'expired': it came too late
    Column("recorded_at", DateTime(timezone=True), nullable=False),
)

validation = Table(
    "validation",
    metadata,
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("failures", Text, nullable=False),  # JSON list: what was found besides the views
    Column("report", Text, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("validated_at", DateTime(timezone=True), nullable=False),
    Column("outcome", String(10), nullable=False),  # 'passed', 'failed', 'unproved'
    Column("verdicts", Text),  # JSON: view -> [verdict, sentence]; NULL: recorded by a version that did not keep them
    Column("views", Integer),  # how many the program has
)

#: A value of a relation's seal for which somebody has registered. Its text is a JSON list of texts and NULLs, one per column
#: (:mod:`cumulus_ops.append.seals`).
seal_value = Table(
    "seal_value",
    metadata,
    Column("id", BigKey, primary_key=True, autoincrement=True),
    Column("relation", String(200), nullable=False),
    Column("seal", String(200), nullable=False),
    Column("value", String(400), nullable=False),
    Column("columns", Text, nullable=False),  # of the seal, with commas between them
    Column("producers", String(10), nullable=False),  # whose seals close it: 'all', 'registered', 'one'
    Column("first_seen", Float, nullable=False),  # seconds since 1970, by the database's clock
    # the newest batch when it was closed: nothing that comes later has events of it, but what is appended again of an earlier batch
    Column("closed_at", BigInteger, index=True),  # NULL: it is open
    Column("finalised", Boolean),  # its rows are final in all views that it makes final; NULL: not yet in all
    UniqueConstraint("relation", "seal", "value"),
    Index("ix_seal_value_closed", "relation", "seal", "closed_at"),
    Index("ix_seal_value_not_finalised", "finalised", "closed_at"),
)

#: Who has had events of a value, or has said that it will.
seal_producer = Table(
    "seal_producer",
    metadata,
    Column("value", BigInteger, primary_key=True, autoincrement=False),  # of seal_value
    Column("coordinator", Integer, primary_key=True, autoincrement=False),
    Column("registered_at", Float, nullable=False),  # seconds since 1970
    Column("sealed_at", Float),  # NULL: it may still have events of it
    Column("sealed_by", String(200)),  # the delivery with its seal, or who has sealed in its name
)

#: The rows of a view that a closed value makes final: published, and validated, by themselves.
final_partition = Table(
    "final_partition",
    metadata,
    Column("view", String(200), primary_key=True),
    Column("value", BigInteger, primary_key=True, autoincrement=False),  # of seal_value
    Column("commit", BigInteger, nullable=False),  # by which all batches with its rows were applied (inclusive)
    Column("rows", BigInteger, nullable=False),
    Column(
        "delta_version", BigInteger, index=True
    ),  # the first one that has its rows; NULL: none yet, or nothing is published
    Column("recorded_at", Float, nullable=False),  # seconds since 1970
    Column("report", Text),
    Column("verdict", String(10), index=True),  # 'equal', 'differs', 'unproved'; NULL: that is still to be seen
)

#: The newest backup of this catalog (docs/adr/0083); one row, or none.
backup = Table(
    "backup",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("commit", BigInteger, nullable=False),  # as of which it is
    Column("epoch", Integer, nullable=False),  # the newest that has a snapshot in it; -1: none
    Column("made_at", Float, nullable=False),  # seconds since 1970
    Column("seconds", Float, nullable=False),  # that it took
    Column("bytes", BigInteger, nullable=False),
    Column("place", Text, nullable=False),  # its folder
    Column("positions", Text, nullable=False),  # JSON: source -> its position in it
    Column("holds", Boolean, nullable=False),  # files that it names are kept, and sources keep what it does not have
)
