"""What a database's errors mean for a person: which catalog, what is wrong with it, what to do."""

from __future__ import annotations

from sqlalchemy import Engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DatabaseError, OperationalError

from cumulus_ops.errors import SetupProblem
from cumulus_ops.urls import hide, shown_url

__all__ = ["database_problem", "say_where"]

#: The state folder is the catalog's, so one that is new in its place deletes nothing, and is refused until it is declared.
RESTORE = (
    "restore it from a backup, and then `cumulus anew`; without a backup, rename it, and `cumulus anew --from-sources` keeps the event log aside and reads "
    "the landing folder and the sources again"
)
#: What SQLite and PostgreSQL say, and what that means: words of theirs, kind, message, hint.
MEANINGS = (
    ("not a database", "catalog-damaged", "the catalog is no database", RESTORE),
    ("malformed", "catalog-damaged", "the catalog is damaged", RESTORE),
    ("locked", "catalog-busy", "another process has held the catalog for too long", "see who does, and try again"),
    ("readonly", "catalog-read-only", "the catalog cannot be written", "see who may write the file and its folder"),
    (
        "unable to open",
        "catalog-unreachable",
        "the catalog cannot be opened",
        "see who may read the file and its folder",
    ),
    ("disk is full", "disk-full", "there is no room left for the catalog", "make room, and run it again"),
    ("password authentication", "catalog-refused", "the server refuses the password", "check the catalog's URL"),
    (
        "does not exist",
        "catalog-refused",
        "the server does not know it",
        "check the catalog's URL, or create the database",
    ),
)
UNREACHABLE = (
    "catalog-unreachable",
    "the catalog cannot be reached",
    "check the catalog's URL in cumulus.yaml, and that the server runs",
)


def say_where(engine: Engine) -> Engine:
    """Let the errors of an engine say of which database they are."""
    url = engine.url.render_as_string(hide_password=False)
    where = shown_url(url)

    def remember(context: ExceptionContext) -> None:
        if context.sqlalchemy_exception is not None:
            context.sqlalchemy_exception.catalog_url = where  # type: ignore[attr-defined]
            said = str(context.sqlalchemy_exception.orig)
            context.sqlalchemy_exception.said = hide(said, [url])  # type: ignore[attr-defined]

    event.listen(engine, "handle_error", remember)
    return engine


def database_problem(error: BaseException) -> SetupProblem | None:
    """A database's error in plain words; None if it is none, or not the surroundings' fault.

    What is a defect of ours, such as a statement that the database does not understand, is left as it is.
    """
    if not isinstance(error, DatabaseError) or type(error) not in (DatabaseError, OperationalError):
        return None
    said = str(getattr(error, "said", error.orig))
    found = next((meaning for meaning in MEANINGS if meaning[0] in said), None)
    if found is None and type(error) is DatabaseError:
        return None
    kind, message, hint = UNREACHABLE if found is None else found[1:]
    line = next(iter(said.splitlines()), "").strip()
    return SetupProblem(f"{message}: {line}", kind=kind, place=getattr(error, "catalog_url", ""), hint=hint)
