"""Names and values of data are text in the DAGs' documentation: nothing in them is a link, a picture, a heading or markup."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from cumulus_ops.cli.deploying import preview_lines
from cumulus_ops.coordination.plan import Barrier
from cumulus_ops.deploying.preview import DataDiff, Preview
from cumulus_ops.opening.runtime import open_runtime
from cumulus_ops.orchestration import texts
from cumulus_ops.orchestration.texts import Waits
from cumulus_ops.project.names import NOTICES, UNSEEN, code, escape
from cumulus_ops.project.small_files import read_summed
from cumulus_ops.publishing.telling import write_notices
from tests.support.payloads import payloads
from tests.support.shown import shown_project

SEED = random.randrange(10_000)
MARKDOWN = (
    "![x](//example.test/p.png)", "[x](javascript:alert(1))", "<https://example.test>", "# heading", "\n# heading", "\n\n- item", "a | b | c",
    "`code`", "``two``", "```\nfence\n```", "**bold**", "_it_", "\\", "\\`", "` ", " `", "x` ![y](//e.test/y)` z", "~~gone~~", "&copy;",
    "[ref]: //example.test", "1. one", "> quote", "***", "\n---\n", "\u202edlrow", "|", "`|`", "\r\n\r\n<b>x</b>", "$x$", "a\tb", " ", "",
)  # fmt: skip
HOSTILE = [*MARKDOWN, *payloads(SEED, 25)]


def flat(tokens: list[Token]) -> list[Token]:
    return [inner for token in tokens for inner in (token, *flat(token.children or []))]


def rendered(text: str) -> list[Token]:
    return flat(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text))


def require_plain(text: str, benign: str) -> None:
    """The document has the structure that it has with harmless values."""
    ours, plain = ([t.type for t in rendered(document) if t.type != "text_special"] for document in (text, benign))
    assert merged(ours) == merged(plain), f"seed {SEED}"
    assert not [t for t in rendered(text) if t.type in ("html_block", "html_inline", "image")], f"seed {SEED}"
    assert all("example.test" not in str(t.attrs) for t in rendered(text)), f"seed {SEED}"


def merged(types: list[str]) -> list[str]:
    """Without the differences that escapes make: texts beside each other are one."""
    return [t for i, t in enumerate(types) if t != "text" or i == 0 or types[i - 1] != "text"]


def documents(project_folder: Path, values: list[str]) -> list[str]:
    """What people are told of a project in which all of these are names or reasons."""
    project = shown_project(project_folder, epochs=2)
    with open_runtime(project) as rt, closing(sqlite3.connect(project.state / "catalog.db")) as database:
        found = []
        for value in values:
            database.execute("UPDATE batch SET state = 'aside', reason = ?, \"drop\" = ? WHERE id = 1", (value, value))
            error = (value, value, value)
            database.execute("INSERT OR REPLACE INTO view_error VALUES ('ratio', 1, 'k', ?, ?, ?)", error)
            database.execute("UPDATE vote SET reason = ? WHERE epoch = 1", (value,))
            database.commit()
            write_notices(rt)
            barrier = Barrier("vote", value, value)
            waits = Waits((barrier, replace(barrier, name="settle", about="*")), (0, 1), 2)
            found.append((read_summed(project.state / NOTICES) or "") + texts.commit(project, waits))
    return found


def test_hostile_values_change_nothing_but_texts(tmp_path: Path) -> None:
    benign, *hostile = documents(tmp_path, ["benign", *HOSTILE])
    assert "set aside" in benign
    for text in hostile:
        require_plain(text, benign)


def test_a_plan_that_somebody_is_asked_has_names_sql_and_rows_as_texts() -> None:
    def asked(value: str) -> str:
        row = {"key": {value: value}, "before": {value: value}, "after": None}
        rows = {value: DataDiff(1, 2, sample=[row], problem=value or "none")}
        sizes = {value: (1, 1)}
        said = Preview(
            {value: "changed"},
            {value: value},
            {value: [value]},
            sizes,
            [value],
            sizes,
            1,
            [value],
            1,
            None,
            [value],
            0,
            rows,
            is_nothing=False,
        )
        return "\n".join(preview_lines(said, markdown=True))

    for value in HOSTILE:
        require_plain(asked(value), asked("benign"))


def test_a_value_is_shown_as_it_is() -> None:
    for text in (t for t in HOSTILE if t.strip() and "\n" not in t):
        seen = UNSEEN.sub(" ", text)
        (span,) = [t.content for t in rendered(f"- {code(text)} end") if t.type == "code_inline"]
        assert span.strip() == seen.replace("|", "¦").strip(), text
        prose = "".join(t.content for t in rendered(f"- x {escape(text)} x") if t.type in ("text", "text_special"))
        assert prose == f"x {seen.strip()} x", text
