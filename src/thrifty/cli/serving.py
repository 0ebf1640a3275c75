"""Commands of the decision service: serve, audit, tokens."""

import re
import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Exit, Option, Typer

from thrifty.errors import InvalidInput, MissingPackage, NoStore, UnknownName, escaped
from thrifty.report.wording import count

if TYPE_CHECKING:
    from thrifty.service.server.auditing import Audit
    from thrifty.service.storage.store import EventStore, Use

StoreUrl = Annotated[
    str, Option("--store", metavar="URL", help="A SQLite file, or postgresql://USER@HOST/NAME.")
]
DEFAULT_STORE = "thrifty.db"
_DIGEST = re.compile("[0-9a-f]{12,64}")
PACKAGES = ["alembic", "fastapi", "httpx", "prometheus_client", "pyarrow", "sqlalchemy", "uvicorn"]


def _opened(command: str, url: str, use: "Use") -> "AbstractContextManager[EventStore]":
    """The store of a command."""
    MissingPackage.check(command, *PACKAGES, extra="service")
    from thrifty.service.storage.store import open_store

    return open_store(url, use)


def _say_which(store: "EventStore") -> None:
    """Say which store it is: another folder may have another one."""
    print(f"thrifty: {store.described()}", file=sys.stderr)


tokens = Typer(help="Tokens of the service: who may decide, reward, read, administrate.")


def serve(
    store: StoreUrl = DEFAULT_STORE,
    host: Annotated[str, Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="0: any that is free.")] = 8080,
    url: Annotated[
        str | None, Option(help="Where other servers of the same store reach this one.")
    ] = None,
    demo: Annotated[
        bool, Option("--demo", help="Make two experiments, and play visitors against them.")
    ] = False,
    json_log: Annotated[
        bool, Option("--json-log", help="Log lines as JSON on standard error.")
    ] = False,
) -> None:
    """Serve decisions over HTTP, with a durable log in a database, and a page."""
    MissingPackage.check("thrifty serve", *PACKAGES, extra="service")
    from thrifty.service.server.serving import run_server

    run_server(store, host, port, url, demo=demo, json_log=json_log)


def audit(
    experiments: Annotated[
        list[str] | None, Argument(metavar="[EXPERIMENT]...", help="By default all.")
    ] = None,
    store: StoreUrl = DEFAULT_STORE,
    head: Annotated[
        list[str] | None,
        Option(metavar="NAME:SEQ:DIGEST", help="That an audit has printed before; repeatable."),
    ] = None,
) -> None:
    """Compute every decision in the log again; exit code 1 if one differs by a single bit."""
    kept = _heads(head or [])
    with _opened("thrifty audit", store, "read") as opened, opened.reading() as connection:
        from thrifty.service.server.auditing import audit as replayed
        from thrifty.service.storage.store import last_seq, logged, statuses
        from thrifty.studies.progress import progress_bar

        listed, differ = statuses(connection), False
        names = sorted({*listed, *logged(connection)})
        for name in [*(experiments or []), *kept]:
            if name not in names:
                raise UnknownName("experiment", name, names)
        _say_which(opened)
        if not names:
            print(f"{opened} has no experiments")
        for name in experiments or names:
            with progress_bar(f"replaying {name}", last_seq(connection, name)) as bar:
                result = replayed(connection, name, bar.advance, kept.get(name))
            if name not in listed and result.seq is None:
                result = result._replace(seq=1, difference="it is in no list of experiments")
            print(escaped(audit_sentence(name, result)))
            differ |= result.seq is not None
    if differ:
        raise Exit(1)


def _heads(given: list[str]) -> dict[str, dict[int, str]]:
    """Digests that events must have, by experiment and number."""
    heads: dict[str, dict[int, str]] = {}
    for text in given:
        name, _, rest = text.partition(":")
        seq, _, digest = rest.partition(":")
        if not (name and seq.isdecimal() and _DIGEST.fullmatch(digest)):
            raise InvalidInput.expected("--head", "NAME:SEQ:DIGEST, as an audit prints it", text)
        heads.setdefault(name, {})[int(seq)] = digest
    return heads


def audit_sentence(name: str, result: "Audit") -> str:
    """What an audit has shown, in a line."""
    others = f"; {count(result.unverified, 'event')} of other versions left out"
    left_out = others if result.unverified else ""
    if result.seq is not None:
        return f"{name}: event {result.seq} differs: {result.difference}{left_out}"
    computed = f"{count(result.decisions, 'decision')}, {count(result.events, 'event')}"
    head = f"; head {name}:{result.last}:{result.head[:12]}" if result.head else ""
    return f"{name}: {computed} computed again, all the same{left_out}{head}"


@tokens.command("make")
def make(
    name: Annotated[str, Argument(help="Who it is for.")],
    scope: Annotated[list[str], Option(help="decide, reward, read or admin; repeatable.")],
    store: StoreUrl = DEFAULT_STORE,
    new: Annotated[bool, Option("--new", help="Make the store if there is none yet.")] = False,
) -> None:
    """Make a token and print it. It is not shown again."""
    use: Use = "add" if new else "change"
    try:
        with _opened("thrifty tokens", store, use) as opened, opened.begin() as connection:
            from thrifty.service.storage.tokens import has_admin, make_token

            made = make_token(connection, name, scope)
            _say_which(opened)
            print(made)
            if not has_admin(connection):
                advice = "make one for yourself with --scope admin"
                print(f"thrifty: no token has the scope admin: {advice}", file=sys.stderr)
    except NoStore as error:
        raise NoStore(f"{error}, or --new to make one") from None


@tokens.command("list")
def list_all(store: StoreUrl = DEFAULT_STORE) -> None:
    """List all tokens, without their secrets."""
    with _opened("thrifty tokens", store, "read") as opened, opened.reading() as connection:
        from thrifty.cli.printing import print_tokens
        from thrifty.service.storage.tokens import list_tokens

        _say_which(opened)
        print_tokens(list_tokens(connection))


@tokens.command("revoke")
def revoke(
    id: Annotated[str, Argument(help="As `thrifty tokens list` shows it, or whole.")],
    store: StoreUrl = DEFAULT_STORE,
) -> None:
    """Revoke a token: servers refuse it within a second."""
    with _opened("thrifty tokens", store, "change") as opened, opened.begin() as connection:
        from thrifty.service.storage.tokens import revoke_token

        revoke_token(connection, id)
        _say_which(opened)
    print("revoked")
