"""URLs of stores: what --store takes, and how messages show it."""

import re
import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sqlalchemy import URL
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from thrifty.errors import BadFile, InvalidInput, NoStore, escaped, first_line, redacted

# what may be shown of the options of a URL, after the question mark
_HARMLESS = {"host", "port", "user", "dbname", "sslmode", "application_name", "connect_timeout"}
_FORMS = "pass a file, or postgresql://user:password@host/name"


def parse(store: str) -> URL:
    """The URL of a store. What has no :// in it is the path of a SQLite file, taken as it is."""
    kind, scheme, rest = store.partition("://")
    if not scheme:
        return _of_file(store)
    if kind == "sqlite":
        path, _, options = rest.removeprefix("/").partition("?")
        return _of_file(unquote(path), make_url(f"sqlite:///file?{options}").query)
    if escaped(store) != store:
        raise InvalidInput("store", "must be one line of printable text, in UTF-8")
    try:
        url = make_url(store)
        if url.get_backend_name() != "postgresql":
            raise ArgumentError
    except (ArgumentError, ValueError):  # ValueError: of the port
        what = f"{kind}://..." if re.fullmatch(r"[\w+]{1,30}", kind) else "this"
        raise InvalidInput("store", f"{what} is no store: {_FORMS}") from None
    if "@" in f"{url.host}{url.database}":  # the rest of a password, which could be shown
        raise InvalidInput("store", "an @ in a password or a name must be written %40")
    _check_hosts(url)
    return url.set(drivername="postgresql+psycopg")


def _of_file(path: str, options: Any = None) -> URL:
    """The URL of a SQLite file. A path may have characters that mean something in a URL."""
    if path in ("", ":memory:") or "uri" in (options or {}):
        raise InvalidInput("store", "must be a file, given by its path")
    if re.search(r":.*@|password\s*=", path) and not Path(path).exists():
        raise InvalidInput("store", f"looks like a URL without its first part: {_FORMS}")
    url = URL.create("sqlite", database=path, query=options or {})
    _check_options(url)
    return url


def _check_options(url: URL) -> None:
    """Raise InvalidInput for options that Python's sqlite3 does not take."""
    if url.query:
        try:
            _, options = url.get_dialect()().create_connect_args(url)
            sqlite3.connect(":memory:", **options).close()
        except (ArgumentError, TypeError, ValueError, OverflowError) as error:
            message = f"an option after the question mark cannot be used: {first_line(error)}"
            raise InvalidInput("store", message) from None


def _check_hosts(url: URL) -> None:
    """Raise InvalidInput for hosts that cannot be looked up."""
    given = url.query.get("host", ())
    given = (given,) if isinstance(given, str) else given
    for host in ",".join([url.host or "", *given]).split(","):
        try:
            if not host.startswith(("/", "@")):  # which are sockets
                host.encode("idna")
        except UnicodeError:
            message = "its host is no name: pass parts of 1 to 63 characters, with dots between"
            raise InvalidInput("store", message) from None


def is_file(url: URL) -> bool:
    """Whether it is a SQLite file, which is for one server."""
    return url.get_backend_name() == "sqlite"


def shown(url: URL) -> str:
    """A store as messages show it: without its password, and what else may be secret."""
    if is_file(url):
        return redacted(escaped(str(url.database)))
    query = {key: value if key in _HARMLESS else "***" for key, value in url.query.items()}
    text = url.set(drivername="postgresql", query=query).render_as_string(hide_password=True)
    return escaped(text.replace("%2A", "*"))


def place(url: URL) -> str:
    """The same, of a file its whole path: which store it is, wherever a command was run."""
    return (
        redacted(escaped(str(Path(str(url.database)).absolute()))) if is_file(url) else shown(url)
    )


def check_file(url: URL, *, must_exist: bool) -> bool:
    """Whether a SQLite file is there; raises BadFile where none can be."""
    file, name = Path(str(url.database)), shown(url)
    if not file.parent.is_dir():
        raise BadFile(f"{name}: there is no folder {file.parent}; make it first")
    if file.is_dir():
        raise BadFile(f"{name}: a folder; pass the path of a file")
    if file.exists() and not file.is_file():
        raise BadFile(f"{name}: a device or a pipe; pass the path of a file")
    if must_exist and not file.exists():
        raise NoStore(f"{place(url)}: no such file; pass --store with that of the service")
    return file.exists()
