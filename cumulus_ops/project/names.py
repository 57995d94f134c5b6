"""Names that several parts must agree on; URLs that may hold a secret; and names and values as text in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus, unquote, unquote_plus

from cumulus_ops.project.errors import SetupProblem

__all__ = [
    "HIDDEN",
    "NOTICES",
    "code",
    "commit_dag",
    "coordinator_dag",
    "deploy_dag",
    "epoch_asset",
    "escape",
    "final_dag",
    "hide",
    "recover_dag",
    "require_clear",
    "run_epochs_dag",
    "shown_url",
    "snapshot_asset",
    "split_login",
    "validate_dag",
    "value_asset",
    "vote_asset",
]


#: In the state folder: what the DAGs' pages say of the running project, in Markdown.
NOTICES = "notices.md"


def coordinator_dag(project: str, coordinator: int) -> str:
    """The DAG that works for one coordinator."""
    return f"{project}_coordinator_{coordinator}"


def commit_dag(project: str) -> str:
    """The DAG that turns complete epochs into snapshots."""
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


def deploy_dag(project: str) -> str:
    """The DAG that deploys the project's folder, once a person has agreed."""
    return f"{project}_deploy"


def recover_dag(project: str) -> str:
    """The DAG that makes damaged files again, once a person has agreed."""
    return f"{project}_recover"


def vote_asset(project: str, coordinator: int) -> str:
    """The asset updated when ``coordinator`` votes to end an epoch; the epoch is the partition key."""
    return f"{project}_vote_{coordinator}"


def epoch_asset(project: str) -> str:
    """The asset updated when all members have voted to end an epoch."""
    return f"{project}_epoch"


def snapshot_asset(project: str) -> str:
    """The asset updated when snapshots are committed and published."""
    return f"{project}_snapshot"


def value_asset(project: str, relation: str, seal: str) -> str:
    """The asset updated when all producers have sealed a value; its text is the partition key."""
    return f"{project}_{relation}_{seal}_closed"


# URLs that may hold a secret: which are clear enough to be used, how they are shown, and what is cut out of other people's messages.
#
# An odd character in a password that is not written ``%40`` and the like moves the boundary between password, host and database, differently
# for each library, and then messages show a part of the password as if it were the host. So such a URL is refused before anybody else reads it,
# by a message that shows nothing of it.


HIDDEN = "***"
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
HOST = r"(?:\[[0-9A-Fa-f:.%]*\]|[^][:/?#@,;\s%]*)(?::\d*)?"
#: What follows the login: hosts with ports, a database or Spark's parameters, a query.
REST = re.compile(rf"{HOST}(?:,{HOST})*(?P<path>/[^?@\s]*)?(?:\?(?P<query>[^@\s]*))?")
#: Shorter ones tell nothing, and would be cut out of every word.
SECRET_CHARACTERS = 3
ESCAPES = re.compile(r"%(?![0-9A-Fa-f]{2})")
#: Parameters of queries, and of Spark's paths, that are no secrets. Of others nobody knows.
HARMLESS = re.compile(
    r"host|hostaddr|port|dbname|user|application_name|connect_timeout|options|client_encoding|target_session_attrs|keepalives\w*|tcp_user_timeout|"
    r"ssl(mode|cert|rootcert|crl|compression|sni|negotiation)|gssencmode|channel_binding|load_balance_hosts|"
    r"use_ssl|user_id|user_agent|session_id|grpc_max_message_size|timeout|check_same_thread|mode|cache|uri"
)
#: Parameters whose values are secrets. Any other name may be a part of a secret in which somebody has left an odd character as it is.
SECRET = re.compile(r"token|password|sslpassword|sslkey|passfile")
HINT = "percent-encode odd characters of the user's name and the password: %40 for @, %3A for :, %2F for /, %3F for ?, %23 for #, %25 for %"


def split_login(url: str) -> tuple[str, str, str]:
    """Scheme, ``user:password`` ("" if there is none) and what follows.

    >>> split_login("postgresql://me:pw@db:5432/shop")
    ('postgresql', 'me:pw', 'db:5432/shop')
    """
    scheme, _, rest = url.partition("://")
    login, at, behind = rest.rpartition("@")
    return scheme, login, behind if at else rest


def require_clear(url: str, place: str, kind: str) -> None:
    """See that everybody reads a server's URL in the same way; files' URLs have no secrets.

    >>> require_clear("postgresql://me:p%40w@db/shop", "catalog", "catalog-url")
    >>> require_clear("postgresql://me:p@w@db/shop", "catalog", "catalog-url")
    Traceback (most recent call last):
    cumulus_ops.project.errors.SetupProblem: catalog: its URL has an odd character where none may be [catalog-url]
      hint: percent-encode odd characters of the user's name and the password: %40 for @, %3A for :, %2F for /, %3F for ?, %23 for #, %25 for %

    Raises:
        SetupProblem: it can be read in several ways. Nothing of it is shown.
    """
    scheme, login, rest = split_login(url)
    is_clear = SCHEME.fullmatch(scheme) and REST.fullmatch(rest) and not ESCAPES.search(login)
    if not is_clear or re.search(r"[@/\s]", login):
        raise SetupProblem("its URL has an odd character where none may be", kind=kind, place=place, hint=HINT)


