"""A folder of Debezium's messages as deliveries: a span of whole transactions at a time, of one file where that is possible."""

from __future__ import annotations

import datetime
import hashlib
import logging
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path

from msgspec import Raw

from cumulus_ops.append.delivery import Delivery, Part
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.files.columns import RawFile
from cumulus_ops.project.errors import SetupProblem
from cumulus_ops.project.settings import LandingSettings, Project, SourceSettings
from cumulus_ops.sources.debezium.columns import ImageReader, describe_images
from cumulus_ops.sources.debezium.messages import BadLine, decode, is_object, table_names
from cumulus_ops.sources.debezium.rows import PLACEHOLDER, RowMaker
from cumulus_ops.sources.debezium.transactions import Assembler, Position, Transaction, name_code
from cumulus_ops.sources.drops import natural
from cumulus_ops.sources.shapes import ShownColumn
from cumulus_ops.sources.source import tables_of
from m3.program import Relation

__all__ = [
    "SUFFIXES",
    "DebeziumSettings",
    "DebeziumSource",
    "DebeziumStream",
    "Line",
    "StreamFile",
    "check_unchanged",
    "lines_from",
    "stream_files",
    "tail_digest",
]


# The files of a stream: in the order of their names, numbers in them counted as numbers; each may grow, and none may change.
#
# Of each place that was reached, a digest of what comes directly before is kept: a file that was written
# anew is told from one that has grown.


SUFFIXES = (".json", ".jsonl", ".ndjson")
BLOCK_BYTES = 1 << 20
TAIL_BYTES = 4096
#: A longer line is not a message.
LINE_BYTES = 64 << 20


