"""YAML whose every value knows its place, so that an error can say ``file:line`` and what to write instead."""

from __future__ import annotations

import datetime
import difflib
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import yaml

from cumulus_ops.project.errors import InputProblem, combine

__all__ = ["Item", "Problems", "Section", "existing_file", "identifier", "read_text", "read_yaml", "resolve"]


Read = TypeVar("Read")
Else = TypeVar("Else")
VARIABLE = re.compile(r"\$(?:(?P<escaped>\$)|\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\})")
DURATION = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|m|h|d)")
#: No span is longer.
LONGEST_S = 36_525 * 86_400.0
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def read_text(file: Path) -> str:
    """The text of a file that a person has written.

    Raises:
        InputProblem: it is not UTF-8.
        OSError: it cannot be read.
    """
    written = file.read_bytes()
    try:
        return written.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = written.count(b"\n", 0, error.start) + 1
        hint = "save it as UTF-8 (`file` says what it is, `iconv -t utf-8` changes it)"
        raise InputProblem("is not UTF-8", kind="not-utf-8", place=f"{file}:{line}", hint=hint) from error


def read_yaml(file: Path, environment: Mapping[str, str], hint: str = "`cumulus init` writes one") -> Item:
    """The root of a YAML file.

    Args:
        file: what to read.
        environment: where ``${NAME}`` in values is taken from.
        hint: what to do if there is none, or an empty one.

    Raises:
        InputProblem: the file is missing, empty or not YAML.
    """
    try:
        text = read_text(file)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except OSError as error:
        raise InputProblem(
            f"cannot read {file.name}: {error.strerror}",
            kind="no-file",
            place=str(file),
            hint=hint,
        ) from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputProblem(
            f"not YAML: {error.problem}",
            kind="bad-yaml",
            place=f"{file}:{line}",
            hint="check indentation, colons and quotes",
        ) from error
    except RecursionError as error:
        raise InputProblem("is nested too deep", kind="bad-yaml", place=str(file), hint="check the brackets") from error
    except yaml.YAMLError as error:  # a character that YAML has not
        hint = "remove control characters"
        raise InputProblem(f"not YAML: {error}", kind="bad-yaml", place=str(file), hint=hint) from error
    if node is None:
        raise InputProblem("the file is empty", kind="empty", place=f"{file}:1", hint=hint)
    return Item("", node, file, environment)


@dataclass(frozen=True)
class Item:
    """One value of a YAML file: its dotted ``name`` and its node; the methods read it as a type or say what is wrong."""

    name: str
    node: yaml.Node
    file: Path
    environment: Mapping[str, str]

    def __repr__(self) -> str:
        """Different for different values, without showing them: one may be a secret, and others are in the environment."""
        return f"Item({self.name!r}, {hashlib.sha256(repr(self.node).encode()).hexdigest()})"

    @property
    def place(self) -> str:
        """``file:line``."""
        return f"{self.file}:{self.node.start_mark.line + 1}"

    def problem(self, message: str, *, hint: str = "", kind: str = "bad-value") -> InputProblem:
        """An error that points here. Of what came from the environment it shows the variable's name: it may be a secret."""
        what = f"{self.name}: " if self.name else ""
        return InputProblem(what + self._named(message), kind=kind, place=self.place, hint=self._named(hint))

    def _named(self, message: str) -> str:
        if isinstance(self.node, yaml.ScalarNode):
            for match in VARIABLE.finditer(self.node.value):
                value = None if match["escaped"] else self.environment.get(match["name"])
                for form in (value, repr(value)[1:-1]) if value and value.strip() else ():
                    message = message.replace(form.strip(), f"${{{match['name']}}}")
        return message

    def section(self, known: Iterable[str] | None = None) -> Section:
        """The value as a mapping; ``known`` limits its keys, None allows any."""
        if not isinstance(self.node, yaml.MappingNode):
            raise self.problem(
                "must be a mapping", hint=f"write `{self.name.rpartition('.')[2]}:` and indented `key: value` lines"
            )
        return Section(self, dict(self._entries(self.node)), tuple(known) if known is not None else None)

    def _entries(self, node: yaml.MappingNode) -> Iterator[tuple[str, Item]]:
        seen: set[str] = set()
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise Item(self.name, key, self.file, self.environment).problem(
                    "a key is a single text", hint="write `key: value`"
                )
            name = f"{self.name}.{key.value}" if self.name else str(key.value)
            if key.value in seen:
                raise Item(name, key, self.file, self.environment).problem(
                    "occurs twice", kind="duplicate", hint="remove one"
                )
            seen.add(key.value)
            yield str(key.value), Item(name, value, self.file, self.environment)

    def text(self) -> str:
        """The value as text, ``${NAME}`` and ``${NAME:-default}`` replaced (``$$`` is a dollar sign)."""
        if not isinstance(self.node, yaml.ScalarNode):
            raise self.problem("must be a single value", hint="write one text or number after the colon")
        return VARIABLE.sub(self._replace, self.node.value).strip()

    def _replace(self, match: re.Match[str]) -> str:
        if match["escaped"]:
            return "$"
        value = self.environment.get(match["name"]) or match["default"]
        if value is None:
            hint = f"set it, or write ${{{match['name']}:-default}}"
            raise self.problem(f"the environment variable {match['name']} is not set", kind="no-variable", hint=hint)
        return value

    @property
    def is_list(self) -> bool:
        """Whether the value is a list."""
        return isinstance(self.node, yaml.SequenceNode)

    @property
    def is_mapping(self) -> bool:
        """Whether the value is a mapping."""
        return isinstance(self.node, yaml.MappingNode)

    def elements(self) -> tuple[Item, ...]:
        """The elements of a list."""
        if not isinstance(self.node, yaml.SequenceNode):
            raise self.problem("must be a list", hint="write [a, b]")
        return tuple(Item(self.name, node, self.file, self.environment) for node in self.node.value)

    def words(self) -> tuple[str, ...]:
        """The value as a list of texts."""
        return tuple(element.text() for element in self.elements())

    def integer(self, minimum: int, maximum: int) -> int:
        """The value as an integer; both bounds are inclusive."""
        text = self.text()
        if not re.fullmatch(r"-?\d+", text) or not minimum <= int(text) <= maximum:
            raise self.problem(f"{text!r} is out of range", hint=f"write an integer from {minimum} to {maximum}")
        return int(text)

    def choice(self, options: tuple[str, ...]) -> str:
        """The value as one of ``options``."""
        text = self.text()
        if text not in options:
            raise self.problem(f"{text!r} is not known", hint=_nearest(text, options))
        return text

    def duration(self) -> datetime.timedelta:
        """The value as a time span above zero: ``30s``, ``15m``, ``1h``."""
        text = self.text()
        match = DURATION.fullmatch(text)
        seconds = float(match["number"]) * SECONDS[match["unit"]] if match else 0.0
        if not 0 < seconds <= LONGEST_S:
            message = (
                f"{text!r} is not a time span above zero" if seconds <= 0 else f"{text!r} is longer than 100 years"
            )
            raise self.problem(message, hint="write 30s, 15m, 1h or 1d")
        return datetime.timedelta(seconds=seconds)

    def time(self) -> datetime.datetime:
        """The value as a point in time, in UTC; a time without a zone is UTC."""
        text = self.text()
        try:
            moment = datetime.datetime.fromisoformat(text)
        except ValueError as error:
            raise self.problem(f"{text!r} is not a time", hint="write 2026-01-31T06:00:00Z") from error
        return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).astimezone(datetime.UTC)


