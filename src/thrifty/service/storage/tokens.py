"""Tokens `th_<id>_<secret>`: who may do what. The store has digests of secrets, not secrets."""

import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import NamedTuple

from sqlalchemy import Connection, insert, select

from thrifty.errors import NOTHING, InvalidInput, UnknownName
from thrifty.service.server.refusals import Forbidden, Unauthorized
from thrifty.service.storage.store import now
from thrifty.service.storage.tables import LONGEST_NAME, TOKENS

SCOPES = ("decide", "reward", "read", "admin")  # admin includes all others
_TOKEN = re.compile(r"th_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
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
    chosen = _checked_scopes(scopes)
    id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    connection.execute(
        insert(TOKENS).values(
            id=id,
            name=_checked_name(name),
            digest=_digest(secret),
            scopes=" ".join(chosen),
            at=now(),
            revoked=None,
        )
    )
    return f"th_{id}_{secret}"


def revoke_token(connection: Connection, id: str) -> None:
    """Revoke a token, given by its id or whole; one that is revoked already stays so."""
    if whole := _TOKEN.fullmatch(id):
        id = whole[1]
    known = [token.id for token in list_tokens(connection)]
    if id not in known:
        raise UnknownName("token", id, known)
    connection.execute(
        TOKENS.update().where(TOKENS.c.id == id, TOKENS.c.revoked.is_(None)).values(revoked=now())
    )


def list_tokens(connection: Connection) -> list[Token]:
    """All tokens, also revoked ones, the oldest first."""
    rows = connection.execute(select(TOKENS).order_by(TOKENS.c.at, TOKENS.c.id))
    return [
        Token(row.id, row.name, row.digest, frozenset(row.scopes.split()), row.at, row.revoked)
        for row in rows
    ]


def read_tokens(connection: Connection) -> dict[str, Token] | None:
    """The tokens that are not revoked, by id; None if none was ever made."""
    tokens = list_tokens(connection)
    return {token.id: token for token in tokens if token.revoked is None} if tokens else None


def has_admin(connection: Connection) -> bool:
    """Whether some token that is not revoked has the scope admin."""
    return any("admin" in token.scopes for token in (read_tokens(connection) or {}).values())


def check(tokens: Mapping[str, Token] | None, header: str | None, scope: str) -> None:
    """Raise Unauthorized or Forbidden unless an Authorization header allows a scope.

    tokens: as read_tokens gives them; None allows everything.
    """
    if tokens is None:
        return
    given = _HEADER.fullmatch(header or "")
    id, secret = given.groups() if given else ("", "")
    token = tokens.get(id)
    # compared for unknown ids, too, so that the time of an answer does not tell which ids exist
    same = hmac.compare_digest(_digest(secret), _NO_DIGEST if token is None else token.digest)
    if token is None or not same:
        raise Unauthorized("Authorization", "a valid token expected, as in 'Bearer th_...'")
    if scope not in token.scopes and "admin" not in token.scopes:
        scopes = ", ".join(one for one in SCOPES if one in token.scopes)
        raise Forbidden("Authorization", f"a token with scope {scope} expected, got {scopes}")


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


_NO_DIGEST = "0" * 64


def _checked_name(name: object) -> str:
    if isinstance(name, str) and name.isprintable() and 0 < len(name) <= LONGEST_NAME:
        return name
    raise InvalidInput.expected("name", f"1 to {LONGEST_NAME} printable characters", name)


def _checked_scopes(scopes: Iterable[str]) -> list[str]:
    """Scopes, each once, in the order of SCOPES."""
    given = [scopes] if isinstance(scopes, str) else list(scopes)
    if not given:
        raise InvalidInput.expected("scopes", f"some of {', '.join(SCOPES)}", NOTHING)
    for scope in given:
        if scope not in SCOPES:
            raise UnknownName("scope", str(scope), SCOPES)
    return [scope for scope in SCOPES if scope in given]