@dataclass(frozen=True)
class StreamFile:
    """A file as it was when the folder was listed; ``modified`` in seconds."""

    path: Path
    size: int
    modified: float

    @property
    def name(self) -> str:
        """Within the folder."""
        return self.path.name


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its end; ``end`` is the offset in the file behind it. The last one of a file may be cut off: not ``whole``."""

    text: bytes
    end: int
    whole: bool = True


def stream_files(folder: Path) -> tuple[list[StreamFile], list[str]]:
    """The files of the stream in their order, and the names of what else is in the folder.

    Raises:
        SetupProblem: there is no such folder.
    """
    try:
        entries = sorted(folder.iterdir(), key=lambda p: (natural(p.name), p.name))
    except OSError as problem:
        hint = "give the folder that the files of envelopes are written to: `path: FOLDER`"
        raise SetupProblem(
            f"cannot be listed: {problem.strerror}", kind="no-folder", place=str(folder), hint=hint
        ) from problem
    files, others = [], []
    for path in entries:
        if path.name.startswith((".", "_")):
            continue
        status = path.lstat()
        if path.suffix in SUFFIXES and stat.S_ISREG(status.st_mode):
            files.append(StreamFile(path, status.st_size, status.st_mtime))
        else:
            others.append(path.name)
    return files, others


def lines_from(file: StreamFile, offset: int) -> Iterator[Line]:
    """The lines behind an offset, as far as the file had come when it was listed.

    Raises:
        SetupProblem: it cannot be read, or a line is too long.
    """
    try:
        with file.path.open("rb") as opened:
            opened.seek(offset)
            rest = b""
            while offset < file.size and (block := opened.read(min(BLOCK_BYTES, file.size - offset - len(rest)))):
                *lines, rest = (rest + block).split(b"\n")
                for text in lines:
                    offset += len(text) + 1
                    yield Line(text, offset)
                if len(rest) > LINE_BYTES:
                    raise SetupProblem(
                        f"has a line of more than {LINE_BYTES >> 20} MB",
                        kind="long-line",
                        place=f"{file.path}@{offset}",
                        hint="one message per line (NDJSON), not a JSON array or a document over several lines",
                    )
            if rest:
                yield Line(rest, offset + len(rest), False)
    except OSError as problem:
        raise SetupProblem(
            f"cannot be read: {problem.strerror}", kind="unreadable-file", place=str(file.path)
        ) from problem


def tail_digest(path: Path, offset: int) -> str:
    """A digest of what comes directly before an offset."""
    with path.open("rb") as file:
        begin = max(0, offset - TAIL_BYTES)
        file.seek(begin)
        return hashlib.blake2b(file.read(offset - begin), digest_size=12).hexdigest()


def check_unchanged(file: StreamFile, offset: int, tail: str) -> None:
    """Look whether a file is what was read as far as ``offset``, and perhaps more.

    Raises:
        SetupProblem: it is not.
    """
    if file.size >= offset and tail_digest(file.path, offset) == tail:
        return
    raise SetupProblem(
        f"was written anew: the {offset:,} bytes that were read of it are not there any more",
        kind="changed-file",
        place=str(file.path),
        hint="files of a stream only grow; put the old content back, and new messages into a file whose name comes after it",
    )


log = logging.getLogger(__name__)

SPAN_BYTES = 16 << 20
#: What is looked at, of how many files, and how many messages of a table, to see which columns it has.
TAIL_LOOK_BYTES, FILES, LATEST = 1 << 20, 4, 100
#: The spans that are remembered: one is handed over while the next is read.
REMEMBERED = 2


@dataclass(frozen=True)
class DebeziumSettings:
    """What a project says of such a source.

    Attributes:
        name: of the source.
        folder: where the files are.
        relations: the project's.
        tables: a table's name, such as ``public.orders`` -> its relation.
        upserts: the relations whose keys are maintained with ``mode: upsert``.
        settle_s: how long a file has to be left alone before its last transaction is taken as whole, if nothing says so.
        decimals: what texts in DECIMAL columns are without a schema: ``string`` or ``base64``.
        timestamps: what integers in TIMESTAMP columns are without a schema: ``ms``, ``us`` or ``ns``.
        placeholder: the connector's ``unavailable.value.placeholder``.
        span_bytes: how much of the files is handed over at a time, if transactions allow it.
        reading: relation -> the older names of its columns, and those that are not deployed yet.
    """

    name: str
    folder: Path
    relations: tuple[Relation, ...]
    tables: Mapping[str, str]
    upserts: frozenset[str] = frozenset()
    settle_s: float = 5.0
    decimals: str | None = None
    timestamps: str | None = None
    placeholder: str = PLACEHOLDER
    span_bytes: int = SPAN_BYTES
    reading: Mapping[str, LandingSettings] = field(default_factory=dict)

    def relation_of(self, names: Sequence[str]) -> str | None:
        """The relation of a table that may be called by any of some names."""
        return next((self.tables[name] for name in names if name in self.tables), None)


@dataclass(frozen=True)
class _Span:
    """Transactions between two positions; the first has the number ``begin.event``."""

    begin: Position
    end: Position
    transactions: tuple[Transaction, ...]
    modified: float

    def numbered(self) -> list[tuple[int, Transaction]]:
        return list(enumerate(self.transactions, self.begin.event))

    def relations(self) -> set[str | None]:
        found: set[str | None] = set()
        for transaction in self.transactions:
            found.update(change.relation for change in transaction.changes)
            found.update(rejected.relation for rejected in transaction.rejected)
        return found


class DebeziumStream:
    """The messages in a folder, from a position on."""

    def __init__(self, settings: DebeziumSettings) -> None:
        self.name = settings.name
        self._settings = settings
        self._spans: list[_Span] = []
        self._told: set[str] = set()

    def poll(self, position: str | None) -> Iterator[Delivery]:
        """The transactions behind a position that are whole.

        Raises:
            SetupProblem: there is no such folder, or a file changed or came too late.
        """
        at = Position.parse(position)
        files = self._find_files(at)
        while (span := self._find_span(at, files)) is not None:
            end = span.end
            yield Delivery(
                self.name,
                f"{self.name}.{name_code(end.file)}.{end.offset}",
                datetime.datetime.fromtimestamp(min(span.modified, time.time()), datetime.UTC),
                partial(self._parts, span.begin, span.end),
                position,
                end.text(),
                True,
            )
            at, position = span.end, span.end.text()

    def columns(self) -> dict[str, list[ShownColumn]]:
        """relation -> the columns in the latest of its messages that are at the end of the files."""
        latest: dict[str, tuple[Raw, list[Raw]]] = {}
        for file in stream_files(self._settings.folder)[0][-FILES:]:
            begin = max(0, file.size - TAIL_LOOK_BYTES)
            for line in islice(lines_from(file, begin), 1 if begin else 0, None):
                with suppress(BadLine):
                    message, schema, _ = decode(line.text)
                    if isinstance(message, str) or message.source is None or not is_object(message.after):
                        continue
                    relation = self._settings.relation_of(table_names(message.source))
                    if relation is not None:
                        latest.setdefault(relation, (schema, []))[1].append(message.after)
                        latest[relation] = schema, latest[relation][1][-LATEST:]
        return {relation: describe_images(images, bytes(schema)) for relation, (schema, images) in latest.items()}

    def close(self) -> None:
        """Nothing is held."""
        self._spans = []

    # files

    def _find_files(self, at: Position) -> list[StreamFile]:
        """The files from the position on."""
        files, others = stream_files(self._settings.folder)
        for name in sorted({*others} - self._told):
            log.warning("source %s: %s is not read: messages are in files *.json, *.jsonl or *.ndjson", self.name, name)
            self._told.add(name)
        late = [f.name for f in files if _before(f.name, at.file) and name_code(f.name) not in at.done]
        if late:
            raise SetupProblem(
                f"came too late: its name is before {at.file}, which is being read",
                kind="late-file",
                place=str(self._settings.folder / late[0]),
                hint="if it is to be read, give it a name that comes after all others; if not, take it away",
            )
        return files

    def _find_span(self, begin: Position, files: Sequence[StreamFile]) -> _Span | None:
        """The next span; None if no whole transaction waits, and not much else."""
        known = next((span for span in self._spans if span.begin == begin), None)
        if known is not None:
            return known
        waiting = [f for f in files if not _before(f.name, begin.file)]
        if begin.file and waiting and waiting[0].name == begin.file:
            check_unchanged(waiting[0], begin.offset, begin.tail)
        reading = _Reading(self._settings, begin)
        for file in waiting:
            reading.file(file, is_last=file is waiting[-1])
            if reading.full:
                break
        found = reading.span(files)
        if found is not None:
            self._spans = [*self._spans, found][-REMEMBERED:]
        return found

    # deliveries

    def _parts(self, begin: Position, end: Position) -> list[Part]:
        found = self._span(begin, end).relations()
        wanted = [r for r in self._settings.relations if r.name in self._settings.tables.values()]
        names = [r for r in wanted if r.name in found or (None in found and r is wanted[0])]
        place = str(self._settings.folder / (begin.file or end.file))
        return [Part(r.name, place, partial(self._read, begin, end, r, place, r is wanted[0])) for r in names]

    def _read(
        self, begin: Position, end: Position, relation: Relation, place: str, is_first: bool
    ) -> Iterator[RawFile]:
        settings = self._settings
        files = settings.reading.get(relation.name, LandingSettings())
        reader = ImageReader(relation, place, settings.decimals, settings.timestamps, files)
        maker = RowMaker(reader, relation.name in settings.upserts, settings.placeholder)
        yield maker.raw(self._span(begin, end).numbered(), is_first)

    def _span(self, begin: Position, end: Position) -> _Span:
        """What was handed over between two positions, read again if something else was read since."""
        known = next((span for span in self._spans if (span.begin, span.end) == (begin, end)), None)
        if known is not None:
            return known
        files, _ = stream_files(self._settings.folder)
        waiting = [f for f in files if not _before(f.name, begin.file) and not _before(end.file, f.name)]
        reading = _Reading(self._settings, begin, until=end)
        for file in waiting:
            reading.file(file, is_last=file.name == end.file)
        found = reading.span(files)
        if found is None or (found.end.file, found.end.offset, found.end.event) != (end.file, end.offset, end.event):
            raise SetupProblem(
                f"changed while it was read between {begin.offset} and {end.offset}",
                kind="changed-file",
                place=str(self._settings.folder / end.file),
                hint="files of a stream only grow; put the old content back",
            )
        return found


class _Reading:
    """Reads lines from a position on, and remembers the last place that no transaction crosses.

    Args:
        settings: of the source.
        begin: where to begin.
        until: where a span ended before, which is read again; None to find an end.
    """

    def __init__(self, settings: DebeziumSettings, begin: Position, until: Position | None = None) -> None:
        self._settings, self._begin, self._until = settings, begin, until
        keyed = frozenset(r.name for r in settings.relations if r.key)
        self._assembler = Assembler(settings.relation_of, begin.mark, begin.open, begin.ended, keyed)
        self._end: tuple[str, int, int] | None = None
        self._bytes, self._modified = 0, 0.0
        self.full = False

    def file(self, file: StreamFile, is_last: bool) -> None:
        """Read what there is of a file, unless the span is full before."""
        begin, assembler = self._begin, self._assembler
        at, number = (begin.offset, begin.line) if file.name == begin.file else (0, 0)
        if self._until is not None and file.name == self._until.file:
            file = replace(file, size=self._until.offset)
        settled = time.time() - file.modified >= self._settings.settle_s
        for line in lines_from(file, at):
            if not line.whole and not self._until and is_last:  # a line without an end: is it all there?
                try:
                    decode(line.text)
                except BadLine:
                    return
                if not settled:
                    return
            opened, is_first = assembler.open, self._bytes == 0
            assembler.feed(number, line.text)
            self._bytes += line.end - at
            if assembler.open is None:
                self._reach(file, line.end, number + 1)
            elif assembler.open is not opened and not is_first:
                self._reach(file, at, number)  # the transaction that was open until now has ended before this line
            if self.full:
                return
            at, number = line.end, number + 1
        if is_last and assembler.open is not None and (self._until or (settled and not assembler.open.begun)):
            key = assembler.open.key
            assembler.end()
            assembler.late = key if self._until is None else self._until.open
            self._reach(file, at, number)
        # The next file is another delivery.
        self.full = self._until is None and assembler.open is None and bool(assembler.done)

    def _reach(self, file: StreamFile, offset: int, line: int) -> None:
        self._end, self._modified = (file.name, offset, line), file.modified
        self.full = self._until is None and self._bytes >= self._settings.span_bytes

    def span(self, files: Sequence[StreamFile]) -> _Span | None:
        """What was read; None if there is nothing to hand over."""
        a, begin = self._assembler, self._begin
        if self._end is None or (not a.done and self._bytes < self._settings.span_bytes):
            return None
        file, offset, line = self._end
        end = Position(
            file,
            offset,
            line,
            tail_digest(self._settings.folder / file, offset),
            begin.event + len(a.done),
            tuple(name_code(f.name) for f in files if _before(f.name, file)),
            a.mark,
            a.late,
            a.ended,
            begin.counts,
        )
        counts = a.counts if a.open is None else a.counts_before
        return _Span(begin, end.add_counts(counts), tuple(a.done), self._modified)


def _before(name: str, other: str) -> bool:
    return (natural(name), name) < (natural(other), other)


# A source of kind ``debezium``, as a project describes it::
#
# sources:
#   shop:
#     kind: debezium
#     path: /data/debezium/shop            # the folder of files with messages
#     tables: {orders: public.orders}      # relation: table
#     settle: 5s
#     decimals: base64                     # of messages without schemas: string or base64
#     timestamps: us                       # of messages without schemas: ms, us or ns
#     placeholder: __debezium_unavailable_value


class DebeziumSource:
    """Debezium's messages, from the files of a folder."""

    def __init__(self, project: Project, settings: SourceSettings, catalog: Catalog) -> None:
        self.name = settings.name
        self._stream = DebeziumStream(_settings(project, settings))

    def poll(self, position: str | None) -> Iterator[Delivery]:
        """See :class:`~cumulus_ops.sources.debezium.source.DebeziumStream`."""
        return self._stream.poll(position)

    def columns(self) -> dict[str, list[ShownColumn]]:
        """relation -> the columns of its latest messages."""
        return self._stream.columns()

    def close(self) -> None:
        """Forget what was read ahead."""
        self._stream.close()


def _settings(project: Project, settings: SourceSettings) -> DebeziumSettings:
    options = settings.options("path", "tables", "settle", "decimals", "timestamps", "placeholder")
    settle, decimals, timestamps, placeholder = map(options.get, ("settle", "decimals", "timestamps", "placeholder"))
    path = options.need("path", "the folder of the files with Debezium's messages: `path: FOLDER`").text()
    first = project.relations[0].name
    item = options.need("tables", f"name the tables: `tables: {{{first}: public.{first}}}`")
    return DebeziumSettings(
        settings.name,
        project.folder / path,
        project.relations,
        {table: relation for relation, (table, _) in tables_of(project, item).items()},
        frozenset(name for name, key in project.keys.items() if key.mode == "upsert"),
        settle.duration().total_seconds() if settle else 5.0,
        decimals.choice(("string", "base64")) if decimals else None,
        timestamps.choice(("ms", "us", "ns")) if timestamps else None,
        placeholder.text() if placeholder else PLACEHOLDER,
        reading={relation.name: project.settings_of(relation.name) for relation in project.relations},
    )