class Problems:
    """Collects the errors of parts that do not depend on each other."""

    def __init__(self) -> None:
        self.found: list[InputProblem] = []

    def note(self, problem: InputProblem) -> None:
        """Another one."""
        self.found.append(problem)

    def read(self, part: Callable[[], Read], otherwise: Else) -> Read | Else:
        """What a part says; ``otherwise`` where there is an error in it, which is noted."""
        try:
            return part()
        except InputProblem as problem:
            self.note(problem)
            return otherwise

    def combine(self) -> InputProblem | None:
        """The first, which knows the others; None if there are none. An error that was met twice is one."""
        return combine(self.found) if self.found else None

    def stop(self) -> None:
        """Nothing, if no error was noted.

        Raises:
            InputProblem: the first, which knows the others.
        """
        problem = self.combine()
        if problem is not None:
            raise problem


class Section:
    """A mapping whose keys are checked against the known ones."""

    def __init__(self, item: Item, entries: dict[str, Item], known: tuple[str, ...] | None) -> None:
        self.item, self.entries = item, entries
        problems = Problems()
        for key, value in entries.items():
            if known is not None and key not in known:
                problems.note(value.problem("unknown key", kind="unknown-key", hint=_nearest(key, known)))
        problems.stop()

    def need(self, key: str, hint: str) -> Item:
        """The value of ``key``; its absence is an error that shows ``hint``."""
        found = self.get(key)
        if found is None:
            raise self.item.problem(f"`{key}` is missing", kind="missing-key", hint=hint)
        return found

    def get(self, key: str) -> Item | None:
        """The value of ``key``, None when it is absent, null, or empty after interpolation."""
        item = self.entries.get(key)
        if item is None or (isinstance(item.node, yaml.ScalarNode) and item.text() in ("", "~", "null")):
            return None
        return item

    def items(self) -> Iterator[tuple[str, Item]]:
        """All entries in the file's order."""
        return iter(self.entries.items())


def _nearest(text: str, options: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(text, options, n=1, cutoff=0.6)
    return f"did you mean `{close[0]}`?" if close else f"known: {', '.join(options)}"


def identifier(name: str, item: Item) -> str:
    """The name of ``item``, or what it names, if it is one."""
    if not NAME.fullmatch(name):
        raise item.problem(f"{name!r} is not a name", kind="bad-name", hint="letters, digits and _, not a digit first")
    return name


def resolve(text: str, folder: Path) -> Path:
    """An absolute path; a relative one starts at the project's folder."""
    return (folder / Path(text).expanduser()).resolve()


def existing_file(item: Item, folder: Path) -> Path:
    """A file that is there; a relative path starts at the project's folder."""
    path = resolve(item.text(), folder)
    if not path.is_file():
        raise item.problem(f"no file {path}", kind="no-file", hint="paths are relative to the project's folder")
    return path