def shown_url(url: str) -> str:
    """A URL for people: without password, and without parameters that may be secrets.

    >>> shown_url("postgresql://me:pw@db:5432/shop?sslpassword=x&sslmode=require")
    'postgresql://me:***@db:5432/shop?sslpassword=***&sslmode=require'
    """
    if url.startswith("sqlite"):
        return url
    scheme, login, rest = split_login(url)
    if not SCHEME.fullmatch(scheme) or not REST.fullmatch(rest) or re.search(r"[@/\s]", login):
        return f"{scheme}://{HIDDEN}" if SCHEME.fullmatch(scheme) else HIDDEN
    user, colon, _ = login.partition(":")
    shown = f"{scheme}://" + (f"{user}:{HIDDEN}@" if colon else f"{user}@" if login else "")
    place, sign, parameters = _parameters(scheme, rest)
    return shown + place + sign + sign.replace("?", "&").join(map(_shown_parameter, parameters))


def _parameters(scheme: str, rest: str) -> tuple[str, str, list[str]]:
    """Where a server is, and its parameters: Spark has them in the path, others in a query."""
    sign = ";" if scheme == "sc" else "?"
    place, sign, parameters = rest.partition(sign)
    if scheme == "sc" and (extra := place.partition("/")[2]):
        return place.removesuffix(extra), sign, [extra, *parameters.split(";")]
    return place, sign, parameters.split(";" if sign == ";" else "&") if parameters else []


def _shown_parameter(text: str) -> str:
    name, equals, _ = text.partition("=")
    if equals and HARMLESS.fullmatch(name):
        return text
    return f"{name}={HIDDEN}" if equals and SECRET.fullmatch(name) else HIDDEN


#: How an error of gRPC is printed.
GRPC = re.compile(r"""<_\w+ of RPC that terminated with:\n.*?details = "((?:[^"\\]|\\.)*)".*?\n>""", re.DOTALL)


def plain_words(text: str) -> str:
    """A message of somebody else, of gRPC's only what it says of the matter.

    >>> plain_words('Gone: <_InactiveRpcError of RPC that terminated with:\\n\\tstatus = X\\n\\tdetails = "no route"\\n\\tdebug = "Y"\\n>')
    'Gone: no route'
    """
    return GRPC.sub(lambda found: found[1], text)


def hide(text: str, urls: Iterable[str | None]) -> str:
    """A message of somebody else without the secrets of some URLs, however they are written in it, and without the URLs.

    >>> hide("no route to postgresql://me:p%2Fw@db, p/w", ["postgresql://me:p%2Fw@db"])
    'no route to postgresql://me:***@db, ***'
    """
    known = [url for url in urls if url]
    for url in known:
        text = text.replace(url, shown_url(url))
    found = {form for url in known for form in _secrets(url) if len(form) >= SECRET_CHARACTERS}
    for secret in sorted(found, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def _secrets(url: str) -> Iterator[str]:
    """The password and the parameters that may be secrets, as they are, decoded and encoded, and as Python prints them."""
    scheme, login, rest = split_login(url)
    found = [login.partition(":")[2]]
    for text in _parameters(scheme, rest)[2]:
        name, equals, value = text.partition("=")
        if not equals or not HARMLESS.fullmatch(name):
            found += [value] if equals and SECRET.fullmatch(name) else [text, name, value]
    for secret in filter(None, found):
        for plain in {secret, unquote(secret), unquote_plus(secret)}:
            yield from (plain, quote(plain, safe=""), quote(plain), quote_plus(plain), repr(plain)[1:-1])


# Names and values of data in Markdown, as Airflow shows it: they are text, whatever they look like.


PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
#: Ends of lines, and what a terminal or a browser would not show as a character of its own.
UNSEEN = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff]")


def code(text: object) -> str:
    """A text on one line as a code span, in which nothing is markup; also in a list, a heading or a table.

    >>> code("a`b"), code("[x](y)")
    ('``a`b``', '`[x](y)`')
    """
    line = _on_one_line(text).replace("|", "\N{BROKEN BAR}")  # which ends a table's cell, also in code
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    edge = " " if not line.strip() or line[0] in "` " or line[-1] in "` " else ""
    return f"{fence}{edge}{line or '–'}{edge}{fence}" if line.strip() else "`–`"


def escape(text: object) -> str:
    """A text on one line as prose, in which nothing is markup.

    >>> escape("**a** <b> in r.x")
    '\\\\*\\\\*a\\\\*\\\\* \\\\<b\\\\> in r\\\\.x'
    """
    return PUNCTUATION.sub(r"\\\1", _on_one_line(text)).strip() or "–"


def _on_one_line(text: object) -> str:
    return UNSEEN.sub(" ", str(text))
