"""Tokens: made once, kept as digests, checked alike whether or not their id is known."""

from hashlib import sha256

import pytest
from sqlalchemy import select

from thrifty.errors import InvalidInput, UnknownName
from thrifty.service.server.guard import check
from thrifty.service.server.refusals import Forbidden, Unauthorized
from thrifty.service.storage.store import EventStore
from thrifty.service.storage.tables import TOKENS
from thrifty.service.storage.tokens import (
    SCOPES,
    list_tokens,
    make_token,
    read_tokens,
    revoke_token,
)


@pytest.fixture
def connection(tmp_path):
    store = EventStore(str(tmp_path / "store.db"))
    with store.begin() as connection:
        yield connection
    store.close()


def id_of(token):
    return token.split("_")[1]


def test_the_store_has_a_digest_of_the_secret_and_not_the_secret(connection):
    token = make_token(connection, "shop", ["reward", "decide", "reward"])
    start, id, secret = token.split("_", 2)
    [row] = connection.execute(select(TOKENS)).all()
    assert (start, len(id), len(secret)) == ("th", 12, 43)
    assert (row.id, row.name, row.scopes, row.revoked) == (id, "shop", "decide reward", None)
    assert row.digest == sha256(secret.encode()).hexdigest()
    assert secret not in "".join(map(str, row))


def test_two_tokens_differ(connection):
    made = [make_token(connection, "same", ["read"]) for _ in range(2)]
    assert len({id_of(token) for token in made}) == len({token[16:] for token in made}) == 2


@pytest.mark.parametrize("scope", SCOPES)
def test_a_token_allows_its_scopes_and_admin_allows_all(connection, scope):
    token, admin = (make_token(connection, "a", [one]) for one in (scope, "admin"))
    tokens = read_tokens(connection)
    for asked in SCOPES:
        check(tokens, f"Bearer {admin}", asked)
        if asked == scope or scope == "admin":
            check(tokens, f"bearer  {token}", asked)
        else:
            with pytest.raises(Forbidden, match=f"scope {asked}; the token has {scope}"):
                check(tokens, f"Bearer {token}", asked)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer ",
        "Bearer nothing",
        "Basic {token}",
        "{token}",
        "Bearer {token} ",
        "Bearer {token}\n",
        "Bearer {token}x",
        "Bearer th_{id}_" + 43 * "A",
        "Bearer th_{id}_",
        "Bearer th_000000000000_" + 43 * "A",
        "Bearer th_{id}_" + 43 * "é",
    ],
)
def test_any_other_header_is_refused_without_a_word_about_which_tokens_there_are(
    connection, header
):
    token = make_token(connection, "shop", ["admin"])
    header = header and header.replace("{token}", token).replace("{id}", id_of(token))
    with pytest.raises(Unauthorized) as refused:
        check(read_tokens(connection), header, "read")
    word = "unknown or revoked" if "th_" in (header or "") else "not a token of thrifty"
    assert refused.value.status == 401
    assert refused.value.where == "Authorization"
    assert (word if header else "is needed") in str(refused.value)
    assert token not in str(refused.value)


def test_without_any_token_everything_is_allowed_until_one_was_made(connection):
    check(read_tokens(connection), None, "admin")
    token = make_token(connection, "only", ["admin"])
    revoke_token(connection, id_of(token))
    for header, word in ((None, "is needed"), (f"Bearer {token}", "unknown or revoked")):
        with pytest.raises(Unauthorized, match=word):
            check(read_tokens(connection), header, "read")


def test_a_token_is_revoked_by_its_id_or_whole_and_once(connection):
    first, second, third = (make_token(connection, name, ["read"]) for name in "abc")
    revoke_token(connection, id_of(first))
    revoke_token(connection, second)
    when = {token.name: token.revoked for token in list_tokens(connection)}
    revoke_token(connection, first)
    assert {token.name: token.revoked for token in list_tokens(connection)} == when
    assert [name for name, revoked in when.items() if revoked is None] == ["c"]
    assert list(read_tokens(connection)) == [id_of(third)]


def test_an_unknown_token_is_not_revoked_and_its_secret_not_repeated(connection):
    make_token(connection, "shop", ["read"])
    with pytest.raises(UnknownName, match="unknown token '000000000000'") as refused:
        revoke_token(connection, "th_000000000000_" + 43 * "S")
    assert "SSS" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "scopes", "message"),
    [
        ("", ["read"], "name: 1 to 100 printable characters expected, got ''"),
        ("x" * 101, ["read"], "name: 1 to 100 printable characters expected, got 'xxx"),
        ("a\nb", ["read"], "name: 1 to 100 printable characters expected"),
        (7, ["read"], "name: 1 to 100 printable characters expected, got 7"),
        ("a", [], "scopes: pass some of decide, reward, read, admin"),
        ("a", ["reads"], "unknown scope 'reads'; did you mean 'read'"),
    ],
)
def test_bad_names_and_scopes_are_refused_before_anything_is_kept(
    connection, name, scopes, message
):
    with pytest.raises((InvalidInput, UnknownName)) as refused:
        make_token(connection, name, scopes)
    assert str(refused.value).startswith(message)
    assert list_tokens(connection) == []
