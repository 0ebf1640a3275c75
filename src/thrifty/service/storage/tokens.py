"""Tokens `th_<id>_<secret>`: who may do what. The store has digests of secrets, not secrets."""

import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import NamedTuple

from sqlalchemy import Connection, insert, select

from thrifty.errors import InvalidInput, UnknownName, redacted
from thrifty.service.storage.store import now
from thrifty.service.storage.tables import LONGEST_NAME, TOKENS

SCOPES = ("decide", "reward", "read", "admin")  # admin includes all others
_ID = re.compile(r"[0-9a-f]{12}")
_TOKEN = re.compile(rf"th_({_ID.pattern})_([A-Za-z0-9_-]{{43}})")
_HEADER = re.compile(rf"(?i:bearer) +{_TOKEN.pattern}")


class Token(NamedTuple):
    """A token without its secret."""

    id: str
    name: str
    digest: str  # SHA-256 of the secret, in hexadecimal digits
    scopes: frozenset[str]
    at: int  # when it was made, in microseconds since 1970, UTC
    revoked: int | None  # when it was revoked


def make_token(connection: Connection, name: str, scopes: Iterable[str]) -> str:
    """Make a token and return it; it cannot be read again."""
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= LONGEST_NAME:
        raise InvalidInput.expected("name", f"1 to {LONGEST_NAME} printable characters", name)
    if redacted(name) != name:
        raise InvalidInput("name", "pass who the token is for, not a token or a password")
    id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    row = {"id": id, "name": name, "digest": _digest(secret), "at": now()}
    connection.execute(insert(TOKENS).values(row | {"scopes": " ".join(_checked_scopes(scopes))}))
    return f"th_{id}_{secret}"


def revoke_token(connection: Connection, id: str) -> None:
    """Revoke a token, given by its id or whole; one that is revoked already stays so."""
    if whole := _TOKEN.fullmatch(id.strip()):
        id = whole[1]
    if not _ID.fullmatch(id := id.strip()):  # not repeated: it may be most of a token
        what = "12 digits and letters, as `thrifty tokens list` shows it, or the whole token"
        raise InvalidInput("id", f"pass {what}")
    ids = [token.id for token in list_tokens(connection)]
    if id not in ids:
        raise UnknownName("token", id, ids)
    valid = (TOKENS.c.id == id, TOKENS.c.revoked.is_(None))
    connection.execute(TOKENS.update().where(*valid).values(revoked=now()))


def list_tokens(connection: Connection) -> list[Token]:
    """All tokens, also revoked ones, the oldest first."""
    rows = connection.execute(select(TOKENS).order_by(TOKENS.c.at, TOKENS.c.id))
    return [Token(*row)._replace(scopes=frozenset(row.scopes.split())) for row in rows]


def read_tokens(connection: Connection) -> dict[str, Token] | None:
    """The tokens that are not revoked, by id; None if none was ever made."""
    tokens = list_tokens(connection)
    return {token.id: token for token in tokens if token.revoked is None} if tokens else None


def has_admin(connection: Connection) -> bool:
    """Whether some token that is not revoked has the scope admin."""
    return any("admin" in token.scopes for token in (read_tokens(connection) or {}).values())


def find_token(tokens: Mapping[str, Token], header: str) -> Token | None:
    """The token of an Authorization header, if its secret is right."""
    match = _HEADER.fullmatch(header)
    id, secret = match.groups() if match else ("", "")
    token = tokens.get(id)
    # compared for unknown ids, too, so that the time of an answer does not tell which ids exist
    same = hmac.compare_digest(_digest(secret), "0" * 64 if token is None else token.digest)
    return token if same else None


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def _checked_scopes(scopes: Iterable[str]) -> list[str]:
    """Scopes, each once, in the order of SCOPES."""
    chosen = {scopes} if isinstance(scopes, str) else set(scopes)
    if not chosen:
        raise InvalidInput("scopes", f"pass some of {', '.join(SCOPES)}")
    for scope in sorted(chosen.difference(SCOPES)):
        raise UnknownName("scope", scope, SCOPES)
    return [scope for scope in SCOPES if scope in chosen]
